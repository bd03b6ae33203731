"""Two-equation closures: k, and a second quantity for the length scale, one class per quantity.

    epsilon:   deps/dt = d/dz (nu / sigma_eps deps/dz) + eps/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)
    omega:     sqrt(k) / (c_mu0 l) = eps / (c_mu0^4 k), in the same form
    generic:   psi = c_mu0^p k^m l^n with free exponents, in the same form
    q² l:      dq²l/dt = d/dz (S_l q l dq²l/dz) + l (E_1 P + E_6 P_St + E_3 B) - q³/B_1 [1 + E_2 (l/L_z)²]
               with q² = 2 k, dk/dt = d/dz (S_q q l dk/dz) + P + P_St + B - q³/(B_1 l), B_1 = 2^(3/2) / c_mu0³

In the common form, q² l has psi = k l, c_1 = E_1/2, c_3 = E_3/2, c_4 = E_6/2, c_2 = [1 + E_2 (l/L_z)²]/2, and
diffusivities equivalent to a Schmidt number c_mu0 / (sqrt(2) S) in a logarithmic layer.
"""

import math

import equinox as eqx
import jax.numpy as jnp

from .._types import FieldValue, Scalar, parameter
from ..declarations import named, setting
from ..numerics.elementary import safe_sqrt
from .energy import EnergyStepper
from .harcourt import Harcourt
from .k_equation import DiffusionByLength
from .length_equation import (
    WALL_LENGTHS,
    AbstractTwoEquation,
    Exponents,
    LengthScaleConstants,
    TransportedLength,
    WallFunction,
)
from .second_moment import SecondMomentClosure
from .stability import AbstractStability
from .walls import ShearFreeLayer

NOT_IMPOSED: dict[str, tuple[object, ...]] = {"imposed_von_karman": (None,)}


class AbstractKEpsilon(AbstractTwoEquation):
    """The equation for epsilon; for common settings see `AbstractTwoEquation`.

    Args:
        c_eps_1, c_eps_2: production and sink of epsilon [1].
        c_eps_3_minus: buoyancy term in stable stratification (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_eps_3_plus: the same in unstable stratification (B > 0).
        c_eps_4: production by the Stokes drift [1].
        sigma_eps: turbulent Schmidt number of epsilon [1]; ignored with `imposed_von_karman`.
        varying_schmidt_number: whether the Schmidt number grows where epsilon exceeds P + B, up to that of a
            layer below breaking waves in which l = kappa z; for this `imposed_von_karman` must be given.

    Raises:
        ValueError: a varying Schmidt number without `imposed_von_karman`.
    """

    c_eps_1: Scalar = parameter(1.44, valid_range=(1.0, 2.5))
    c_eps_2: Scalar = parameter(1.92, valid_range=(1.1, 3.5))
    c_eps_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 2.0))
    c_eps_3_plus: Scalar = parameter(1.5, valid_range=(-2.0, 5.0))
    c_eps_4: Scalar = parameter(0.0, valid_range=(-5.0, 10.0))
    sigma_eps: Scalar = parameter(1.3, valid_range=(0.1, 5.0), only_if=NOT_IMPOSED)
    varying_schmidt_number: bool = setting(False)

    def __check_init__(self):
        if self.varying_schmidt_number and self.imposed_von_karman is None:
            raise ValueError(
                f"{type(self).__name__}: expected an imposed_von_karman together with "
                "varying_schmidt_number, got none; give kappa, for example 0.4."
            )

    def _energy_stepper(self) -> EnergyStepper:
        constants = LengthScaleConstants(
            self.c_eps_1, self.c_eps_2, self.c_eps_3_minus, self.c_eps_3_plus, self.c_eps_4
        )
        shear_free = None
        if self.varying_schmidt_number:
            assert self.imposed_von_karman is not None  # checked at construction
            # With this value, l = kappa z solves the equations below breaking waves, without shear.
            ratio = self.imposed_von_karman / self.stability.stability_functions().c_mu_shear_free
            decay = safe_sqrt(1.5 * self.sigma_k) / ratio
            shear_free = (4.0 / 3.0 * decay + 1.0) * (decay + 1.0) * ratio**2 / self.c_eps_2
        return self._with_schmidt_numbers(Exponents(3.0, 1.5, -1.0), constants, self.sigma_eps, shear_free)


@named("k_epsilon", k_epsilon_oceananigans="as_in_oceananigans", k_epsilon_recommended="recommended")
class KEpsilon(AbstractKEpsilon):
    """k-epsilon as in GOTM, with GOTM's constants; for all settings see `AbstractKEpsilon`.

    Source: Rodi (1987), J. Geophys. Res. 92, 5305-5328; Burchard and Bolding (2001), J. Phys. Oceanogr. 31,
    1943-1968; Burchard (2001), J. Phys. Oceanogr. 31, 3133-3145, for the Schmidt number under breaking waves;
    Oceananigans.jl for another set of constants.
    """

    @classmethod
    def as_in_oceananigans(cls, **others: FieldValue) -> "KEpsilon":
        """Constants of Oceananigans' `TKEDissipationVerticalDiffusivity`; other arguments replace them.

        k and epsilon are on faces here, at cell centers in Oceananigans.
        """
        constants: dict[str, FieldValue] = {
            "c_eps_3_minus": -0.65,
            "c_eps_3_plus": -0.65,
            "sigma_eps": 1.2,
            "turbulent_kinetic_energy_floor": 1e-6,
            "surface_roughness_length": 1e-4,
            "charnock_constant": 0.11,
            "length_limit": 0.75 / math.sqrt(2.0),  # there l <= 0.75 sqrt(k) / N
            "stability": SecondMomentClosure(cc6=0.5, equilibrium="weak", instability_limit=0.73),
        }
        return cls(**(constants | others))

    def prepare(self) -> EnergyStepper:
        return self._energy_stepper()


@named("generic_length_scale", generic_length_scale_recommended="recommended")
class GenericLengthScale(AbstractTwoEquation):
    """A generic length scale; for common settings see `AbstractTwoEquation`.

    Args:
        exponents: p, m and n of psi = c_mu0^p k^m l^n [1], Python numbers; n < 0, because a psi that
            increases with the length scale needs a wall function.
        c_psi_1, c_psi_2: production and sink of psi [1].
        c_psi_3_minus: buoyancy term in stable stratification (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_psi_3_plus: the same in unstable stratification (B > 0).
        c_psi_4: production by the Stokes drift [1].
        sigma_psi: turbulent Schmidt number of psi [1]; ignored with `imposed_von_karman`.

    Raises:
        ValueError: n that is not negative.

    Source: Umlauf and Burchard (2003), J. Mar. Res. 61, 235-265: model A is the default, and section 4
    derives exponents and constants from properties of turbulence.
    """

    sigma_k: Scalar = parameter(0.8, valid_range=(0.1, 5.0))
    c_psi_1: Scalar = parameter(1.0, valid_range=(0.05, 5.0))
    c_psi_2: Scalar = parameter(1.22, valid_range=(0.1, 6.0))
    c_psi_3_minus: Scalar | None = parameter(None, valid_range=(-10.0, 5.0))
    c_psi_3_plus: Scalar = parameter(1.0, valid_range=(-2.0, 10.0))
    c_psi_4: Scalar = parameter(0.0, valid_range=(-5.0, 10.0))
    sigma_psi: Scalar = parameter(1.07, valid_range=(0.1, 10.0), only_if=NOT_IMPOSED)
    exponents: Exponents = setting(Exponents(p=3.0, m=1.0, n=-0.67))

    def __check_init__(self):
        if not self.exponents.n < 0.0:
            raise ValueError(f"GenericLengthScale: expected n < 0, got {self.exponents.n}.")

    @classmethod
    def generated(
        cls,
        *,
        von_karman: float = 0.4,
        decay_rate: float = -1.2,
        shear_free_decay: float = -2.0,
        shear_free_slope: float = 0.2,
        m: float = 1.0,
        p: float = 3.0,
        stability: AbstractStability | None = None,
        **others: FieldValue,
    ) -> "GenericLengthScale":
        """Choose exponents and constants for given properties of turbulence.

        Args:
            von_karman: kappa of the logarithmic layer [1].
            decay_rate: d in k ~ t^d without production [1], -2 to 0.
            shear_free_decay, shear_free_slope: alpha < 0 and L > 0 in k ~ z^alpha and l = L z of shear-free
                turbulence stirred at a wall [1].
            m, p: exponents that remain free [1].
            stability: constants of the stability functions; by default Canuto's model A.
            others: further arguments; `c_psi_3_plus` is m if it is not given.

        Raises:
            ValueError: properties that imply no negative n.
        """
        stability = SecondMomentClosure() if stability is None else stability
        functions = stability.stability_functions()
        c_mu_0 = float(functions.c_mu_0)
        r, d = c_mu_0 / float(functions.c_mu_shear_free), decay_rate
        kappa_squared, slope_squared = von_karman**2, shear_free_slope**2
        linear = 4.0 * d * r * kappa_squared * m - shear_free_decay * slope_squared * (2.0 + d) * (
            1.0 + 4.0 * m
        )
        difference = r * kappa_squared - slope_squared
        squared = (shear_free_decay * shear_free_slope * (2.0 + d)) ** 2
        radicand = 8.0 * squared * difference * m * (1.0 + 2.0 * m) + linear**2
        n = math.nan  # unless the quadratic equation has a root
        if radicand > 0.0 and difference != 0.0 and d != -2.0:
            n = -(linear + math.sqrt(radicand)) / (4.0 * (2.0 + d) * difference)
        if not (n < 0.0 and -2.0 < d < 0.0):
            raise ValueError(
                "GenericLengthScale.generated: expected properties that give a negative exponent n, got "
                f"n = {n} for decay_rate {d}, shear_free_decay {shear_free_decay}, shear_free_slope "
                f"{shear_free_slope} and m {m}; measured values are -1.3 to -1.0, -3 to -2 and 0.15 to 0.25."
            )
        sigma_psi = 2.0 * kappa_squared * d * n / (c_mu_0**2 * (d + 2.0))
        constants: dict[str, FieldValue] = {
            "sigma_k": 1.5 * (shear_free_decay * shear_free_slope) ** 2 / (r * c_mu_0**2),
            "c_psi_1": m,
            "c_psi_2": n**2 * kappa_squared / (c_mu_0**2 * sigma_psi) + m,
            "c_psi_3_plus": m,
            "sigma_psi": sigma_psi,
        }
        return cls(**(constants | {"stability": stability, "exponents": Exponents(p, m, n)} | others))

    def _energy_stepper(self) -> EnergyStepper:
        constants = LengthScaleConstants(
            self.c_psi_1, self.c_psi_2, self.c_psi_3_minus, self.c_psi_3_plus, self.c_psi_4
        )
        return self._with_schmidt_numbers(self.exponents, constants, self.sigma_psi)

    def prepare(self) -> EnergyStepper:
        return self._energy_stepper()


@named("k_omega", k_omega_recommended="recommended")
class KOmega(AbstractTwoEquation):
    """k-omega as in GOTM, with GOTM's constants; for common settings see `AbstractTwoEquation`.

    Args:
        c_omega_1, c_omega_2: production and sink of omega [1].
        c_omega_3_minus: buoyancy term in stable stratification (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_omega_3_plus: the same in unstable stratification (B > 0).
        c_omega_4: production by the Stokes drift [1].
        sigma_omega: turbulent Schmidt number of omega [1]; ignored with `imposed_von_karman`.

    Source: Wilcox (1988), AIAA J. 26, 1299-1310; Umlauf, Burchard and Hutter (2003), Ocean Model. 5, 195-218.
    """

    sigma_k: Scalar = parameter(2.0, valid_range=(0.1, 5.0))
    c_omega_1: Scalar = parameter(0.555, valid_range=(0.05, 2.0))
    c_omega_2: Scalar = parameter(0.833, valid_range=(0.1, 3.0))
    c_omega_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 2.0))
    c_omega_3_plus: Scalar = parameter(0.5, valid_range=(-4.0, 5.0))
    c_omega_4: Scalar = parameter(0.15, valid_range=(-5.0, 10.0))
    sigma_omega: Scalar = parameter(2.0, valid_range=(0.1, 5.0), only_if=NOT_IMPOSED)

    def _energy_stepper(self) -> EnergyStepper:
        constants = LengthScaleConstants(
            self.c_omega_1, self.c_omega_2, self.c_omega_3_minus, self.c_omega_3_plus, self.c_omega_4
        )
        return self._with_schmidt_numbers(Exponents(p=-1.0, m=0.5, n=-1.0), constants, self.sigma_omega)

    def prepare(self) -> EnergyStepper:
        return self._energy_stepper()


_ROOT_2 = math.sqrt(2.0)


@named("mellor_yamada", mellor_yamada_harcourt="harcourt")
class MellorYamada(AbstractTwoEquation):
    """Mellor and Yamada's level 2.5 as in GOTM; for common settings see `AbstractTwoEquation`.

    `sigma_k` is not used.

    Args:
        e_1, e_2: production of q² l, and its sink near walls [1]; `e_2` is ignored with
            `imposed_von_karman`.
        e_3_minus: buoyancy term in stable stratification (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        e_3_plus: the same in unstable stratification; `None` for the stable value, as in GOTM.
        e_6: production by the Stokes drift [1].
        s_q, s_l: diffusivities of q² and q² l over q l [1].
        s_h: factor s of the stability function S_H in both diffusivities, sqrt(S² + (s S_H)²) [1]; `None` for
            constant ones.
        wall_length: L_z / kappa from the distances d_s to the surface and d_b to the bottom: "parabolic" is
            d_s d_b / (d_s + d_b), "triangular" min(d_s, d_b), "linear" d_s.

    Source: Mellor and Yamada (1982), Rev. Geophys. Space Phys. 20, 851-875; constants and limits of GOTM.
    """

    sigma_k: Scalar = parameter(1.0, valid_range=(0.1, 5.0), only_if={"sigma_k": ()})
    length_limit: Scalar | None = parameter(0.53, valid_range=(0.01, 2.0))
    steady_state_richardson_number: Scalar = parameter(
        0.23, valid_range=(0.05, 0.8), only_if={"e_3_minus": (None,)}
    )
    stability: AbstractStability = eqx.field(default_factory=lambda: SecondMomentClosure.of("kantha_clayson"))
    e_1: Scalar = parameter(1.8, valid_range=(0.5, 5.0))
    e_2: Scalar = parameter(1.33, valid_range=(0.1, 5.0), only_if=NOT_IMPOSED)
    e_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 20.0))
    e_3_plus: Scalar | None = parameter(None, valid_range=(-5.0, 20.0))
    e_6: Scalar = parameter(4.0, valid_range=(-5.0, 20.0))
    s_q: Scalar = parameter(0.2, valid_range=(0.01, 2.0))
    s_l: Scalar = parameter(0.2, valid_range=(0.01, 2.0))
    s_h: Scalar | None = parameter(None, valid_range=(0.0, 2.0))
    wall_length: str = setting("parabolic", choices=WALL_LENGTHS)

    @classmethod
    def harcourt(cls, **others: FieldValue) -> "MellorYamada":
        """The closure for Langmuir turbulence: `Harcourt`, with a length limited only by waves and walls.

        Other arguments replace or complete its constants.

        Source: Harcourt (2015), J. Phys. Oceanogr. 45, 84-103, with the constants of Li et al. (2019), J.
        Adv. Model. Earth Syst. 11, 3545-3592.
        """
        constants: dict[str, FieldValue] = {
            "e_3_minus": 5.0,
            "e_6": 6.0,
            "s_h": 0.41,
            "length_limit": None,
            "wall_length": "linear",
            "imposed_von_karman": 0.4,
            "stability": Harcourt(),
        }
        return cls(**(constants | others))

    def prepare(self) -> EnergyStepper:
        return self._energy_stepper()

    def _energy_stepper(self) -> EnergyStepper:
        functions, exponents = self.stability.stability_functions(), Exponents(p=0.0, m=1.0, n=1.0)
        c_mu_0, waves = functions.c_mu_0, self.surface.breaking_waves
        e_2 = self.e_2
        if self.imposed_von_karman is not None:
            b_1 = 2.0 * _ROOT_2 / c_mu_0**3
            e_2 = self.imposed_von_karman**2 * b_1 * self.s_l + self.e_1 - 1.0
        constants = LengthScaleConstants(
            c_1=0.5 * self.e_1,
            c_2=0.5 * (1.0 + e_2),
            c_3_stable=None if self.e_3_minus is None else 0.5 * self.e_3_minus,
            c_3_unstable=None if self.e_3_plus is None else 0.5 * self.e_3_plus,
            c_4=0.5 * self.e_6,
        )
        von_karman = self._von_karman(exponents, constants, c_mu_0 / (_ROOT_2 * self.s_l), c_mu_0)
        diffusion = DiffusionByLength(self.s_q, self.s_h, self.eddy_slope)
        if waves is not None:
            decay, slope = self._shear_free_decay(constants.c_2 - constants.c_1, e_2, c_mu_0)
            waves = ShearFreeLayer.of(waves, decay, slope, diffusion.at_wall(functions, below_waves=True))
        constants = self._with_stable_constant(constants, jnp.asarray(0.5), functions)
        wall_function = WallFunction(e_2, von_karman, self.wall_length)
        length_diffusion = DiffusionByLength(self.s_l, self.s_h)
        length_scale = TransportedLength(self, exponents, constants, length_diffusion, wall_function)
        parts = diffusion, length_scale, functions, von_karman, waves
        return EnergyStepper(self, *parts, has_shortest_length=True)

    def _shear_free_decay(self, growth: Scalar, e_2: Scalar, c_mu_0: Scalar) -> tuple[Scalar, Scalar]:
        """alpha and L [1] of shear-free turbulence stirred at a wall, for `growth` = c_2 - c_1."""
        s_q, s_l = self.s_q, self.s_l
        b_kappa = 2.0 * growth / s_l  # B_1 kappa²
        wall_term = 12.0 * e_2 * (2.0 * s_l - s_q)
        root = safe_sqrt(wall_term + b_kappa * s_l * (s_l + 12.0 * s_q))
        kappa_b = safe_sqrt(b_kappa)
        decay = (5.0 * kappa_b * s_l + root) / (3.0 * kappa_b * (s_q - 2.0 * s_l))
        radicand = 0.5 * wall_term + b_kappa * s_l * (13.0 * s_l + 6.0 * s_q) - 5.0 * kappa_b * s_l * root
        slope_squared = radicand / (6.0 * s_q * (e_2 - b_kappa * s_l) ** 2)
        von_karman = safe_sqrt(b_kappa * c_mu_0**3 / (2.0 * _ROOT_2))
        return decay, von_karman * safe_sqrt(slope_squared)
