"""Water of a map that cannot be, convection that waits, and constants beyond their range: what is said."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import invoked
from tests.extensions.maps.synthetic import HOUR, RUN, SyntheticMap
from tunax_lite import ConstantForcing, KEpsilon, Model, simulate
from tunax_lite.closures import Constant, recommended_sets
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.extensions.maps.command import late_convection, recommended_constants
from tunax_lite.extensions.maps.plan import planned
from tunax_lite.extensions.maps.run import run_map
from tunax_lite.runtime.engine import ThisProcess

ROOT = Path(__file__).parents[3]
STILL = Model(Constant(viscosity=1e-8, diffusivity=1e-8))


@pytest.mark.long
@pytest.mark.parametrize(
    ("variables", "cooling", "is_possible"),
    [(("temperature", "salinity"), 790.0, True), (("heat_content",), 1390.0, False)],
)
def test_water_below_its_freezing_point_is_found(tmp_path, variables, cooling, is_possible):
    """In stored frames or, where temperature is not stored, at the end of a piece."""
    columns = SyntheticMap(shape=(6, 3), cooling=cooling, wind=0.0)
    run = dataclasses.replace(RUN, columns=columns, model=STILL, variables=variables, means=())
    plan = planned(run, 2**31)
    report = run_map(run, tmp_path / "map.zarr", plan.layout, plan.variables, ThisProcess())
    (one,) = report.beyond
    # The shallowest columns, at 60 degrees, have cells of 52 m / 12, and 8 degC at the surface.
    lost = (50.0 + cooling + 60.0) * run.duration / (1026.0 * 3991.9 * 52.0 / 12.0)
    expected = 8.0 - 0.05 * 52.0 / 24.0 - lost
    assert one.kind == "frozen" and one.value == pytest.approx(expected, rel=2e-2)
    # UNESCO (1983): sea water of S = 35 freezes at -1.92 degC.
    assert one.excess == pytest.approx(-1.92 - one.value, abs=0.03)
    assert one.is_impossible != is_possible and not one.has_ice
    assert one.time == run.duration and one.place == "60 S 0 E, "
    assert one.z == pytest.approx(-52.0 / 24.0)


@pytest.mark.long
def test_the_command_ends_with_an_error_and_its_store(tmp_path):
    store = tmp_path / "cold.zarr"
    settings = ["time.duration=172800", "map.flux_corrections={heat_flux: -3000}"]
    settings.append("model.closure={name: constant, parameters: {diffusivity: 1.0e-8}}")
    words = [word for one in settings for word in ("--set", one)]
    output = invoked("map", ROOT / "configs/maps/synthetic.yaml", "--output", store, *words, code=1).output
    said = r"expected water, got temperature -\d+\.?\d* degC at \S+ m, \S+ [NS] \S+ [EW], 2001-01-03 00:00, "
    assert re.search(said, output) and "ice: winton" in output
    assert f"wrote {store}" in output and store.is_dir()


@pytest.mark.long
def test_convection_that_begins_late_is_said():
    """Only where no wind makes turbulence: at 0 degrees east, in five of ten columns.

    Three of the others do not become unstable within the run, where B t < N² dz².
    """
    columns = SyntheticMap(shape=(6, 3), wind=1.0)
    run = dataclasses.replace(RUN, columns=columns, model=Model(KEpsilon()), duration=12 * HOUR)
    (note,) = late_convection(run)
    assert "in 5 of 7 columns" in note and "`constants: recommended`" in note
    case = columns.case(np.arange(2), 0.0, run.duration)
    case = dataclasses.replace(case, forcing=ConstantForcing(case.forcing.at(0.0)))
    found = simulate(run.model, case, dt=600.0, output_interval=3 * HOUR).clo_state
    assert isinstance(found, TurbulenceState)
    tke = np.asarray(found.turbulent_kinetic_energy)[1, 1:-1].max(axis=0)  # after three hours
    assert tke[0] < 1e-6 < 1e-4 < tke[1]
    recommended = dataclasses.replace(run, model=Model(KEpsilon.recommended()))
    assert late_convection(recommended) == []


def test_a_map_says_the_range_of_recommended_constants():
    notes = recommended_constants(dataclasses.replace(RUN, model=Model(KEpsilon.recommended())))
    stress = recommended_sets()["k_epsilon"].valid.stress[1]
    assert any(f"up to {stress:.3g} N m-2" in note for note in notes)
    # Cells of 1 / 12 of 42 m or more; the step of half an hour is longer than 600 s.
    assert any("steps of at most 600 s" in note and "got 1800 s" in note for note in notes)
    assert recommended_constants(RUN) == []
