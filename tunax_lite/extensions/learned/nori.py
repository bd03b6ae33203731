"""NORi: coefficients of the Richardson number, and networks for the entrainment that they lack.

    nu = nu_0 + (nu_s - nu_0) max(1 - Ri / Ri_c, 0)    where Ri >= 0
    nu = nu_s + (nu_c - nu_s) tanh(-Ri / d)            where Ri < 0

with Ri = N² / (S² + e), and kappa = nu / Pr of each of the three coefficients nu_0, nu_s (both with Pr_s) and
nu_c (Pr_c). Under cooling two networks add fluxes of temperature and salinity at the base of the layer, from
five faces below to nine above the deepest turbulent one. Their inputs, at a face and two neighbours on either
side, are arctan Ri and the gradients of temperature, salinity and density, and the buoyancy flux at the
surface.

The layer reaches down to the deepest face with Ri < Ri_c above which, itself included, at least half of the
faces are so, and four fifths beyond the 24 uppermost ones. Faces are counted, as the authors do, and were
8 m apart in all that the networks have seen.

Source: Lee et al. (2025), arXiv:2512.04452; numbers and order of the faces of NORiOceanParameterization.jl.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import FaceArray, FieldValue, InnerFaceArray, Scalar, ScalarLike, parameter
from ...closures import AbstractCloState, AbstractClosure, AbstractStepper, ClosureInputs
from ...column.grid import Grid
from ...column.state import State
from ...column.terms import AbstractTerm, Column, Tendency
from ...declarations import named, setting
from ...numerics.elementary import at_least, at_most, gradient, reciprocal, with_end_faces
from .weights import N_SAMPLED, Layer, Networks, read_networks

PUBLISHED = "nori:networks"
"""Name of the published networks in the manifest."""
_TRAINED = 8.0  # thickness of the cells [m]
_BELOW, _ABOVE = 5, 9  # faces with a flux, from the deepest turbulent one
_NEAR_SURFACE = 24  # uppermost faces, above which half of the faces must be turbulent
_BEYOND = 4  # turbulent faces per other one further down


class EntrainmentFlux(AbstractTerm):
    """Fluxes of temperature [K m s-1] and salinity [g kg-1 m s-1], positive upward and 0 at both ends."""

    temperature: FaceArray
    salinity: FaceArray

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        return {
            "temperature": Tendency(downward=-self.temperature[1:-1]),
            "salinity": Tendency(downward=-self.salinity[1:-1]),
        }


class NORiState(AbstractCloState):
    """Eddy coefficients [m2 s-1], and the fluxes of the networks; `None` without them."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    entrainment: EntrainmentFlux | None

    def salt_diffusivity(self) -> FaceArray | None:
        return None

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        return () if self.entrainment is None else (self.entrainment,)


@named("nori")
class NORi(AbstractClosure[NORiState]):
    """Coefficients of the Richardson number, corrected by networks that were trained in cells of 8 m.

    Args:
        background_viscosity: nu_0 where Ri exceeds Ri_c [m2 s-1].
        shear_viscosity: nu_s at Ri = 0 [m2 s-1].
        convective_viscosity: nu_c far below Ri = 0 [m2 s-1].
        shear_prandtl_number, convective_prandtl_number: Pr_s and Pr_c [1].
        critical_richardson_number: Ri_c [1].
        convective_richardson_scale: d [1].
        shear_squared_offset: e [s-2].
        networks: file of the networks, or its name in the manifest of the package; without one there is no
            flux besides that down the gradient.

    Source: Lee et al. (2025), arXiv:2512.04452; constants of NORiOceanParameterization.jl.
    """

    background_viscosity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    shear_viscosity: Scalar = parameter(0.0615914063656973, unit="m2 s-1", valid_range=(0.0, 10.0))
    convective_viscosity: Scalar = parameter(0.7612393837759673, unit="m2 s-1", valid_range=(0.0, 100.0))
    shear_prandtl_number: Scalar = parameter(1.0842017486284887, valid_range=(0.05, 20.0))
    convective_prandtl_number: Scalar = parameter(0.1749433627329692, valid_range=(0.05, 20.0))
    critical_richardson_number: Scalar = parameter(0.4366901962987793, valid_range=(0.01, 5.0))
    convective_richardson_scale: Scalar = parameter(0.009695724988589002, valid_range=(1e-4, 10.0))
    shear_squared_offset: Scalar = parameter(1e-11, unit="s-2", valid_range=(1e-14, 1e-6))
    networks: str | None = setting(None)

    @classmethod
    def published(cls, **others: FieldValue) -> "NORi":
        """With the networks that the authors publish; other arguments replace constants."""
        return cls(**({"networks": PUBLISHED} | others))

    def on_grid(self, grid: Grid) -> tuple[str, ...]:
        """A note if cells differ from those of the training by more than a tenth."""
        thickness = np.diff(np.asarray(grid.z_face), axis=0)
        if self.networks is None or np.all(np.abs(thickness / _TRAINED - 1.0) < 0.1):
            return ()
        found = " to ".join(sorted({f"{each:.3g}" for each in (thickness.min(), thickness.max())}, key=float))
        return (
            f"networks of nori: expected cells of {_TRAINED:g} m, in which they were trained, got {found} m; "
            "their fluxes act over as many cells, so that errors may be larger than documented",
        )

    def prepare(self) -> "NORiStepper":
        return NORiStepper(self, None if self.networks is None else read_networks(self.networks))

    def richardson_number(self, inputs: ClosureInputs) -> InnerFaceArray:
        """Ri [1]."""
        shear_squared = at_least(inputs.shear_squared, 0.0) + self.shear_squared_offset
        return inputs.buoyancy_frequency_squared * reciprocal(shear_squared)

    def coefficients(self, ri: InnerFaceArray) -> tuple[InnerFaceArray, InnerFaceArray]:
        """nu and kappa [m2 s-1]."""
        fading = at_least(1.0 - at_least(ri, 0.0) * reciprocal(self.critical_richardson_number), 0.0)
        overturning = jnp.tanh(at_least(-ri, 0.0) * reciprocal(self.convective_richardson_scale))
        of_shear, of_convection = map(reciprocal, (self.shear_prandtl_number, self.convective_prandtl_number))
        coefficients = self.background_viscosity, self.shear_viscosity, self.convective_viscosity
        scalars = (of_shear, of_shear, of_convection)
        found = []
        for background, shear, convective in (
            coefficients,
            tuple(nu * inverse for nu, inverse in zip(coefficients, scalars, strict=True)),
        ):
            stable = background + (shear - background) * fading
            found.append(jnp.where(ri < 0.0, shear + (convective - shear) * overturning, stable))
        return found[0], found[1]


class NORiStepper(AbstractStepper[NORiState]):
    """The coefficients, and the fluxes of the networks."""

    closure: NORi
    networks: Networks | None

    def init(self, inputs: ClosureInputs) -> NORiState:
        ri = self.closure.richardson_number(inputs)
        viscosity, diffusivity = map(with_end_faces, self.closure.coefficients(ri))
        fluxes = None if self.networks is None else self._fluxes(self.networks, ri, inputs)
        return NORiState(viscosity, diffusivity, fluxes)

    def step(self, clo_state: NORiState, inputs: ClosureInputs, dt: ScalarLike) -> NORiState:
        return self.init(inputs)

    def _fluxes(self, networks: Networks, ri: InnerFaceArray, inputs: ClosureInputs) -> EntrainmentFlux:
        state, grid, eos = inputs.state, inputs.grid, inputs.equation_of_state
        cooling = -inputs.buoyancy_flux_above[0]
        per_buoyancy = eos.reference_density * reciprocal(eos.gravity)
        profiles = {
            "temperature": gradient(state.temperature, grid),
            "salinity": gradient(state.salinity, grid),
            "density": -per_buoyancy * inputs.buoyancy_frequency_squared,
        }
        scaled = [
            (profiles[name] - scale.mean) / scale.deviation for name, scale in networks.gradients.items()
        ]
        base = base_of_layer(ri, self.closure.critical_richardson_number)
        seen = sampled(jnp.stack([jnp.arctan(ri), *scaled]), base)
        surface = (cooling - networks.buoyancy_flux.mean) / networks.buoyancy_flux.deviation
        seen = jnp.concatenate([seen, jnp.broadcast_to(surface, seen[:1].shape)])
        acts = jnp.where((cooling > 0.0) & (base < ri.shape[0]), 1.0, 0.0)

        def flux(layers: tuple[Layer, ...], unit: float) -> FaceArray:
            return with_end_faces(spread(acts * unit * evaluated(layers, seen), base, ri.shape[0]))

        return EntrainmentFlux(
            flux(networks.temperature, networks.temperature_flux),
            flux(networks.salinity, networks.salinity_flux),
        )


Numbers = Float[Array, "..."]  # one number per column, or per profile, place in the window, and column
_N_WINDOW = _BELOW + _ABOVE + 1


def base_of_layer(ri: InnerFaceArray, critical: Scalar) -> Numbers:
    """Number of the deepest inner face of the layer, from the bottom; their count if there is no layer."""
    turbulent = jnp.where(ri < critical, 1.0, 0.0)
    from_top = jnp.cumsum(turbulent[::-1], axis=0)[::-1]
    n = ri.shape[0]
    number = jnp.arange(n, dtype=ri.dtype).reshape(-1, *(1,) * (ri.ndim - 1))
    others = n - number - from_top
    enough = (from_top >= others) & ((number >= n - _NEAR_SURFACE) | (from_top >= _BEYOND * others))
    return jnp.min(jnp.where((turbulent > 0.0) & enough, number, float(n)), axis=0)


def _window(base: Numbers, first: int, n: int) -> Numbers:
    """Numbers of `n` faces from `first` relative to the base."""
    return base + jnp.arange(first, first + n, dtype=base.dtype).reshape(-1, *(1,) * base.ndim)


def _at(faces: Numbers, n: int) -> Numbers:
    """1 at the given faces of `n`, which are the second axis: products with it stand for a gather."""
    number = jnp.arange(n, dtype=faces.dtype).reshape(-1, *(1,) * (faces.ndim - 1))
    return jnp.where(faces[:, None] == number, 1.0, 0.0)


def sampled(profiles: Numbers, base: Numbers) -> Numbers:
    """Profiles at the faces of the window and two neighbours on either side; beyond the ends, at the ends.

    From (profile, face) to (profile and neighbour, face of the window).
    """
    n, reach = profiles.shape[1], N_SAMPLED // 2
    faces = _window(base, -_BELOW - reach, _N_WINDOW + 2 * reach)
    at = _at(at_most(at_least(faces, 0.0), n - 1.0), n)
    found = jnp.sum(at * profiles[:, None], axis=2)
    neighbours = [found[:, i : i + _N_WINDOW] for i in range(N_SAMPLED)]
    return jnp.stack(neighbours, axis=1).reshape(-1, *found[0, :_N_WINDOW].shape)


def evaluated(layers: tuple[Layer, ...], inputs: Numbers) -> Numbers:
    """The output of a network at each face of the window; `inputs` has its inputs in front."""
    signal = inputs
    for i, layer in enumerate(layers):
        weight, offset = (jnp.asarray(each, inputs.dtype) for each in layer)
        signal = jnp.tensordot(weight, signal, 1, precision=jax.lax.Precision.HIGHEST)
        signal = signal + offset.reshape(-1, *(1,) * (signal.ndim - 1))
        signal = signal if i == len(layers) - 1 else at_least(signal, 0.0)
    return signal[0]


def spread(values: Numbers, base: Numbers, n: int) -> InnerFaceArray:
    """Values of the window at their places among `n` inner faces, 0 elsewhere."""
    return jnp.sum(_at(_window(base, -_BELOW, _N_WINDOW), n) * values[:, None], axis=0)
