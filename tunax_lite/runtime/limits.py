"""What is refused unless it is asked for: computations that would not end, and more than the memory holds."""

import shutil
from pathlib import Path

from .memory import free_on_host

MOST_STEPS = 1e9
"""Time steps of one run."""
MOST_CELLS = 100_000
"""Of a column."""
_COUNTABLE_STEPS = 2**31 - 1
"""The counter of steps has 32 bits."""
_SMALL = 1e6
"""An array of so few bytes is allocated without asking what is free."""
ADVICE = "--no-limits before the name of the command starts it all the same"
_lifted = False


class TooLargeError(ValueError):
    """A computation beyond the limits; says how many steps or bytes it would take."""


def lift_limits(lifted: bool) -> None:
    """Whether this process starts what is beyond the limits."""
    global _lifted
    _lifted = lifted


def check_steps(duration: float, dt: float) -> None:
    """Raise `TooLargeError` for a run of more than 1e9 steps, or of more than can be counted.

    Args:
        duration: of the run [s].
        dt: time step [s], positive.
    """
    n_steps = float(duration) / float(dt)
    if n_steps > MOST_STEPS and not _lifted:
        raise TooLargeError(
            f"expected at most {MOST_STEPS:g} time steps, got {n_steps:.3g}: {duration:g} s in steps of "
            f"{dt:g} s; choose longer steps or a shorter run ({ADVICE})."
        )
    if n_steps > _COUNTABLE_STEPS:
        raise TooLargeError(
            f"expected at most {_COUNTABLE_STEPS} time steps, which are all that are counted, got "
            f"{n_steps:.3g}; choose longer steps, or go on from the end of a shorter run (--restart)."
        )


def check_memory(n_bytes: int | float, what: str) -> None:
    """Raise `TooLargeError` for more bytes than the memory of this process holds; `what` needs them."""
    if n_bytes < _SMALL:  # asking opens files of the system: longer than reading such an array takes
        return
    try:
        free = free_on_host()
    except RuntimeError:  # a system that does not say
        return
    if n_bytes > free and not _lifted:
        raise TooLargeError(
            f"{what}{' needs ' if what else ''}{_size(n_bytes)} of {_size(free)} that are free"
        )


def check_disk(folder: Path, n_bytes: int | float, what: str) -> None:
    """Raise `TooLargeError` for a file of more bytes than the disk has left; `what` will be as large."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    if n_bytes > free and not _lifted:
        raise TooLargeError(
            f"expected {what} to fit on the disk, got about {_size(n_bytes)} where {_size(free)} are free; "
            f"choose a longer time.output_interval ({ADVICE})."
        )


def _size(n_bytes: int | float) -> str:
    return f"{n_bytes:.3g} bytes" if n_bytes < 1e6 or n_bytes > 1e15 else f"{n_bytes / 1e9:.3g} GB"
