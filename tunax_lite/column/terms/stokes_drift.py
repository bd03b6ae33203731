"""Stokes drift of surface waves, which enters the Coriolis force and the production of turbulence."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from ..._types import FaceArray, Scalar, ScalarLike, SeriesOrScalar, array_field, as_float_array, parameter
from ...declarations import setting
from ...numerics.elementary import at_least, gradient, safe_sqrt, vector_norm
from ...numerics.regridding import regrid
from ..grid import Grid
from ..state import State
from ..time_series import TimeSeries
from .base import AbstractTerm, CellDrift, Column, SurfaceWaves, Velocity


class AbstractStokesDrift(AbstractTerm):
    """Stokes drift by height and time; a term, so that `Case.on` remaps it. `Waves` applies it."""

    @abc.abstractmethod
    def at(self, grid: Grid, time: ScalarLike) -> Velocity:
        """Mean eastward and northward drift of the cells [m s-1]."""

    @abc.abstractmethod
    def at_surface(self, time: ScalarLike) -> tuple[Scalar, Scalar] | None:
        """Drift at the surface [m s-1]; `None` if only cell means are known."""


class Waves(AbstractTerm):
    """Surface waves.

    Args:
        drift: their Stokes drift.
        height: significant height [m], for Langmuir turbulence in KPP.
        have_shear: whether the shear of the drift produces turbulence.
        in_velocity: whether the velocity of the water includes the drift.
    """

    drift: AbstractStokesDrift
    height: TimeSeries[SeriesOrScalar] | None = None
    have_shear: bool = setting(True)
    in_velocity: bool = setting(False)

    def stokes_drift(self, grid: Grid, time: ScalarLike) -> CellDrift:
        return CellDrift(*self.drift.at(grid, time), self.in_velocity)

    def surface_waves(self, state: State, column: Column) -> SurfaceWaves:
        drift, grid = column.stokes_drift, column.grid
        assert drift is not None  # `stokes_drift` of this term has set it
        drift_shear = [gradient(values, grid) for values in (drift.u, drift.v)]
        if not self.have_shear:
            drift_shear = [jnp.zeros_like(component) for component in drift_shear]
        return SurfaceWaves(
            drift=(drift.u, drift.v),
            at_surface=self.drift.at_surface(column.time),
            shear=gradient(state.u, grid) * drift_shear[0] + gradient(state.v, grid) * drift_shear[1],
            shear_squared=drift_shear[0] * drift_shear[0] + drift_shear[1] * drift_shear[1],
            height=None if self.height is None else self.height.at(column.time),
            in_velocity=self.in_velocity,
        )


class DriftVector(eqx.Module):
    """Eastward and northward Stokes drift at the surface [m s-1]."""

    u: SeriesOrScalar = array_field(0, converter=as_float_array)
    v: SeriesOrScalar = array_field(0, converter=as_float_array)


class StokesDrift(AbstractStokesDrift):
    """Surface drift over time that decays exponentially with depth, U_s exp(z / d).

    Args:
        series: drift at the surface [m s-1].
        decay_depth: d, e-folding depth [m].
        depths: d over time, overrides `decay_depth`.
    """

    series: TimeSeries[DriftVector]
    decay_depth: Scalar = parameter(5.0, unit="m", valid_range=(1e-3, 1e4))
    depths: TimeSeries[SeriesOrScalar] | None = None

    def at(self, grid: Grid, time: ScalarLike) -> Velocity:
        surface, depth = self.at_surface(time), self.decay_depth
        if self.depths is not None:
            depth = at_least(self.depths.at(time), 1e-3)
        at_faces = depth * jnp.exp(grid.z_face / depth)
        profile = (at_faces[1:] - at_faces[:-1]) / grid.cell_thickness
        return surface[0] * profile, surface[1] * profile

    def at_surface(self, time: ScalarLike) -> tuple[Scalar, Scalar]:
        now = self.series.at(time)
        return now.u, now.v


class DriftVectors(eqx.Module):
    """Eastward and northward Stokes drift of the cells over time [m s-1], `(n_times, n_cells, *batch)`."""

    u: Float[Array, "..."] = array_field(1)
    v: Float[Array, "..."] = array_field(1)


class DriftProfiles(AbstractStokesDrift):
    """Measured or computed profiles over time.

    Args:
        series: drift of the cells [m s-1], `(n_times, n_cells, *batch)` of both components.
        surface: drift at the surface [m s-1], if known.
    """

    series: TimeSeries[DriftVectors]
    surface: TimeSeries[DriftVector] | None = None

    def at(self, grid: Grid, time: ScalarLike) -> Velocity:
        now = self.series.at(time)
        return now.u, now.v

    def on(self, source: Grid, target: Grid) -> "DriftProfiles":
        old, new = np.asarray(source.z_face, dtype=float), np.array(target.z_face, dtype=float)
        new[[0, -1]] = old[[0, -1]]  # ends that differ by round-off would leave target cells uncovered
        matrix = jnp.asarray(regrid(np.eye(old.size - 1), old, new))
        moved = jax.tree.map(lambda x: jnp.einsum("ij,tj...->ti...", matrix, x), self.series.values)
        return DriftProfiles(TimeSeries(self.series.time, moved, self.series.name), self.surface)

    def at_surface(self, time: ScalarLike) -> tuple[Scalar, Scalar] | None:
        if self.surface is None:
            return None
        now = self.surface.at(time)
        return now.u, now.v


class WindVector(eqx.Module):
    """Eastward and northward wind at 10 m [m s-1]."""

    u: SeriesOrScalar = array_field(0, converter=as_float_array)
    v: SeriesOrScalar = array_field(0, converter=as_float_array)


class WindSeaDrift(AbstractStokesDrift):
    """Drift of a fully developed wind sea from the wind at 10 m, with directional spreading.

    The surface drift is a fixed fraction of the wind. The transport is that of a Pierson-Moskowitz spectrum;
    the profile is that of a Phillips spectrum with the same surface drift and transport.

    Args:
        series: the wind [m s-1].
        gravity: g [m s-2].

    Source: Li et al. (2017), Ocean Modell. 113, 95-114; Breivik et al. (2016), Ocean Modell. 100, 49-56;
    constants of GOTM.
    """

    series: TimeSeries[WindVector]
    gravity: Scalar = parameter(9.81, unit="m s-2", valid_range=(1.0, 30.0))

    def at(self, grid: Grid, time: ScalarLike) -> Velocity:
        wind = self.series.at(time)
        wavenumber = self._wavenumber(at_least(vector_norm(wind.u, wind.v), 1e-3))
        integral = _drift_above(-wavenumber * grid.z_face)
        profile = _SHARE_OF_WIND * (integral[:-1] - integral[1:]) / (wavenumber * grid.cell_thickness)
        return wind.u * profile, wind.v * profile

    def at_surface(self, time: ScalarLike) -> tuple[Scalar, Scalar]:
        wind = self.series.at(time)
        return _SHARE_OF_WIND * wind.u, _SHARE_OF_WIND * wind.v

    def _wavenumber(self, speed: Scalar) -> Scalar:
        """Peak wavenumber of the Phillips spectrum [m-1] that has the surface drift and the transport."""
        wave_height = 0.0246 * speed**2
        frequency = _MEAN_OVER_PEAK * 0.877 * self.gravity / (2.0 * math.pi * 1.075 * speed)  # U at 19.5 m
        transport = 0.125 * math.pi * _KEPT_TRANSPORT * frequency * wave_height**2
        return 0.176 * _SHARE_OF_WIND * speed / transport


_SHARE_OF_WIND, _MEAN_OVER_PEAK, _KEPT_TRANSPORT, _SPREAD = 0.0162, 1.296, 0.667, 2.56
"""Ratios [1]: surface drift to wind at 10 m; mean to peak frequency of a Pierson-Moskowitz spectrum; drift
transport with directional spreading to that without; wavenumber where waves spread to that of the peak."""


def _drift_above(x: FaceArray) -> FaceArray:
    """Transport above a depth times wavenumber over surface drift [1], for x = k |z|: Li et al. (2017)."""
    spread = _SPREAD * x
    return (
        0.715 * x
        + (0.84 * x - 0.151) * jnp.expm1(-2.0 * x)
        - (0.84 * x + 0.0591) * _tail(x)
        - (0.125 * x + 0.0632 / _SPREAD) * jnp.expm1(-2.0 * spread)
        + (0.125 * x + 0.0946 / _SPREAD) * _tail(spread)
    )


def _tail(x: FaceArray) -> FaceArray:
    """sqrt(2 pi x) erfc(sqrt(2 x)); zero with zero gradient at the surface."""
    root = safe_sqrt(2.0 * x)
    return math.sqrt(math.pi) * root * erfc(root)
