"""Where and when: rotation against latitude, positions of instruments, dates, streams against the lake."""

import datetime
from collections.abc import Iterator

import numpy as np

from .evidence import DAY, Evidence
from .finding import Finding, Position, rule

_TWICE_ROTATION = 1.4584e-4
_FARTHEST = 300.0
"""Distance of an instrument from the place of a case [km] that is noted; floats drift."""


@rule("coriolis_parameter")
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


@rule("dates")
def dates(evidence: Evidence) -> Iterator[Finding]:
    """Note a case before 1850 or in the far future."""
    if evidence.start is None or evidence.start.year == 1:
        return
    latest = datetime.datetime.now().year + 2
    if not 1850 <= evidence.start.year <= max(latest, 2101):
        said = f"expected a year from 1850 on, got {evidence.start.isoformat()}"
        yield Finding(
            "dates", "time", "start_time", said, "the unit or the epoch of the time", "`start_time`"
        )


@rule("discharge")
def discharge(evidence: Evidence) -> Iterator[Finding]:
    """Note streams that replace the lake within a day."""
    if evidence.area is None or not evidence.discharge:
        return
    area, thickness = evidence.area, np.diff(evidence.z_face)
    volume = float(np.sum(0.5 * (area[1:] + area[:-1]) * thickness))
    for one in evidence.discharge.values():
        flow = float(np.quantile(np.abs(one.known), 0.5)) if one.known.size else 0.0
        if flow > 0.0 and volume / flow < 0.5 * DAY:
            said = f"expected days to fill the lake of {volume:.2g} m3, got {flow:.3g} m3 s-1, "
            said += f"which takes {volume / flow / 3600.0:.2g} h"
            yield one.finding("discharge", said, "l s-1, m3 per day, or a column", "`unit`")


@rule("basin")
def basin(evidence: Evidence) -> Iterator[Finding]:
    """Note a lake that is deeper than wide."""
    if evidence.area is None:
        return
    depth, top = -float(evidence.z_face[0]), float(evidence.area[-1])
    if (radius := float(np.sqrt(top / np.pi))) < depth:
        said = (
            f"expected a lake wider than deep ({depth:.3g} m), got {top:.3g} m2, a radius of {radius:.2g} m"
        )
        cause, key = "areas in km2 or hectares", "`units: {area: km2}`"
        yield Finding("basin", "area", "hypsography", said, cause, key)


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
