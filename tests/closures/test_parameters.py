"""Parameters: each that a calibration is offered has an effect; recommended ones are those of their files."""

import dataclasses
import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import ALL_CLOSURES, CASES, VARIANTS, id_of, some_long
from tunax_lite._types import at_path, iterate_parameters
from tunax_lite.calibration import FreeParameter, FreeParameters
from tunax_lite.closures import (
    KPP,
    ConstantDiffusivity,
    KEpsilon,
    KOmega,
    Langmuir,
    MellorYamada,
    recommended_sets,
)
from tunax_lite.column.terms import BottomFriction, DriftVector, Interior, StokesDrift
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.config import load_calibration
from tunax_lite.config.calibration import free_parameters
from tunax_lite.config.closures import ClosureSection

ROOT = Path(__file__).parents[2]
WAVES = StokesDrift(TimeSeries.constant(DriftVector(jnp.asarray(0.1), jnp.asarray(0.02))))
INTERIOR = Interior(stokes_drift=WAVES, bottom_friction=BottomFriction(von_karman=None))
INTERIOR = dataclasses.replace(INTERIOR, wave_height=TimeSeries.constant(jnp.asarray(1.0)))
WITH_ALL = dataclasses.replace(CASES["everything"], duration=1200.0, interior=INTERIOR)
# Without the bottom, whose roughness replaces that of the closure, and without the height of the waves.
IN_WAVES = dataclasses.replace(WITH_ALL, interior=Interior(stokes_drift=WAVES, bottom_friction=None))


def without_effect(closure, *cases) -> set[str]:
    """Numbers on which nothing depends in the program of a run, whatever the values, in all cases."""
    paths = [info.path for info in iterate_parameters(closure) if info.value is not None]
    for case in cases:
        values = [at_path(closure, path) for path in paths]

        def run(values, case=case, paths=paths):
            changed = eqx.tree_at(lambda c: [at_path(c, path) for path in paths], closure, values)
            return tl.simulate(tl.Model(changed), case, dt=600.0, output_interval=1200.0).state

        if paths:
            # JAX leaves out what a program does not use, and names the other arguments; `jvp` evaluates
            # custom rules, whose arguments would all seem to be used.
            result = lambda values, run=run: jax.jvp(run, (values,), (values,))[0]  # noqa: E731
            program = jax.jit(result).lower(values).as_text(debug_info=True)
            paths = [path for number, path in enumerate(paths) if f'loc("values[{number}]")' not in program]
    return set(paths)


def refused(closure) -> set[str]:
    """Numbers that a calibration of the closure does not take for that reason."""
    found = set()
    for info in iterate_parameters(closure):
        lower, upper = info.valid_range
        start = 0.3 * lower + 0.7 * upper
        try:
            FreeParameters((FreeParameter(info.path, start=start),)).resolve(closure)
        except ValueError as error:
            if re.match(f"{info.path}: expected a parameter with an effect, got one without: ", str(error)):
                found.add(info.path)
    return found


# Without those that differ from another in numbers alone.
SAME_SWITCHES = {
    "KOmega.recommended",
    "CATKE.recommended",
    "GenericLengthScale.generated",
    "ConstantDiffusivity",
}
SAME_SWITCHES.add("GenericLengthScale.recommended")
EVERY = [each for each in (*ALL_CLOSURES, *VARIANTS.values()) if id_of(each) not in SAME_SWITCHES]
EVERY.append(MellorYamada.harcourt())


@pytest.mark.parametrize(
    "closure", some_long(EVERY, lambda each: id_of(each) not in ("KOmega", "KPP"), name=id_of)
)
def test_what_has_no_effect_is_refused_and_nothing_else(closure):
    assert without_effect(closure, WITH_ALL, IN_WAVES) == refused(closure)


def test_reasons_are_told():
    def resolve(closure, *names):
        return FreeParameters(tuple(FreeParameter(name) for name in names)).resolve(closure)

    imposed = KOmega(imposed_von_karman=0.4)
    for closure, names, reason in (
        (KEpsilon(), ["stability.cc5"], "nothing"),
        (imposed, ["sigma_omega"], "imposed_von_karman"),
        (KEpsilon(c_eps_3_minus=-0.6), ["steady_state_richardson_number"], "c_eps_3_minus"),
        (KPP(langmuir=Langmuir("LWF16")), ["langmuir.shear"], "langmuir.method LWF16"),
    ):
        with error_naming(ValueError, f"{names[0]} {reason}"):
            resolve(closure, *names)
    both = (FreeParameter("sigma_eps"), FreeParameter("imposed_von_karman", start=0.4))
    with error_naming(ValueError, "sigma_eps imposed_von_karman"):
        FreeParameters(both).resolve(KEpsilon())
    with error_naming(ValueError, "stability.cc55 KEpsilon stability.ct5") as caught:
        resolve(KEpsilon(), "stability.cc55")
    assert "cc5," not in str(caught.value)  # is not offered


@pytest.mark.parametrize("name", recommended_sets())
def test_sets_are_those_of_their_calibrations(name):
    known, path = recommended_sets()[name], f"configs/calibrations/les_{name}.yaml"
    if not known.calibrated:
        assert known.command is None and not (ROOT / path).exists()
        return
    assert known.command == f"tunax-lite calibrate {path}"
    config = load_calibration(ROOT / path).config
    section, free = config.model.closure, free_parameters(config.parameters).parameters
    assert section.name == name and set(known.calibrated) == {each.path for each in free}
    if section.constants == "recommended":
        assert all(each.start is not None for each in free)
        return
    # Without the set, the closure is the same in all but what is calibrated.
    ours, theirs = section.build(), ClosureSection(name=name, constants="recommended").build()
    before = {path: getattr(ours, path) for path in known.calibrated}
    assert not eqx.tree_equal(ours, theirs)
    assert eqx.tree_equal(ours, dataclasses.replace(theirs, **before))


def test_a_closure_without_them_says_so():
    with error_naming(ValueError, "ConstantDiffusivity"):
        ConstantDiffusivity.recommended()
