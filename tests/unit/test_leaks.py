"""A long calibration leaves nothing behind: arrays, compiled programs, memory."""

import gc
import os
from typing import NamedTuple

import jax
import jax.extend.backend
import pytest

from tests.unit.calibration_twins import calibrate_cheap

N_ITERATIONS = 500
# Measured 60 kB: the history, and what allocators move by themselves. 4 kB per iteration would be found.
TOLERANCE = 2 * 2**20  # bytes


class Held(NamedTuple):
    """What the process holds: arrays of JAX, compiled programs, bytes."""

    arrays: int
    programs: int
    bytes: int


def held() -> Held:
    gc.collect()
    with open("/proc/self/statm") as file:
        n_pages = int(file.read().split()[1])
    programs = jax.extend.backend.get_backend().live_executables()
    return Held(len(jax.live_arrays()), len(programs), n_pages * os.sysconf("SC_PAGE_SIZE"))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the memory of the process in /proc")
def test_500_iterations_hold_what_ten_hold(tmp_path):
    measured = {}

    def report(iteration):
        if iteration.number in (9, N_ITERATIONS - 1):
            measured[iteration.number] = held()

    result = calibrate_cheap(tmp_path, "adam", N_ITERATIONS, report=report)
    assert result.history.n_iterations == N_ITERATIONS
    early, late = measured[9], measured[N_ITERATIONS - 1]
    assert late.arrays == early.arrays
    assert late.programs == early.programs
    assert late.bytes < early.bytes + TOLERANCE
