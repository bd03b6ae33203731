"""Every number that a calibration is offered has an effect on a run of its closure."""

import dataclasses
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.interpreters import partial_eval

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import ALL_CLOSURES, CASES, VARIANTS, id_of, some_long
from tunax_lite._types import at_path, iterate_parameters
from tunax_lite.calibration import FreeParameter, FreeParameters, Tied
from tunax_lite.closures import KPP, KEpsilon, KOmega, Langmuir, MellorYamada
from tunax_lite.column.terms.interior import Interior
from tunax_lite.column.terms.pressure import BottomFriction
from tunax_lite.column.terms.stokes_drift import DriftVector, StokesDrift
from tunax_lite.column.time_series import TimeSeries

WAVES = StokesDrift(TimeSeries.constant(DriftVector(jnp.asarray(0.1), jnp.asarray(0.02))))
IN_WAVES = dataclasses.replace(
    CASES["everything"], duration=1200.0, interior=Interior(stokes_drift=WAVES, bottom_friction=None)
)
WITH_ALL = dataclasses.replace(
    IN_WAVES,
    interior=Interior(
        stokes_drift=WAVES,
        wave_height=TimeSeries.constant(jnp.asarray(1.0)),
        bottom_friction=BottomFriction(von_karman=None),
    ),
)
"""All fluxes, waves and a bottom; before it without the bottom, whose roughness replaces the closure's, and
without the height of the waves."""


def numbers(closure) -> list[str]:
    return [info.path for info in iterate_parameters(closure) if info.value is not None]


def without_effect(closure) -> set[str]:
    """Numbers on which nothing depends in the program of a run, whatever the values, in both cases."""
    return _without_effect(closure, WITH_ALL) & _without_effect(closure, IN_WAVES)


def _without_effect(closure, case) -> set[str]:
    paths = numbers(closure)

    def run(values):
        changed = eqx.tree_at(lambda c: [at_path(c, path) for path in paths], closure, values)
        return tl.simulate(tl.Model(changed), case, dt=600.0, output_interval=1200.0).state

    program = jax.make_jaxpr(run)([at_path(closure, path) for path in paths]).jaxpr
    _, used = partial_eval.dce_jaxpr(program, [True] * len(program.outvars))
    return {path for path, is_used in zip(paths, used, strict=True) if not is_used}


def refused(closure, *others: FreeParameter) -> set[str]:
    """Numbers that a calibration of the closure does not take for that reason."""
    found = set()
    for info in iterate_parameters(closure):
        free = [one for one in others if one.path != info.path]
        lower, upper = info.valid_range
        start = 0.3 * lower + 0.7 * upper
        try:
            FreeParameters((FreeParameter(info.path, start=start), *free)).resolve(closure)
        except ValueError as error:
            if re.match(f"{info.path}: expected a parameter with an effect, got one without: ", str(error)):
                found.add(info.path)
    return found


# Without those that differ from another in numbers alone.
SAME_SWITCHES = {"KOmega.recommended", "CATKE.recommended", "GenericLengthScale.generated", "Constant"}
EVERY = [each for each in (*ALL_CLOSURES, *VARIANTS.values()) if id_of(each) not in SAME_SWITCHES]
EVERY.append(MellorYamada.harcourt())


@pytest.mark.parametrize(
    "closure", some_long(EVERY, lambda each: id_of(each) not in ("KOmega", "KPP"), name=id_of)
)
def test_what_has_no_effect_is_refused_and_nothing_else(closure):
    assert without_effect(closure) == refused(closure)


def test_reasons_are_told():
    def resolve(closure, *names, tied=()):
        return FreeParameters(tuple(FreeParameter(name) for name in names), tied).resolve(closure)

    imposed = KOmega(imposed_von_karman=0.4)
    for closure, names, reason in (
        (KEpsilon(), ["stability.cc5"], "nothing"),
        (MellorYamada(), ["sigma_k"], "nothing"),
        (imposed, ["sigma_omega"], "imposed_von_karman"),
        (KEpsilon(c_eps_3_minus=-0.6), ["steady_state_richardson_number"], "c_eps_3_minus"),
        (KPP(), ["ekman_factor"], "limit_by_ekman_depth False"),
        (KPP(langmuir=Langmuir("LWF16")), ["langmuir.shear"], "langmuir.method LWF16"),
    ):
        with error_naming(ValueError, f"{names[0]} {reason}"):
            resolve(closure, *names)
    with error_naming(ValueError, "sigma_omega imposed_von_karman"):
        resolve(imposed, "c_omega_1", tied=(Tied("sigma_omega", "c_omega_1"),))
    both = (FreeParameter("sigma_eps"), FreeParameter("imposed_von_karman", start=0.4))
    with error_naming(ValueError, "sigma_eps imposed_von_karman"):
        FreeParameters(both).resolve(KEpsilon())
    with error_naming(ValueError, "stability.cc55 KEpsilon stability.ct5") as caught:
        resolve(KEpsilon(), "stability.cc55")
    assert "cc5," not in str(caught.value)  # is not offered
    assert resolve(KPP(limit_by_ekman_depth=True), "ekman_factor").paths == ("ekman_factor",)
