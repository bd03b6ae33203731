"""Profiles of the water: swapped, upside down, in the wrong depth or frozen."""

import itertools
from collections.abc import Iterator

import numpy as np

from .evidence import Evidence, Samples
from .finding import Finding, rule


def density(temperature: np.ndarray, salinity: np.ndarray) -> np.ndarray:
    """Density at the surface [kg m-3]; EOS-80, Millero and Poisson (1981), Deep-Sea Res. 28A, 625-629."""
    t, s = temperature, np.maximum(salinity, 0.0)
    fresh = 999.842594 + t * (
        6.793952e-2 + t * (-9.09529e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9)))
    )
    first = 8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    second = -5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)
    return fresh + s * first + s**1.5 * second + 4.8314e-4 * s**2


def _pairs(evidence: Evidence) -> Iterator[tuple[Samples, Samples | None]]:
    """Temperatures with their salinities, or that of the start."""
    for group in (evidence.initial, evidence.observed):
        if "temperature" in group and group["temperature"].z is not None:
            yield group["temperature"], group.get("salinity")


def _heights(one: Samples) -> np.ndarray:
    assert one.z is not None
    return np.broadcast_to(one.z, one.values.shape)


@rule("unstable_profile")
def unstable_profile(evidence: Evidence) -> Iterator[Finding]:
    """Note water that is lighter below throughout."""
    for one, salt in _pairs(evidence):
        fallback = evidence.initial.get("salinity")
        constant = 35.0 if fallback is None else fallback.mean
        salinity = np.full_like(one.values, constant) if salt is None else salt.values
        if salinity.shape != one.values.shape:
            continue
        wrong, n, least = 0, 0, 0.008 if evidence.source == "LES" else 0.05
        worst = 0.0
        for temperature, s in zip(one.values[:400], salinity[:400], strict=True):
            there = np.isfinite(temperature) & np.isfinite(s)
            if there.sum() < 3:
                continue
            rho = density(temperature[there], s[there])
            steps = np.diff(rho)
            down, up = -np.minimum(steps, 0.0).sum(), np.maximum(steps, 0.0).sum()
            n += 1
            if rho[-1] - rho[0] > least and up > 4.0 * down:
                wrong, worst = wrong + 1, max(worst, float(rho[-1] - rho[0]))
        if n and wrong > 0.6 * n:
            said = (
                f"expected denser water below, got {worst:.2g} kg m-3 less at the bottom than at the surface"
            )
            cause = "profiles upside down, heights of the wrong sign, or salinity and temperature swapped"
            yield one.finding("unstable_profile", said, cause, "`positive`, or the columns")


@rule("swapped_levels")
def swapped_levels(evidence: Evidence) -> Iterator[Finding]:
    """Note a level of a mooring that is nearly always lighter than the one above it."""
    for one, salt in _pairs(evidence):
        is_fixed = one.z is not None and one.z.ndim == 1 and one.values.shape[0] >= 20
        if not is_fixed or evidence.source == "LES" or one.where.startswith("initial"):
            continue
        if salt is None and not evidence.is_fresh:
            continue  # a halocline holds warm water below cold
        salinity = np.full_like(one.values, 0.1) if salt is None else salt.values
        if salinity.shape != one.values.shape:
            continue
        yield from _lighter_levels(one, density(one.values, salinity))


def _lighter_levels(one: Samples, rho: np.ndarray) -> Iterator[Finding]:
    """A finding for the first level that is lighter than the one above in most stratified profiles."""
    stratified = np.nan_to_num(np.nanmax(rho, axis=1) - np.nanmin(rho, axis=1)) > 0.1
    rho, depth = rho[stratified], -_heights(one)[0]
    for lower, upper in itertools.pairwise(range(rho.shape[1])):
        excess = rho[:, upper] - rho[:, lower]
        excess = excess[np.isfinite(excess)]
        share = float(np.mean(excess > 0.05)) if excess.size >= 20 else 0.0
        if share > 0.6:
            said = f"expected denser water below, got {np.median(excess):.2g} kg m-3 less at "
            said += (
                f"{depth[lower]:.4g} m than at {depth[upper]:.4g} m in {share:.0%} of the stratified profiles"
            )
            cause = "sensors of another depth, or one that is off"
            yield one.finding("swapped_levels", said, cause, "the file")
            return


@rule("water_swapped")
def water_swapped(evidence: Evidence) -> Iterator[Finding]:
    """Note temperature and salinity with each other's values."""
    for one, salt in _pairs(evidence):
        if salt is None or not salt.known.size or not one.known.size:
            continue
        t, s = one.known, salt.known
        like_salinity = np.median(t) > 30.5 and np.ptp(np.quantile(t, (0.05, 0.95))) < 4.0
        if like_salinity and np.quantile(t, 0.95) < 42.0 and np.median(s) < 30.5:
            said = f"expected sea water, got {np.median(t):.3g} degC with {np.median(s):.3g} g kg-1"
            yield one.finding("water_swapped", said, "the two are swapped", "the variables")


@rule("deep_water")
def deep_water(evidence: Evidence) -> Iterator[Finding]:
    """Note warm water in the deep sea, or a whole thermocline within metres."""
    for one, _ in _pairs(evidence):
        z = _heights(one)
        there = np.isfinite(one.values) & np.isfinite(z)
        deep = there & (z < -2500.0)
        if deep.any() and not evidence.is_fresh and np.median(one.values[deep]) > 16.0:
            value = np.median(one.values[deep])
            said = f"expected less than 16 degC below 2500 m, got {value:.3g} at {-np.median(z[deep]):.0f} m"
            yield one.finding("deep_water", said, "depths in cm or feet, or degF", "`unit`")
        if one.where.startswith("initial") and evidence.observed.get("temperature") is not None:
            continue
        for temperature, heights, here in zip(one.values[:20], z[:20], there[:20], strict=True):
            if here.sum() < 6:
                continue
            span, range_ = np.ptp(heights[here]), np.ptp(temperature[here])
            steep = range_ > 4.0 and span < 7.0 or range_ > 2.5 and span < 1.5
            if evidence.is_fresh:
                steep = range_ > 4.0 and span < 0.7
            if steep and span > 0.0:
                said = f"expected a thicker thermocline, got {range_:.3g} K within {span:.2g} m"
                yield one.finding("deep_water", said, "depths in km or hm", "`unit`")
                break


@rule("frozen_water")
def frozen_water(evidence: Evidence) -> Iterator[Finding]:
    """Note liquid water below its freezing point."""
    for one, salt in _pairs(evidence):
        constant = evidence.initial["salinity"].mean if "salinity" in evidence.initial else 35.0
        s = salt.values if salt is not None and salt.values.shape == one.values.shape else constant
        depth = np.maximum(-_heights(one), 0.0)
        # Linear in salinity and pressure; within 0.1 K of TEOS-10 up to 40 g/kg.
        freezing = -0.0575 * s - 7.53e-4 * depth
        excess = freezing - one.values
        excess = excess[np.isfinite(excess)]
        if excess.size and np.quantile(excess, 0.98 if excess.size > 50 else 1.0) > 0.45:
            said = f"expected water above its freezing point, got up to {np.max(excess):.2g} K below"
            cause = "air temperature, a missing code, or a salinity in another unit"
            yield one.finding("frozen_water", said, cause, "the variable")


@rule("salinity_unit")
def salinity_unit(evidence: Evidence) -> Iterator[Finding]:
    """Note salinity of some hundredths in the sea."""
    for group in (evidence.initial, evidence.observed):
        one = group.get("salinity")
        if one is None or not one.known.size or evidence.area is not None:
            continue
        low, high = np.quantile(one.known, (0.05, 0.95))
        if 0.015 < low and high < 0.045 and (evidence.z_face[0] < -60.0 or 0.03 < low and high < 0.041):
            said = f"expected g kg-1, got {low:.3g} to {high:.3g}"
            yield one.finding("salinity_unit", said, "kg kg-1", "`unit`")
        elif one.z is not None and 2.5 < low and high < 7.0 and evidence.z_face[0] < -150.0:
            said = f"expected salinity of a sea deeper than 150 m, got {low:.3g} to {high:.3g}"
            yield one.finding("salinity_unit", said, "conductivity in S m-1", "the variable")


@rule("currents_swapped")
def currents_swapped(evidence: Evidence) -> Iterator[Finding]:
    """Note a stress or wind given as current, or the same values for both components."""
    for group, one, other in (
        (evidence.observed, "u", "v"),
        (evidence.weather, "wind_u", "wind_v"),
        (evidence.fluxes, "stress_u", "stress_v"),
    ):
        if one in group and other in group and group[one].values.shape == group[other].values.shape:
            same = group[one]
            if same.varies and same.known.size > 5 and np.array_equal(same.values, group[other].values, True):
                said = f"expected another component than {one}, got the same values"
                yield group[other].finding("currents_swapped", said, "one variable for both", "its name")
