"""A value that is not finite is found: its step, the part of the step that made it, and the parameter."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import pytest

import tunax_lite as tl
from tests.calibration.twins import make_case
from tests.errors import error_naming
from tunax_lite.closures import AbstractDiagnosticClosure, ClosureInputs, EddyCoefficients
from tunax_lite.column.terms import AbstractTerm
from tunax_lite.column.terms.base import Tendency

RUN: Any = {"dt": 600.0, "output_interval": 3600.0}


class Late(AbstractTerm):
    """Heats by a value that is not a number from a time on."""

    begin: tl.Scalar = tl.parameter(4000.0, unit="s")

    def on_scalars(self, column):
        heat = jnp.where(column.time > self.begin, jnp.nan, 0.0) * column.state.temperature
        return {"temperature": Tendency(cells=heat)}


class Root(AbstractDiagnosticClosure[EddyCoefficients]):
    """Coefficient sqrt(scale S²), whose derivative at rest is not finite."""

    scale: tl.Scalar = tl.parameter(1e-3, unit="m4", valid_range=(0.0, 1.0))

    def argument(self, inputs: ClosureInputs):
        return inputs.shear_squared

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        mixing = jnp.sqrt(self.scale * self.argument(inputs))
        return EddyCoefficients.within(mixing, mixing)


class LateRoot(Root):
    """Coefficient whose root is that of zero once the surface is colder than `WARM`."""

    def argument(self, inputs: ClosureInputs):
        return jnp.maximum(inputs.state.temperature[-1] - WARM, 0.0) + 0.0 * inputs.shear_squared


WARM = 19.9  # [degC]


def test_a_finite_run_has_none():
    model, case = tl.Model(tl.PacanowskiPhilander()), make_case(0.1, -50.0)
    assert tl.find_non_finite(model, case, by=["closure.alpha"], **RUN) is None
    with error_naming(ValueError, "dt -1"):  # an error of the run stays
        tl.find_non_finite(model, case, dt=-1.0)


@pytest.mark.long
def test_a_term_is_named_with_its_step():
    model = tl.Model(tl.PacanowskiPhilander())
    case = dataclasses.replace(make_case(0.1, -50.0), terms={"late": Late()})
    found = tl.find_non_finite(model, case, **RUN)
    # Steps of 600 s that end after 4000 s: the seventh is the first.
    assert found == tl.NonFinite("temperature", 7, 4200.0, "Late", ())
    assert "step 7" in str(found) and "Late" in str(found)
    restart = tl.simulate(model, case, dt=600.0, duration=3600.0).restart()
    assert tl.find_non_finite(model, case, start=restart, **RUN) == found


@pytest.mark.long
def test_a_closure_is_named_with_the_number_out_of_range():
    negative = eqx.tree_at(lambda c: c.scale, Root(), jnp.asarray(-1.0))
    found = tl.find_non_finite(tl.Model(negative), make_case(0.1, 0.0), **RUN)
    # Shear appears in the first step; at rest the root is that of zero.
    assert found is not None
    assert (found.step, found.origin, found.parameters) == (1, "Root", ("closure.scale",))
    assert found.variable == "eddy_viscosity" and "suspects: closure.scale" in str(found)


def test_fluxes_and_the_start_are_named():
    case = make_case(0.1, 0.0)
    broken = eqx.tree_at(lambda c: c.forcing.fluxes.stress_u, case, jnp.asarray(jnp.nan))
    found = tl.find_non_finite(tl.Model(tl.Constant()), broken, **RUN)
    assert found is not None and (found.step, found.variable) == (1, "stress_u") and found.origin == "fluxes"
    assert found.parameters == ("case.forcing.fluxes.stress_u",)
    salinity = case.initial_state.salinity.at[3].set(jnp.inf)
    broken = eqx.tree_at(lambda c: c.initial_state.salinity, case, salinity)
    found = tl.find_non_finite(tl.Model(tl.Constant()), broken, **RUN)
    assert found == ("salinity", 0, 0.0, "start", ("case.initial_state.salinity",))


@pytest.mark.long
def test_a_derivative_that_is_not_finite_is_found_where_the_run_is_finite():
    model, case = tl.Model(Root()), make_case(0.1, 0.0)
    assert tl.find_non_finite(model, case, **RUN) is None
    found = tl.find_non_finite(model, case, by=["closure.scale"], **RUN)
    assert found is not None and found.variable == "eddy_viscosity by closure.scale"
    assert (found.step, found.origin) == (0, "Root")  # at rest
    model, case = tl.Model(LateRoot(scale=1e-4)), make_case(0.0, -150.0)
    surface = tl.simulate(model, case, dt=600.0, output_interval=600.0).state.temperature[:, -1]
    first = int(jnp.argmax(surface < WARM))
    assert 6 < first  # beyond the first frame
    found = tl.find_non_finite(model, case, by=["closure.scale"], **RUN)
    assert found is not None and (found.step, found.origin) == (first, "LateRoot")
    assert tl.find_non_finite(model, case, by="closure.*", **RUN) is not None
    found = tl.find_non_finite(model, case, by="case.forcing.fluxes.heat_flux", **RUN)
    assert found is not None and found.variable == "eddy_viscosity by case.forcing.fluxes.heat_flux"
    for wrong in ("closure.skale", "scale", "case.name", "closure"):
        with error_naming(ValueError, wrong):
            tl.find_non_finite(model, case, by=[wrong], **RUN)
