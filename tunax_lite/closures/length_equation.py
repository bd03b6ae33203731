"""The equation for the length scale shared by all two-equation closures, and its constants.

    psi = c_mu0^p k^m l^n,   eps = c_mu0³ k^(3/2) / l
    dpsi/dt = d/dz (nu / sigma_psi dpsi/dz) + psi/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

A closure defines the exponents and constants. The variable carried between steps is eps.

Source: Umlauf and Burchard (2003), J. Mar. Res. 61, 235-265; Burchard and Baumert (1995), J. Geophys. Res.
100, 8523-8540, for c_3 in stable stratification.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import InnerFaceArray, Scalar, parameter
from ..declarations import setting
from ..numerics.elementary import at_least, at_most, power, product_of_powers, quotient, reciprocal, safe_sqrt
from .energy import AbstractEnergyClosure, EnergyStepper
from .k_equation import AbstractDiffusion, AbstractLengthScale, SchmidtNumber, Step, advance, split_sources
from .stability import AbstractStabilityFunctions
from .walls import EndCondition, ShearFreeLayer, Wall


class Exponents(NamedTuple):
    """p, m and n of psi = c_mu0^p k^m l^n, static [1]."""

    p: float
    m: float
    n: float


class LengthScaleConstants(NamedTuple):
    """Constants of P, eps, B < 0, B > 0 and P_St in the equation for psi [1].

    `c_2` is the value in a logarithmic layer, where it may include a wall function. `c_3_stable` is `None`
    until derived from the steady-state Richardson number; `c_3_unstable` is `None` if equal to `c_3_stable`.
    """

    c_1: Scalar
    c_2: Scalar
    c_3_stable: Scalar | None
    c_3_unstable: Scalar | None
    c_4: Scalar


WALL_LENGTHS = "parabolic", "triangular", "linear"


class WallFunction(eqx.Module):
    """c_2 = [1 + E_2 (l / L_z)²] / 2, for a psi that increases with the length scale."""

    e_2: Scalar  # E_2 [1]
    von_karman: Scalar  # kappa [1]
    wall_length: str = setting(choices=WALL_LENGTHS)  # L_z / kappa, as in `MellorYamada`

    def sink_constant(self, now: Step) -> InnerFaceArray:
        """c_2 [1]."""
        z = now.inputs.grid.z_face
        from_surface = -z[1:-1] + now.surface.roughness_length
        from_bottom = z[1:-1] - z[0] + now.bottom.roughness_length
        if self.wall_length == "parabolic":
            inverse = reciprocal(from_surface) + reciprocal(from_bottom)
        elif self.wall_length == "triangular":
            inverse = reciprocal(at_most(from_surface, from_bottom))
        else:
            inverse = reciprocal(from_surface)
        length_squared = (now.functions.c_mu_0**3 * now.time_scale) ** 2 * now.tke
        near_wall = self.e_2 / self.von_karman**2 * inverse**2
        return 0.5 + 0.5 * near_wall * length_squared


class TransportedLength(AbstractLengthScale):
    """The equation for psi, with the floors and options of a closure."""

    closure: "AbstractTwoEquation"
    exponents: Exponents = eqx.field(static=True)
    constants: LengthScaleConstants
    diffusion: AbstractDiffusion
    wall_function: WallFunction | None = None  # of the sink; `None` if constant

    def dissipation(self, now: Step, tke: InnerFaceArray) -> InnerFaceArray:
        (p, m, n), c_mu_0 = self.exponents, now.functions.c_mu_0
        psi, source, sink_rate = self._sources(now)
        at_bottom = self._end_condition(now.bottom, tke[0], now.functions)
        at_surface = self._end_condition(now.surface, tke[-1], now.functions)
        conductance, ends = self.diffusion.conductance(now), (at_bottom, at_surface)
        new_psi = advance(psi, conductance, source, sink_rate, ends, now.inputs, now.dt)
        new_psi = at_least(new_psi, self._lowest_psi(tke, c_mu_0))
        return product_of_powers((c_mu_0, 3.0 + p / n), (new_psi, -1.0 / n), (tke, 1.5 + m / n))

    def _lowest_psi(self, tke: InnerFaceArray, c_mu_0: Scalar) -> InnerFaceArray:
        """Lower bound to which psi is reset if explicit fluxes or sources made it negative.

        For a psi that increases with the length scale, the value for the shortest length, with k and epsilon
        at their floors; for others a tiny value, so that the floor of epsilon applies.
        """
        p, m, n = self.exponents
        if n < 0.0:
            return jnp.full_like(tke, jnp.finfo(tke.dtype).tiny)
        floor = self.closure.turbulent_kinetic_energy_floor
        shortest = c_mu_0**3 * floor * safe_sqrt(floor) / self.closure.dissipation_rate_floor
        return product_of_powers((c_mu_0, p), (tke, m), (shortest, n))

    def _end_condition(
        self, wall: Wall, neighbour_tke: Scalar, functions: AbstractStabilityFunctions
    ) -> EndCondition:
        """Boundary condition for psi at a wall, a value or a flux, from the law of the layer.

        The flux is -D dpsi/dz for D = d sqrt(k) l, psi = c_mu0^p k^m l^n, k ~ (z + z_0)^alpha, l ~ z + z_0.
        """
        p, m, n = self.exponents
        condition, c_mu_0 = wall.boundary.length_scale, functions.c_mu_0
        distance, tke = wall.distance(condition), neighbour_tke
        if wall.waves is not None:
            tke = at_least(wall.tke_at(distance, c_mu_0), self.closure.turbulent_kinetic_energy_floor)
        if condition == "value":
            length = wall.length_slope * distance
            return EndCondition(value=product_of_powers((c_mu_0, p), (tke, m), (length, n)))
        logarithmic_slope = n if wall.waves is None else m * wall.waves.decay + n
        factor = -logarithmic_slope * self.diffusion.at_wall(functions, wall.waves is not None)
        scale = product_of_powers((c_mu_0, p), (tke, m + 0.5), (wall.length_slope, n + 1.0))
        return EndCondition(flux=factor * scale * power(distance, n))

    def _sources(self, now: Step) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
        """psi at the start of the step, its source [psi s-1], and the rate of its implicit sink [s-1]."""
        (p, m, n), (_, c_2, c_3, c_3_unstable, _) = self.exponents, self.constants
        if self.wall_function is not None:
            c_2 = self.wall_function.sink_constant(now)
        assert c_3 is not None  # set by `_with_stable_constant`
        if c_3_unstable is not None:
            c_3 = jnp.where(now.rates.buoyancy > 0.0, c_3_unstable, c_3)
        parts = self._produced(now), c_3 * now.rates.buoyancy, c_2 * now.rates.dissipation
        growth, sink_rate = split_sources(*parts, negative_in_sink=now.negative_in_sink)
        c_mu_0 = now.functions.c_mu_0
        psi = product_of_powers((c_mu_0, p + 3.0 * n), (now.dissipation, -n), (now.tke, m + 1.5 * n))
        return psi, psi * growth, sink_rate

    def _produced(self, now: Step) -> InnerFaceArray:
        """Production by shear, terms and waves, divided by psi [s-1]."""
        ratio, stirred = self.closure.stirring_ratio, now.inputs.stirring
        produced = self.constants.c_1 * now.rates.shear
        if ratio is not None and stirred is not None:  # shear production includes it with weight 1
            produced = produced + (ratio - 1.0) * self.constants.c_1 * quotient(stirred, now.tke)
        return produced if now.rates.stokes is None else produced + self.constants.c_4 * now.rates.stokes


class AbstractTwoEquation(AbstractEnergyClosure):
    """k and a second quantity psi that determines the length scale.

    Args:
        steady_state_richardson_number: Richardson number at which sheared stratified turbulence neither grows
            nor decays [1]; c_3 in stable water follows from it unless given.
        imposed_von_karman: kappa of the logarithmic layer [1], from which a constant of the equation for psi
            follows; `None` for the kappa that the constants imply.
        stirring_ratio: weight of production by terms, such as leaves of seagrass, in the equation for psi,
            relative to that of shear production [1]; `None` for 1.
        eddy_slope: decrease of the length of eddies per distance from their level [1]: eddies of a mixed
            layer diffuse k into the stratified water below; `None` for local eddies.
    """

    steady_state_richardson_number: Scalar = parameter(
        0.25,
        valid_range=(0.05, 0.8),
        only_if=dict.fromkeys(("c_eps_3_minus", "c_psi_3_minus", "c_omega_3_minus"), (None,)),
    )
    imposed_von_karman: Scalar | None = parameter(None, valid_range=(0.2, 0.6))
    stirring_ratio: Scalar | None = parameter(None, valid_range=(0.0, 10.0))
    eddy_slope: Scalar | None = parameter(None, valid_range=(0.01, 10.0))

    @property
    def von_karman(self) -> Scalar:
        """kappa of the logarithmic layer implied by the constants [1]."""
        return self._energy_stepper().von_karman

    @abc.abstractmethod
    def _energy_stepper(self) -> EnergyStepper:
        """The equations for k and psi from the parameters."""

    @property
    def c_3_stable(self) -> Scalar:
        """c_3 in stable stratification [1], set or derived; half of E_3 for Mellor-Yamada."""
        equation = self._energy_stepper().length_scale
        assert isinstance(equation, TransportedLength) and equation.constants.c_3_stable is not None
        return equation.constants.c_3_stable

    def _with_schmidt_numbers(
        self,
        exponents: Exponents,
        constants: LengthScaleConstants,
        sigma: Scalar,
        shear_free: Scalar | None = None,
    ) -> EnergyStepper:
        """Return the stepper for a constant c_2 and for Schmidt numbers sigma_k and `sigma`, that of psi.

        An `imposed_von_karman` replaces `sigma`. With `shear_free`, it varies towards this value below waves.
        """
        varies = shear_free is not None
        functions = self.stability.stability_functions()
        c_mu_0, n = functions.c_mu_0, exponents.n
        if self.imposed_von_karman is not None:
            growth = at_least(constants.c_2 - constants.c_1, 1e-4)
            sigma = (n * self.imposed_von_karman / c_mu_0) ** 2 / growth
        shear_free = sigma if shear_free is None else shear_free
        waves = self.surface.breaking_waves
        if waves is not None:
            decay, slope = _shear_free_decay(exponents, constants.c_2, (self.sigma_k, shear_free), functions)
            waves = ShearFreeLayer.of(waves, decay, slope, functions.c_mu_shear_free / self.sigma_k)
        von_karman = self._von_karman(exponents, constants, sigma, c_mu_0)
        constants = self._with_stable_constant(constants, constants.c_2, functions)
        diffusion = SchmidtNumber(sigma, shear_free, varies)
        length_scale = TransportedLength(self, exponents, constants, diffusion)
        tke_diffusion = SchmidtNumber(self.sigma_k, self.sigma_k, slope=self.eddy_slope)
        parts = tke_diffusion, length_scale, functions, von_karman, waves
        return EnergyStepper(self, *parts)

    def _von_karman(
        self, exponents: Exponents, constants: LengthScaleConstants, sigma: Scalar, c_mu_0: Scalar
    ) -> Scalar:
        """kappa of the logarithmic layer [1], imposed or implied by the constants."""
        if self.imposed_von_karman is not None:
            return self.imposed_von_karman
        # Without a logarithmic layer (c_1 >= c_2) use a thin one: kappa is a divisor at the walls.
        growth = at_least(sigma * (constants.c_2 - constants.c_1), 1e-4)
        return c_mu_0 * safe_sqrt(growth) / abs(exponents.n)

    def _with_stable_constant(
        self, constants: LengthScaleConstants, c_2: Scalar, functions: AbstractStabilityFunctions
    ) -> LengthScaleConstants:
        """Set c_3 in stable stratification, derived from c_2 far from walls unless given."""
        if constants.c_3_stable is not None:
            return constants
        ri, c_1 = self.steady_state_richardson_number, constants.c_1
        return constants._replace(c_3_stable=c_2 + (c_1 - c_2) / ri * functions.equilibrium_ratio(ri))


def _shear_free_decay(
    exponents: Exponents, c_2: Scalar, sigmas: tuple[Scalar, Scalar], functions: AbstractStabilityFunctions
) -> tuple[Scalar, Scalar]:
    """alpha and L [1] of shear-free turbulence stirred at a wall, as in Umlauf and Burchard (2003)."""
    (_, m, n), (sigma_k, sigma_psi), c_mu_0 = exponents, sigmas, functions.c_mu_0
    sum_of_sigmas = sigma_k + 24.0 * sigma_psi * c_2
    m_factor = 1.0 + 4.0 * m
    decay = -4.0 * n * safe_sqrt(sigma_k) / (m_factor * safe_sqrt(sigma_k) - safe_sqrt(sum_of_sigmas))
    radicand = (m_factor + 8.0 * m**2) * sigma_k + 12.0 * sigma_psi * c_2
    radicand = radicand - m_factor * safe_sqrt(sigma_k * sum_of_sigmas)
    return decay, c_mu_0 * safe_sqrt(c_mu_0 / functions.c_mu_shear_free * radicand / (12.0 * n**2))
