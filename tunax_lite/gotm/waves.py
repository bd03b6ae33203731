"""The Stokes drift of surface waves that a configuration of GOTM prescribes."""

import jax.numpy as jnp
import numpy as np

from ..io.series import Series, as_series, on_common_times
from ..terms import (
    AbstractStokesDrift,
    DriftProfiles,
    DriftVector,
    DriftVectors,
    StokesDrift,
    WindSeaDrift,
    WindVector,
)
from ..time_series import TimeSeries
from .inputs import Inputs


def read_stokes_drift(inputs: Inputs) -> AbstractStokesDrift | None:
    """Drift of the shape of `us`, which is that of `vs` too."""
    settings = inputs.settings
    group = "waves.stokes_drift"
    shape = settings[f"{group}.us.method"]
    shears = {name: settings[f"{group}.{name}.method"] for name in ("dusdz", "dvsdz")}
    if shape != "file":
        for name in ("us", "vs", *shears):
            settings.input(f"{group}.{name}")
    # With `off` GOTM has what would come from a file and does not, nothing.
    if shape == "off" and shears["dusdz"] != "file":
        settings.without_effect(group, f"{group}.us.method is off")
        return None
    used = {"exponential": ("us0", "vs0", "exponential"), "empirical": ("empirical",)}.get(shape, ())
    for name in ("us0", "vs0", "exponential", "empirical"):
        if name not in used:
            settings.without_effect(f"{group}.{name}", f"{group}.us.method is {shape}")
    if shape == "off" or shears["dusdz"] != "us":
        settings.refuse(
            f"{group}.dusdz.method",
            f"a shear of {shears['dusdz']} with a drift of {shape} is not supported; it must be that of the "
            "drift, dusdz.method: us",
        )
    if shape == "empirical":
        return _wind_drift(inputs, group)
    return _drift_profiles(inputs, group) if shape == "file" else _exponential_drift(inputs, group)


def _exponential_drift(inputs: Inputs, group: str) -> AbstractStokesDrift:
    settings = inputs.settings
    depth = inputs.scalar(f"{group}.exponential.ds")
    if isinstance(depth, Series):
        settings.refuse(
            f"{group}.exponential.ds.method", "a depth that varies is not supported; give a constant"
        )
        depth = float(np.mean(depth.values))
    surface = {"u": inputs.scalar(f"{group}.us0"), "v": inputs.scalar(f"{group}.vs0")}
    time, values = as_series(surface, inputs.period.length)
    return StokesDrift(TimeSeries(time, DriftVector(**values), "Stokes drift"), decay_depth=depth)


def _wind_drift(inputs: Inputs, group: str) -> AbstractStokesDrift:
    """Drift of the wind of its own inputs, or of that of the air-sea fluxes."""
    settings = inputs.settings
    has_own = settings[f"{group}.empirical.uwnd.method"] != "off"
    paths = (
        (f"{group}.empirical.uwnd", f"{group}.empirical.vwnd") if has_own else ("surface.u10", "surface.v10")
    )
    if has_own:
        paths = (f"{group}.empirical.uwnd", f"{group}.empirical.vwnd")
    else:
        settings.without_effect(f"{group}.empirical", f"{group}.empirical.uwnd.method is off")
    wind: dict[str, Series | float] = {"u": 0.0, "v": 0.0}
    if has_own or settings["surface.fluxes.method"] != "off":
        wind = {"u": inputs.scalar(paths[0]), "v": inputs.scalar(paths[1])}
    else:
        settings.note(
            f"{group}.us.method",
            "GOTM reads no wind with surface.fluxes.method off; there is no drift here too",
        )
    time, values = as_series(wind, inputs.period.length)
    gravity = settings["physical_constants.gravity"]
    return WindSeaDrift(TimeSeries(time, WindVector(**values), "wind of the waves"), gravity=gravity)


def _drift_profiles(inputs: Inputs, group: str) -> AbstractStokesDrift:
    profiles = {"u": inputs.profile(f"{group}.us"), "v": inputs.profile(f"{group}.vs")}
    time, values = on_common_times(profiles, inputs.period.length)
    drift = DriftVectors(**{name: jnp.asarray(value) for name, value in values.items()})
    return DriftProfiles(TimeSeries(jnp.asarray(time), drift, "Stokes drift"))
