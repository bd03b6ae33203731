"""The equation for the length scale that all two-equation closures share, written once.

    psi = c_mu0^p k^m l^n,   eps = c_mu0³ k^(3/2) / l
    dpsi/dt = d/dz (nu / sigma_psi dpsi/dz) + psi/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

A variant names the exponents and the constants. What is carried from step to step is eps.

Source: Umlauf and Burchard (2003), J. Mar. Res. 61, 235-265; Burchard and Baumert (1995), J. Geophys. Res.
100, 8523-8540, for c_3 in stable water.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import ColumnArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import setting
from ...grid import Grid
from ...numerics.limiters import at_least, reciprocal, safe_sqrt
from ...numerics.powers import power, product_of_powers
from ..base import ClosureInputs
from ..energy import AbstractEnergyClosure, Derived, Turbulence, Walls, advance
from ..walls import EndCondition, ShearFreeLayer, Wall
from .sources import Exponents as Exponents
from .sources import SourceConstants, sources_at_long_steps, sources_of_psi


class LengthScaleConstants(eqx.Module):
    """Constants of the equation for psi [1]: of P, eps, B < 0, B > 0 and P_St; and the Schmidt numbers.

    `c_2` is that in a logarithmic layer, where it may contain a wall function. `c_3_stable` is `None` if it
    is to follow from the steady-state Richardson number, for which c_2 is `c_2_interior`.
    `sigma_shear_free` is the Schmidt number below breaking waves.
    """

    c_1: Scalar
    c_2: Scalar
    c_2_interior: Scalar
    c_3_stable: Scalar | None
    c_3_unstable: Scalar | None
    c_4: Scalar
    sigma: Scalar
    sigma_shear_free: Scalar


class AbstractTwoEquation(AbstractEnergyClosure):
    """k and a second quantity psi that holds the length scale.

    Args:
        steady_state_richardson_number: where sheared stratified turbulence neither grows nor decays [1]; c_3
            in stable water follows from it unless that is given.
        imposed_von_karman: kappa of the logarithmic layer [1], from which a constant of the equation for psi
            follows; `None` for what the constants imply.
        long_steps: whether steps may be much longer than k/eps: see `sources`. It costs a second step of
            the closure, and vanishes as steps become short.
    """

    steady_state_richardson_number: Scalar = parameter(0.25, valid_range=(0.05, 0.8))
    imposed_von_karman: Scalar | None = parameter(None, valid_range=(0.2, 0.6))
    long_steps: bool = setting(False)

    @property
    def von_karman(self) -> Scalar:
        """kappa of the logarithmic layer that the constants imply [1]."""
        return (self._derive() if self.derived is None else self.derived).von_karman

    @property
    @abc.abstractmethod
    def _exponents(self) -> Exponents: ...

    @abc.abstractmethod
    def _constants(self, c_mu_0: Scalar) -> LengthScaleConstants:
        """The constants as given; one follows from `imposed_von_karman` if that is given."""

    @property
    def _repeats(self) -> bool:
        return self.long_steps

    def _sink_constant(
        self, old: Turbulence, derived: Derived, walls: Walls, grid: Grid
    ) -> Scalar | InnerFaceArray:
        """c_2 [1]."""
        del old, walls, grid
        return _length_scale(derived).c_2

    def _stable_constant(self) -> Any:
        """c_3 in stable water [1], given or derived."""
        return _length_scale(self._derive()).c_3_stable

    def _with_one_sink(
        self,
        c_1: Scalar,
        c_2: Scalar,
        c_3_stable: Scalar | None,
        c_3_unstable: Scalar,
        c_4: Scalar,
        sigma: Scalar,
        c_mu_0: Scalar,
    ) -> LengthScaleConstants:
        """Constants without a wall function; sigma follows from `imposed_von_karman` if that is given."""
        if self.imposed_von_karman is not None:
            growth = at_least(c_2 - c_1, 1e-4)
            sigma = (self._exponents.n * self.imposed_von_karman / c_mu_0) ** 2 / growth
        return LengthScaleConstants(c_1, c_2, c_2, c_3_stable, c_3_unstable, c_4, sigma, sigma)

    def _derive(self) -> Derived:
        functions = self.stability.stability_functions()
        c_mu_0, n = functions.c_mu_0, self._exponents.n
        known = self._constants(c_mu_0)
        c_3 = known.c_3_stable
        if c_3 is None:
            ri = self.steady_state_richardson_number
            ratio = functions.equilibrium_ratio(ri)
            c_3 = known.c_2_interior + (known.c_1 - known.c_2_interior) / ri * ratio
        known = eqx.tree_at(lambda c: c.c_3_stable, known, c_3, is_leaf=lambda x: x is None)
        von_karman = self.imposed_von_karman
        if von_karman is None:
            # Without a logarithmic layer (c_1 >= c_2) a thin one stands in: kappa divides at the walls.
            growth = at_least(known.sigma * (known.c_2 - known.c_1), 1e-4)
            von_karman = c_mu_0 * safe_sqrt(growth) / abs(n)
        waves = self.surface.breaking_waves
        if waves is not None:
            decay, slope = self._shear_free_decay(known, functions.c_mu_0, functions.c_mu_shear_free)
            diffusivity = self._shear_free_diffusivity(functions.c_mu_shear_free)
            waves = ShearFreeLayer.of(waves, decay, slope, diffusivity)
        return Derived(functions, von_karman, waves, known)

    def _shear_free_diffusivity(self, c_mu_shear_free: Scalar) -> Scalar:
        """Diffusivity of k over sqrt(k) l where nothing produces turbulence [1]."""
        return c_mu_shear_free / self.sigma_k

    def _shear_free_decay(
        self, known: LengthScaleConstants, c_mu_0: Scalar, c_mu_shear_free: Scalar
    ) -> tuple[Scalar, Scalar]:
        """alpha and L [1] of turbulence that is stirred at a wall without shear."""
        (_, m, n), sigma_k = self._exponents, self.sigma_k
        spread = sigma_k + 24.0 * known.sigma_shear_free * known.c_2
        both = 1.0 + 4.0 * m
        decay = -4.0 * n * safe_sqrt(sigma_k) / (both * safe_sqrt(sigma_k) - safe_sqrt(spread))
        inside = (both + 8.0 * m**2) * sigma_k + 12.0 * known.sigma_shear_free * known.c_2
        inside = inside - both * safe_sqrt(sigma_k * spread)
        return decay, c_mu_0 * safe_sqrt(c_mu_0 / c_mu_shear_free * inside / (12.0 * n**2))

    def _dissipation(
        self,
        old: Turbulence,
        new_tke: InnerFaceArray,
        derived: Derived,
        walls: Walls,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        (p, m, n), c_mu_0 = self._exponents, derived.functions.c_mu_0
        constants = self._present_constants(old, derived, walls, inputs.grid)
        if self.long_steps:
            psi, source, sink_rate = sources_at_long_steps(
                old, new_tke, constants, self._exponents, c_mu_0, dt
            )
        else:
            psi, source, sink_rate = sources_of_psi(old, constants, self._exponents, c_mu_0)
        at_bottom = self._end_condition(walls.bottom, new_tke[0], derived)
        at_surface = self._end_condition(walls.surface, new_tke[-1], derived)
        new_psi = advance(
            psi,
            self._psi_conductance(old, derived, inputs.grid),
            source,
            sink_rate,
            (at_bottom, at_surface),
            inputs,
            dt,
        )
        new_psi = at_least(new_psi, self._lowest_psi(new_tke, c_mu_0))
        return product_of_powers((c_mu_0, 3.0 + p / n), (new_psi, -1.0 / n), (new_tke, 1.5 + m / n))

    def _lowest_psi(self, tke: InnerFaceArray, c_mu_0: Scalar) -> InnerFaceArray:
        """psi that an explicit flux or source may have taken below zero is put back to.

        A psi that grows with the length is that of the shortest length, of k and epsilon at their floors; of
        the others next to nothing remains, and the floor of epsilon holds.
        """
        p, m, n = self._exponents
        if n < 0.0:
            return jnp.full_like(tke, jnp.finfo(tke.dtype).tiny)
        floor = self.turbulent_kinetic_energy_floor
        shortest = c_mu_0**3 * floor * safe_sqrt(floor) / self.dissipation_rate_floor
        return product_of_powers((c_mu_0, p), (tke, m), (shortest, n))

    def _present_constants(
        self, old: Turbulence, derived: Derived, walls: Walls, grid: Grid
    ) -> SourceConstants:
        known = _length_scale(derived)
        c_3: Any = known.c_3_stable
        if known.c_3_unstable is not None:
            c_3 = jnp.where(old.buoyancy_production > 0.0, known.c_3_unstable, c_3)
        return SourceConstants(known.c_1, self._sink_constant(old, derived, walls, grid), c_3, known.c_4)

    def _psi_conductance(self, old: Turbulence, derived: Derived, grid: Grid) -> ColumnArray:
        """Diffusivity of psi over the thickness, at the centers of inner cells [m s-1]."""
        sigma = _length_scale(derived).sigma
        return old.viscosity_at_centers * reciprocal(sigma * grid.cell_thickness[1:-1])

    def _psi_diffusivity(self, derived: Derived, waves: bool) -> Scalar:
        """Diffusivity of psi at a wall over sqrt(k) l [1]."""
        functions, known = derived.functions, _length_scale(derived)
        if waves:
            return functions.c_mu_shear_free / known.sigma_shear_free
        return functions.c_mu_0 / known.sigma

    def _end_condition(self, wall: Wall, neighbour_tke: Scalar, derived: Derived) -> EndCondition:
        """What holds for psi at a wall, or its flux from there, by the law of the layer.

        The flux is -D dpsi/dz for D = d sqrt(k) l, psi = c_mu0^p k^m l^n, k ~ (z + z_0)^alpha, l ~ z + z_0.
        """
        p, m, n = self._exponents
        condition, c_mu_0 = wall.boundary.length_scale, derived.functions.c_mu_0
        distance, tke = wall.distance(condition), neighbour_tke
        if wall.waves is not None:
            tke = at_least(wall.tke_at(distance, c_mu_0), self.turbulent_kinetic_energy_floor)
        if condition == "value":
            length = wall.length_slope * distance
            return EndCondition(value=product_of_powers((c_mu_0, p), (tke, m), (length, n)))
        logarithmic_slope = n if wall.waves is None else m * wall.waves.decay + n
        factor = -logarithmic_slope * self._psi_diffusivity(derived, wall.waves is not None)
        of_tke = product_of_powers((c_mu_0, p), (tke, m + 0.5), (wall.length_slope, n + 1.0))
        return EndCondition(flux=factor * of_tke * power(distance, n))


def _length_scale(derived: Derived) -> LengthScaleConstants:
    assert isinstance(derived.length_scale, LengthScaleConstants)
    return derived.length_scale
