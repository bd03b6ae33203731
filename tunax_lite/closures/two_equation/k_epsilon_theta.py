"""k-epsilon with an equation for the variance of temperature, which drives heat against its gradient.

    dtheta'²/dt = d/dz (nu / sigma_theta dtheta'²/dz) - 2 w'theta' dT/dz - 2/c_T eps/k theta'²
    w'theta' = -kappa dT/dz + Gamma,   Gamma = c_mu* k/eps g alpha theta'²,   B = -kappa N² + g alpha Gamma

with c_T = 2 ctt of the stability functions. Salinity goes down its gradient with kappa, its variance and
covariance with temperature are left out, as in the source.

Source: Legay, Deremble, Penduff, Brasseur and Molines (2025), J. Adv. Model. Earth Syst. 17, e2024MS004243.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp

from ..._types import FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import named
from ...numerics.limiters import at_least, reciprocal
from ...numerics.stencils import gradient, mean_of_neighbours, with_end_faces
from ...physics.stratification import buoyancy_per_kelvin
from ..base import ClosureInputs
from ..energy import Derived, Turbulence, TurbulenceState, advance
from ..stability import AbstractStability, SecondMomentClosure, VarianceFunctions
from ..walls import EndCondition
from .k_epsilon import KEpsilon

_SMALLEST_VARIANCE = 1e-15  # K2, where it divides: its inverse squared is finite in float32


class TemperatureVarianceState(TurbulenceState):
    """State of k-epsilon with the variance of temperature, on faces.

    Args:
        temperature_variance: theta'² [K2].
        variance_driven_flux: Gamma, upward [K m s-1].
    """

    temperature_variance: FaceArray = eqx.field(kw_only=True)
    variance_driven_flux: FaceArray = eqx.field(kw_only=True)

    def nonlocal_temperature_flux(self) -> FaceArray:
        return self.variance_driven_flux


def _functions_of_legay() -> SecondMomentClosure:
    return SecondMomentClosure(cc6=0.5, equilibrium="weak", instability_limit=0.73)


@named("k_epsilon_theta")
class KEpsilonTheta(KEpsilon):
    """k-epsilon-theta with the constants of its authors; the common settings are those of `KEpsilon`.

    Args:
        sigma_theta: turbulent Schmidt number of the variance [1].

    Raises:
        ValueError: stability functions other than a second-moment closure in weak equilibrium.
    """

    c_eps_3_minus: Scalar | None = parameter(-0.65, valid_range=(-5.0, 2.0))
    c_eps_3_plus: Scalar = parameter(1.0, valid_range=(-2.0, 5.0))
    sigma_eps: Scalar = parameter(1.2, valid_range=(0.1, 5.0))
    length_limit: Scalar | None = parameter(0.53, valid_range=(0.01, 2.0))
    turbulent_kinetic_energy_floor: Scalar = parameter(1e-6, unit="m2 s-2", valid_range=(1e-16, 1e-3))
    surface_roughness_length: Scalar = parameter(0.01, unit="m", valid_range=(1e-5, 20.0))
    charnock_constant: Scalar | None = parameter(1400.0, valid_range=(0.0, 1e6))
    stability: AbstractStability = eqx.field(default_factory=_functions_of_legay)
    sigma_theta: Scalar = parameter(1.0, valid_range=(0.1, 5.0))

    def __check_init__(self):
        stability = self.stability
        if not isinstance(stability, SecondMomentClosure) or stability.equilibrium != "weak":
            got = getattr(stability, "equilibrium", type(stability).__name__)
            raise ValueError(
                "KEpsilonTheta: expected stability functions of SecondMomentClosure with equilibrium 'weak', "
                f"got {got!r}; the equation for the variance needs their constants."
            )

    def _derive(self) -> Derived:
        assert isinstance(self.stability, SecondMomentClosure)  # checked at construction
        return dataclasses.replace(super()._derive(), functions=VarianceFunctions.of(self.stability))

    def init(self, inputs: ClosureInputs) -> TemperatureVarianceState:
        state = super().init(inputs)
        nothing = jnp.zeros_like(state.eddy_viscosity)
        return _with_variance(state, nothing, nothing)

    def step(
        self, clo_state: TemperatureVarianceState, inputs: ClosureInputs, dt: ScalarLike
    ) -> TemperatureVarianceState:
        derived = self._derive() if self.derived is None else self.derived
        new = super().step(clo_state, inputs, dt)
        c_mu_star = _functions(clo_state, derived, inputs)[2]
        variance = self._advance_variance(clo_state, inputs, dt)
        tke, dissipation = new.turbulent_kinetic_energy[1:-1], new.dissipation_rate[1:-1]
        flux = c_mu_star * tke * reciprocal(dissipation) * _lift(inputs) * variance
        return _with_variance(new, with_end_faces(variance, 0.0, 0.0), with_end_faces(flux, 0.0, 0.0))

    def _turbulence(
        self, clo_state: TemperatureVarianceState, derived: Derived, inputs: ClosureInputs
    ) -> Turbulence:
        old = super()._turbulence(clo_state, derived, inputs)
        return old._replace(c_mu=_functions(clo_state, derived, inputs)[0])

    def production(
        self, clo_state: TemperatureVarianceState, inputs: ClosureInputs
    ) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray | None]:
        by_shear, by_buoyancy, by_waves = super().production(clo_state, inputs)
        lifted = _lift(inputs) * clo_state.variance_driven_flux[1:-1]
        return by_shear, by_buoyancy + lifted, by_waves

    def _advance_variance(
        self,
        clo_state: TemperatureVarianceState,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        """theta'² at the end of the step [K2], from the flux of the step; it stays positive (Patankar)."""
        assert isinstance(self.stability, SecondMomentClosure)  # checked at construction
        tke, dissipation = clo_state.turbulent_kinetic_energy[1:-1], clo_state.dissipation_rate[1:-1]
        variance, diffusivity = clo_state.temperature_variance[1:-1], clo_state.eddy_diffusivity[1:-1]
        slope = gradient(inputs.state.temperature, inputs.grid)
        produced = 2.0 * (diffusivity * slope - clo_state.variance_driven_flux[1:-1]) * slope
        consumed = at_least(-produced, 0.0) * reciprocal(at_least(variance, _SMALLEST_VARIANCE))
        conductance = mean_of_neighbours(clo_state.eddy_viscosity[1:-1]) * reciprocal(
            self.sigma_theta * inputs.grid.cell_thickness[1:-1]
        )
        return advance(
            variance,
            conductance,
            at_least(produced, 0.0),
            dissipation * reciprocal(self.stability.ctt * tke) + consumed,
            (EndCondition(), EndCondition()),
            inputs,
            dt,
        )


def _functions(
    clo_state: TemperatureVarianceState, derived: Derived, inputs: ClosureInputs
) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
    """c_mu, c_mu' and c_mu* [1] of the turbulence at the start of the step."""
    functions = derived.functions
    assert isinstance(functions, VarianceFunctions)
    tke, dissipation = clo_state.turbulent_kinetic_energy[1:-1], clo_state.dissipation_rate[1:-1]
    lifting = _lift(inputs) ** 2 * clo_state.temperature_variance[1:-1]
    return functions.with_variance(
        (tke * reciprocal(dissipation)) ** 2,
        inputs.buoyancy_frequency_squared,
        inputs.shear_squared,
        lifting * reciprocal(tke),
    )


def _lift(inputs: ClosureInputs) -> InnerFaceArray | Scalar:
    """g alpha [m s-2 K-1]."""
    return buoyancy_per_kelvin(inputs.state, inputs.grid, inputs.equation_of_state)


def _with_variance(state: TurbulenceState, variance: FaceArray, flux: FaceArray) -> TemperatureVarianceState:
    inherited = {field.name: getattr(state, field.name) for field in dataclasses.fields(TurbulenceState)}
    return TemperatureVarianceState(**inherited, temperature_variance=variance, variance_driven_flux=flux)
