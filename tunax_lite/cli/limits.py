"""Check that the limits of the process let JAX start; imports nothing slow."""

import sys
import threading

from ..runtime.machine import n_processors

_ADDRESS_SPACE = 1_900_000_000  # bytes; `run` and `calibrate` reach 1.8e9 with two processors
_THREADS = 16, 4  # in total, and per processor; 21 were observed with two processors


def check_limits() -> None:
    """End the process with a message if JAX could not start, which would otherwise abort."""
    processors = n_processors()
    problem = _address_space(processors) or _threads(_THREADS[0] + _THREADS[1] * processors)
    if problem:
        sys.exit(f"tunax-lite: error: {problem}")


def _address_space(processors: int) -> str:
    try:
        import resource
    except ImportError:  # not on Windows, which has no such limit
        return ""
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    needed = _ADDRESS_SPACE + (0 if stack == resource.RLIM_INFINITY else 2 * processors * stack)
    for name, option in (("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")):
        allowed = resource.getrlimit(getattr(resource, name))[0]
        fraction = 1.0 if option == "-v" else 0.5  # programs and libraries do not count as data
        if allowed != resource.RLIM_INFINITY and allowed < fraction * needed:
            return (
                f"expected {fraction * needed / 1e6:.0f} MB of memory at least, got a limit of "
                f"{allowed / 1e6:.0f} MB (ulimit {option}); raise it, or that of the job."
            )
    return ""


def _threads(needed: int) -> str:
    """A problem if so many threads cannot run at the same time, found by starting them."""
    end, started = threading.Event(), []
    try:
        for _ in range(needed):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return (
            f"expected {needed} threads that can be started, got {len(started)}; raise the limit of "
            "processes (ulimit -u, or that of the job or container), or end others of yours."
        )
    finally:
        end.set()
        for thread in started:
            thread.join()
    return ""
