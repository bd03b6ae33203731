"""What the parameters that a calibration found call for: they lie on a bound, or are where they started."""

import math
from collections.abc import Iterable, Mapping

from .history import CalibrationResult
from .parameters import FreeNumber, paths_in_short
from .priors import LogBounded, LogUniform, Normal

NEAR_A_BOUND = 0.02
"""Fraction of the range between its bounds, or of its logarithm, within which a parameter is on one."""
_STILL = 1e-3
"""Change of the unconstrained number, whose prior has the standard deviation 1, that counts as none."""
_IDLE = "did not move"


def remarks(result: CalibrationResult) -> dict[str, str]:
    """A remark by path, on those parameters that call for one.

    Those that end on a bound would go farther, and the bound decides on them; on those that did not move
    the loss does not depend, or too little for the method.
    """
    best, start = result.best, result.start
    found = {}
    for free in result.free_parameters.numbers:
        said = _on_bound(free, best[free.path]) or _still(free, start[free.path], best[free.path])
        if said:
            found[free.path] = said
    for tied in result.free_parameters.tied:
        if tied.to in found:
            found[tied.path] = f"as {tied.to}: {found[tied.to]}"
    return found


def remarks_in_short(found: Mapping[str, str], paths: Iterable[str]) -> dict[str, str]:
    """The same by the names of `in_short`: of several numbers of a vector how many there are of each."""
    short = {}
    for label, behind in paths_in_short(paths).items():
        said = [found[path] for path in behind if path in found]
        if len(behind) == 1:
            short |= dict.fromkeys([label] if said else [], "".join(said))
            continue
        still = said.count(_IDLE)
        counts = (len(said) - still, "on a bound"), (still, _IDLE)
        text = ", ".join(f"{number} of {len(behind)} {what}" for number, what in counts if number)
        short |= {label: text} if text else {}
    return short


def _on_bound(free: FreeNumber, value: float) -> str:
    prior = free.distribution
    lower, upper = prior.lower, prior.upper
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return ""
    place = (value - lower) / (upper - lower)
    if isinstance(prior, LogBounded | LogUniform):
        place = math.log(value / lower) / math.log(upper / lower)
    if NEAR_A_BOUND < place < 1.0 - NEAR_A_BOUND:
        return ""
    return f"on its lower bound, {lower:.6g}" if place < 0.5 else f"on its upper bound, {upper:.6g}"


def _still(free: FreeNumber, start: float, value: float) -> str:
    prior = free.distribution
    if isinstance(prior, Normal):  # a number of a vector with correlated ones, too
        change = (value - start) / prior.standard_deviation
    else:
        change = prior.to_unconstrained(value) - prior.to_unconstrained(start)
    return _IDLE if abs(change) < _STILL else ""
