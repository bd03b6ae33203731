"""Rotation against latitude, and positions of instruments."""

from collections.abc import Iterator

import numpy as np

from .finding import Finding, Position, rule
from .inputs import DAY, Evidence

_TWICE_ROTATION = 1.4584e-4
_FARTHEST = 300.0
"""Distance of an instrument from the place of a case [km] that is noted; floats drift."""


@rule
def coriolis_parameter(evidence: Evidence) -> Iterator[Finding]:
    """Note rotation that is not that of the latitude."""
    f, latitude = evidence.coriolis_parameter, evidence.latitude
    where, cause = "coriolis_parameter", ""
    if f == 0.0:
        return
    said = f"got {f:.4g} s-1"
    if latitude is not None:
        own = _TWICE_ROTATION * float(np.sin(np.deg2rad(latitude)))
        said = f"expected {own:.4g} s-1 at {latitude:g} N, {said}"
        if abs(f - own) < 0.06 * abs(own) + 2e-6:
            return
        causes = {
            "the other hemisphere": -own,
            "half of it, without the factor 2": 0.5 * own,
            "per hour": 3600.0 * own,
            "per day": DAY * own,
            "latitude in radians": _TWICE_ROTATION * float(np.sin(np.deg2rad(np.deg2rad(latitude)))),
            "the sine of degrees taken as radians": _TWICE_ROTATION * float(np.sin(latitude)),
        }
        near = [name for name, value in causes.items() if abs(f - value) < 0.06 * abs(value)]
        cause = near[0] if near else "a latitude of another place or unit"
    elif abs(f) > 1.02 * _TWICE_ROTATION:
        said, cause = f"expected at most {_TWICE_ROTATION:.4g} s-1 on Earth, {said}", "per hour or per day"
    elif abs(f) < 3e-7:
        said, cause = f"expected 0, or at least 3e-7 s-1, {said}", "another unit"
    if cause:
        yield Finding("coriolis_parameter", "coriolis_parameter", where, said, cause, "`latitude`")


def distance(latitude: float, longitude: float, other: tuple[float, float]) -> float:
    """Of two positions [km], on a sphere."""
    a, b = np.deg2rad([latitude, other[0]])
    c = np.deg2rad(other[1] - longitude)
    h = np.sin((b - a) / 2.0) ** 2 + np.cos(a) * np.cos(b) * np.sin(c / 2.0) ** 2
    return float(2.0 * 6371.0 * np.arcsin(np.sqrt(min(1.0, h))))


def far_from(given: Position, evidence: Evidence) -> Iterator[Finding]:
    """A finding if an instrument never was near the site of a case."""
    if evidence.latitude is None or evidence.longitude is None:
        return
    where, site = given.where, (evidence.latitude, evidence.longitude)
    every = np.stack(
        [np.ravel(np.asarray(each, dtype=float)) for each in (given.latitude, given.longitude)], 1
    )
    every = every[np.isfinite(every).all(axis=1)]
    if not len(every):
        return
    latitude, longitude = min(((float(a), float(b)) for a, b in every), key=lambda one: distance(*one, site))
    away = distance(latitude, longitude, site)
    if not np.isfinite(away) or away < _FARTHEST:
        return
    cause = "a file of another place, or a wrong position in the configuration"
    swapped = abs(longitude) <= 90.0 and distance(longitude, latitude, site) < 100.0
    if swapped:
        cause = "latitude and longitude are swapped"
    elif distance(latitude, -longitude, site) < 100.0 or distance(-latitude, longitude, site) < 100.0:
        cause = "a latitude or longitude of the wrong sign"
    said = f"expected an instrument at the site, {site[0]:g} N {site[1]:g} E, got {latitude:.4g} N "
    said += f"{longitude:.4g} E, {away:.0f} km from it"
    yield Finding("position", "latitude", where, said, cause, "`latitude` and `longitude`")
