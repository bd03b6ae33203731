"""Profiles of the water: swapped, upside down, in the wrong depth, or one variable for two."""

from collections.abc import Iterator

import gsw
import numpy as np

from .finding import Finding, rule
from .inputs import Evidence, Samples


def _pairs(evidence: Evidence) -> Iterator[tuple[Samples, Samples | None]]:
    """Temperatures with their salinities, or that of the start."""
    for group in (evidence.initial, evidence.observed):
        if "temperature" in group and group["temperature"].z is not None:
            yield group["temperature"], group.get("salinity")


@rule
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
            rho = gsw.rho(s[there], temperature[there], 0.0)
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


@rule
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


@rule
def currents_swapped(evidence: Evidence) -> Iterator[Finding]:
    """Note the same values for both components."""
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
