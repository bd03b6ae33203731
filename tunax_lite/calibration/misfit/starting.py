"""A case that starts later: from the profiles that were observed then."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from ...case import Case
from ...forcing import ConstantForcing
from ...observations import Observations
from .sampled import on_model_cells


def starting_at(case: Case, observations: Observations, time: float) -> tuple[Case, Observations]:
    """The case from an observed time on, with the observed profiles as initial state.

    A large-eddy simulation begins without turbulence: its first minutes are not those of a column model.

    Args:
        case: a single column under constant fluxes, without anything prescribed that changes in time.
        observations: of the case, on cells, without missing values at that time.
        time: of the new start [s], one of the observed times.

    Returns:
        Case and observations, whose times count from the new start.

    Raises:
        ValueError: fluxes that change, or no complete profile at that time.
    """
    if time == 0.0:
        return case, observations
    if not isinstance(case.forcing, ConstantForcing) or jax.tree.leaves(case.interior):
        raise ValueError(
            f"{case.name}: expected constant fluxes and nothing prescribed inside, for a case that starts "
            "later, got others; choose `start_time` of the case, or initial_time 0."
        )
    times = np.asarray(observations.time, dtype=float)
    nearest = int(np.argmin(np.abs(times - time)))
    if abs(times[nearest] - time) > 1e-6 * max(time, 1.0) or not time < case.duration:
        raise ValueError(
            f"{case.name}: expected an initial_time [s] with observed profiles and before the end of the "
            f"case, {case.duration:g} s, got {time:g} s; the nearest is at {times[nearest]:g} s."
        )
    now = slice(nearest, nearest + 1)
    only = dataclasses.replace(
        observations,
        time=observations.time[now],
        z=observations.z,
        profiles={name: values[now] for name, values in observations.profiles.items()},
        series={},
    )
    state = case.initial_state
    initial = {
        name: on_model_cells(case, only, name)[0]
        for name in ("temperature", "salinity", "u", "v")
        if name in observations.profiles
    }
    for name, values in initial.items():
        if not np.isfinite(values).all():
            raise ValueError(
                f"{case.name}: expected {name} on all cells at {time:g} s, to start from, got gaps; "
                "choose another initial_time."
            )
    dtype = state.temperature.dtype
    initial = {name: jnp.asarray(values, dtype) for name, values in initial.items()}
    state = dataclasses.replace(state, **initial)
    moved = dataclasses.replace(case, initial_state=state, duration=case.duration - time, start_time=None)
    later = slice(nearest, None)
    return moved, dataclasses.replace(
        observations,
        time=observations.time[later] - time,
        z=observations.z[later] if observations.moves else observations.z,
        profiles={name: values[later] for name, values in observations.profiles.items()},
        series={name: values[later] for name, values in observations.series.items()},
    )
