"""The guide to terms works as it is printed; and a term is carried, differentiated, batched and restarted."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite.closures import ConstantDiffusivity
from tunax_lite.column.discretisation import GotmDiscretisation, StandardDiscretisation
from tunax_lite.column.terms import AbstractTerm, Tendency

GUIDE = Path(__file__).parents[1] / "docs" / "terms.md"
GRID = tl.Grid.stretched(20.0, 8, surface_zoom=1.0)


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    script = tmp_path_factory.mktemp("elsewhere") / "my_term.py"
    script.write_text("\n\n".join(blocks))
    return runpy.run_path(str(script), run_name="my_term")


@pytest.mark.long  # of a term of the package: test_restoring
def test_the_gradient_is_that_of_central_differences(guide):
    # Algae of constant temperature change nothing of the water: they grow exponentially, but for saturation.
    assert np.isclose(guide["sensitivity"], guide["central_difference"], rtol=1e-5)
    assert guide["sensitivity"] > 1e5


@pytest.mark.long
def test_the_budget_of_algae_closes_to_round_off(guide):
    case = guide["case"]
    run = tl.simulate(
        tl.Model(ConstantDiffusivity(1e-3, 1e-3)), case, dt=600.0, duration=36000.0, output_interval=600.0
    )
    thickness = np.asarray(case.grid.cell_thickness)
    living, dead = (np.asarray(run.state.tracers[name]) for name in ("algae", "dead"))
    # Jerlov's type I by Paulson and Simpson (1977): 58 % within 0.35 m, the rest within 23 m.
    z = np.asarray(case.grid.z_face)
    shortwave = 200.0 * (0.58 * np.exp(z / 0.35) + 0.42 * np.exp(z / 23.0))
    shortwave[0] = 0.0  # the bottom absorbs what reaches it
    light = 0.5 * (shortwave[1:] + shortwave[:-1])
    grown = 2e-5 * light / (light + 50.0) * living[:-1]
    content = np.sum((living + dead) * thickness, axis=1)
    np.testing.assert_allclose(np.diff(content), 600.0 * np.sum(grown * thickness, axis=1), rtol=1e-11)
    # The dead are neither mixed nor carried.
    np.testing.assert_allclose(np.diff(dead, axis=0), 600.0 * 2e-6 * living[:-1], rtol=1e-12)
    assert living.min() > 0.0 and content[-1] > content[0]


class Decay(AbstractTerm):
    """Everything decays, and is pulled back to one."""

    rate: tl.Scalar = tl.parameter(1e-3, unit="s-1")

    def _pull(self, column, names):
        rate = self.rate + 0.0 * column.grid.cell_thickness
        pull = Tendency(cells=rate * column.grid.cell_thickness, loss_rate=rate)
        return dict.fromkeys(names, pull)

    def on_velocity(self, column):
        return self._pull(column, ("u", "v"))

    def on_scalars(self, column):
        return self._pull(column, ("temperature", "salinity", *column.state.tracers))


def still(terms, **tracers) -> tl.Case:
    state = tl.State.from_profiles(GRID, temperature=5.0, salinity=3.0, u=0.5, tracers=tracers)
    return tl.Case(GRID, state, tl.ConstantForcing(tl.SurfaceFluxes()), terms=terms, duration=600.0)


@pytest.mark.parametrize("discretisation", [StandardDiscretisation(), GotmDiscretisation()])
def test_rates_are_implicit_and_those_of_several_terms_add(discretisation):
    model = tl.Model(ConstantDiffusivity(1e-3, 1e-3), discretisation=discretisation)
    case = still({"one": Decay(), "two": Decay(2e-3)}, dye=9.0)
    end = tl.simulate(model, case, dt=600.0, output_interval=600.0).state
    for values, start in ((end.temperature, 5.0), (end.salinity, 3.0), (end.u, 0.5), (end.v, 0.0)):
        np.testing.assert_allclose(values[-1], (start + 600.0 * 3e-3) / (1.0 + 600.0 * 3e-3), rtol=1e-12)
    np.testing.assert_allclose(end.tracers["dye"][-1], (9.0 + 1.8) / 2.8, rtol=1e-12)


@pytest.mark.long
def test_a_term_of_a_tracer_that_is_not_there_says_so(guide):
    case = still({"algae": guide["Algae"]()}, dye=1.0, algae=1.0)
    with error_naming(ValueError, "Algae dye dead"):
        tl.simulate(tl.Model(ConstantDiffusivity()), case, output_interval=600.0)
