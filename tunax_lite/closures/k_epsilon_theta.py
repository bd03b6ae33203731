"""k-epsilon with an equation for the temperature variance, which drives a counter-gradient heat flux.

    dtheta'²/dt = d/dz (nu / sigma_theta dtheta'²/dz) - 2 w'theta' dT/dz - 2/c_T eps/k theta'²
    w'theta' = -kappa dT/dz + Gamma,   Gamma = c_mu* k/eps g alpha theta'²,   B = -kappa N² + g alpha Gamma

with c_T = 2 ctt of the stability functions, and with alpha_N, alpha_M of `second_moment` and
alpha_theta = (g alpha)² theta'² k/eps²,

    c_mu = (n0 + n1 alpha_N + n2 alpha_M + n3 alpha_theta) / D,   c_mu' = N_b / D,
    c_mu* = (s0 + s1 alpha_N + s2 alpha_M) / D.

These are the coefficients of `second_moment` without the terms in N_n and D that are due to a variance in
equilibrium, theta'² = -2 ctt (k/eps) w'theta' dT/dz; these terms are linear in ctt and give c_mu* and n3.
With the equilibrium variance, c_mu and the flux equal those of `second_moment`. Salinity has a down-gradient
flux with kappa; its variance and its covariance with temperature are neglected, as in the source.

Source: Legay, Deremble, Penduff, Brasseur and Molines (2025), J. Adv. Model. Earth Syst. 17, e2024MS004243.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp

from .._types import InnerFaceArray, Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.elementary import (
    at_least,
    gradient,
    inner_faces,
    mean_of_neighbours,
    quotient,
    reciprocal,
    with_end_faces,
)
from ..physics.stratification import buoyancy_per_kelvin
from .base import ClosureInputs
from .energy import AbstractEnergyStepper, EnergyStepper, TurbulenceState
from .k_equation import Production, advance
from .second_moment import SecondMomentClosure, StabilityFunctions, bounded
from .stability import AbstractStability, Flow
from .two_equation import NOT_IMPOSED, AbstractKEpsilon
from .walls import EndCondition

_SMALLEST_VARIANCE = 1e-15  # K2, as a divisor: its inverse square is finite in float32


class VarianceFunctions(eqx.Module):
    """c_mu, c_mu' and c_mu* for a known temperature variance."""

    base: StabilityFunctions  # the functions for ctt = 0, without the terms of the variance
    n3: Scalar  # coefficient of alpha_theta in c_mu, divided by d0 as all others [1]
    s0: Scalar  # coefficients of c_mu* [1]
    s1: Scalar
    s2: Scalar

    @classmethod
    def of(cls, closure: SecondMomentClosure) -> "VarianceFunctions":
        """Derive the functions from constants of a closure; the terms of the variance are linear in ctt."""
        at_zero, at_half = (
            eqx.tree_at(lambda c: c.ctt, closure, jnp.full_like(closure.ctt, ctt)).stability_functions()
            for ctt in (0.0, 0.5)
        )
        s0, s1, s2 = at_half.d1 - at_zero.d1, at_half.d4 - at_zero.d4, at_half.d3 - at_zero.d3
        n3 = ((at_half.n1 - at_zero.n1) * at_zero.d1 - at_zero.n0 * s1 - at_zero.n1 * s0) / at_zero.b0
        return cls(at_zero, n3, s0, s1, s2)

    def in_flow(self, flow: Flow, variance_per_tke: InnerFaceArray) -> tuple[InnerFaceArray, ...]:
        """c_mu, c_mu' and c_mu* [1], limited to 0 to 2; the last argument is (g alpha)² theta'² / k [s-2]."""
        f = self.base
        alpha_n, alpha_m = f.limited(flow.alpha_n, flow.alpha_m)
        inverse = f.inverse_denominator(alpha_n, alpha_m)
        by_variance = self.n3 * quotient(variance_per_tke, flow.frequency_squared)
        c_mu = (f.n0 + f.n1 * alpha_n + f.n2 * alpha_m + by_variance) * inverse
        c_mu_prime = (f.b0 + f.b1 * alpha_n + f.b2 * alpha_m) * inverse
        c_mu_star = (self.s0 + self.s1 * alpha_n + self.s2 * alpha_m) * inverse
        return bounded(c_mu), bounded(c_mu_prime), bounded(c_mu_star)


@named("k_epsilon_theta", k_epsilon_theta_recommended="recommended")
class KEpsilonTheta(AbstractKEpsilon):
    """k-epsilon-theta with the constants of its authors; for common settings see `AbstractKEpsilon`.

    Args:
        sigma_theta: turbulent Schmidt number of the variance [1].

    Raises:
        ValueError: stability functions other than a second-moment closure in weak equilibrium.
    """

    c_eps_3_minus: Scalar | None = parameter(-0.65, valid_range=(-5.0, 2.0))
    c_eps_3_plus: Scalar = parameter(1.0, valid_range=(-2.0, 5.0))
    sigma_eps: Scalar = parameter(1.2, valid_range=(0.1, 5.0), only_if=NOT_IMPOSED)
    length_limit: Scalar | None = parameter(0.53, valid_range=(0.01, 2.0))
    turbulent_kinetic_energy_floor: Scalar = parameter(1e-6, unit="m2 s-2", valid_range=(1e-16, 1e-3))
    surface_roughness_length: Scalar = parameter(0.01, unit="m", valid_range=(1e-5, 20.0))
    charnock_constant: Scalar | None = parameter(1400.0, valid_range=(0.0, 1e6))
    stability: AbstractStability = eqx.field(
        default_factory=lambda: SecondMomentClosure(cc6=0.5, equilibrium="weak", instability_limit=0.73)
    )
    sigma_theta: Scalar = parameter(1.0, valid_range=(0.1, 5.0))

    def __check_init__(self):
        stability = self.stability
        if not isinstance(stability, SecondMomentClosure) or stability.equilibrium != "weak":
            got = getattr(stability, "equilibrium", type(stability).__name__)
            raise ValueError(
                "KEpsilonTheta: expected stability functions of SecondMomentClosure with equilibrium 'weak', "
                f"got {got!r}; the equation for the variance needs their constants."
            )

    def prepare(self) -> "TemperatureVarianceStepper":
        assert isinstance(self.stability, SecondMomentClosure)  # checked at construction
        functions = VarianceFunctions.of(self.stability)
        energy = dataclasses.replace(self._energy_stepper(), functions=functions.base)
        return TemperatureVarianceStepper(energy, functions, self.sigma_theta, self.stability.ctt)


class TemperatureVarianceStepper(AbstractEnergyStepper):
    """k-epsilon with the equation for the temperature variance."""

    energy: EnergyStepper
    functions: VarianceFunctions
    sigma_theta: Scalar  # turbulent Schmidt number of the variance [1]
    ctt: Scalar  # c_T / 2 [1]

    def init(self, inputs: ClosureInputs) -> TurbulenceState:
        state = self.energy.init(inputs)
        zeros = jnp.zeros_like(state.eddy_viscosity)
        return dataclasses.replace(state, temperature_variance=zeros, variance_driven_flux=zeros)

    def step(self, clo_state: TurbulenceState, inputs: ClosureInputs, dt: ScalarLike) -> TurbulenceState:
        production = self.production(clo_state, inputs)  # applies `at_interface` itself
        inputs = self.energy.at_interface(inputs)
        g_alpha = buoyancy_per_kelvin(inputs.state, inputs.grid, inputs.equation_of_state)
        (tke, dissipation), (variance, flux) = clo_state.on_inner_faces, _variance_and_flux(clo_state)
        buoyancy_variance = g_alpha**2 * variance
        rate_squared = quotient(dissipation, tke) ** 2
        flow = Flow(rate_squared, inputs.buoyancy_frequency_squared, inputs.shear_squared)
        c_mu, c_mu_prime, c_mu_star = self.functions.in_flow(flow, buoyancy_variance * reciprocal(tke))
        stability = self.energy.with_stokes(c_mu, c_mu_prime, inputs)
        new = self.energy.advanced(clo_state, production, stability, inputs, dt)
        # The variance at the end of the step, from the flux during the step; it stays positive (Patankar).
        slope = gradient(inputs.state.temperature, inputs.grid)
        produced = 2.0 * (inner_faces(clo_state.eddy_diffusivity) * slope - flux) * slope
        consumed = at_least(-produced, 0.0) * reciprocal(at_least(variance, _SMALLEST_VARIANCE))
        conductance = mean_of_neighbours(inner_faces(clo_state.eddy_viscosity))
        conductance = conductance * reciprocal(self.sigma_theta * inputs.grid.cell_thickness[1:-1])
        sink_rate = dissipation * reciprocal(self.ctt * tke) + consumed
        ends = EndCondition(), EndCondition()
        new_variance = advance(variance, conductance, at_least(produced, 0.0), sink_rate, ends, inputs, dt)
        new_tke, new_dissipation = new.on_inner_faces
        new_flux = c_mu_star * new_tke * reciprocal(new_dissipation) * g_alpha * new_variance
        return dataclasses.replace(
            new,
            temperature_variance=with_end_faces(new_variance),
            variance_driven_flux=with_end_faces(new_flux),
        )

    def production(self, clo_state: TurbulenceState, inputs: ClosureInputs) -> Production:
        production = self.energy.production(clo_state, inputs)
        g_alpha = buoyancy_per_kelvin(inputs.state, inputs.grid, inputs.equation_of_state)
        by_flux = g_alpha * _variance_and_flux(clo_state)[1]
        return production._replace(buoyancy=production.buoyancy + by_flux)


def _variance_and_flux(clo_state: TurbulenceState) -> tuple[InnerFaceArray, InnerFaceArray]:
    """Return theta'² [K2] and Gamma [K m s-1] on inner faces."""
    assert clo_state.temperature_variance is not None and clo_state.variance_driven_flux is not None
    return inner_faces(clo_state.temperature_variance), inner_faces(clo_state.variance_driven_flux)
