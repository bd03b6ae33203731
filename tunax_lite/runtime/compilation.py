"""Programs compiled ahead of time, with what that took, and what the cache of compiled programs did."""

import contextlib
import functools
import gc
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.monitoring
import jax.numpy as jnp


class Timing(NamedTuple):
    """Seconds of one call: the minimum is the machine undisturbed, the median the machine as it is."""

    minimum: float
    median: float


class ProgramMemory(NamedTuple):
    """Bytes that a program needs, as the compiler counts them.

    Args:
        arguments, outputs: arrays that go in and come out; donated ones are counted as arguments.
        temporary: everything in between.
        code: machine code.
        total: of all, while it runs.
    """

    arguments: int
    outputs: int
    temporary: int
    code: int
    total: int


class Program:
    """A function compiled for arguments of certain shapes; call it with such.

    Args:
        executable: what JAX compiled.
        trace_seconds: from Python to the compiler's language.
        compile_seconds: from there to machine code, or to find that in the cache of compiled programs.
        donated: positions of the arguments whose memory a call takes.
    """

    def __init__(
        self,
        executable: Any,
        trace_seconds: float,
        compile_seconds: float,
        donated: tuple[int, ...] = (),
    ):
        self.executable = executable
        self.trace_seconds = trace_seconds
        self.compile_seconds = compile_seconds
        self._donated = donated

    def __call__(self, *args: Any) -> Any:
        return self.executable(*args)

    @property
    def memory(self) -> ProgramMemory:
        """What the program needs.

        Raises:
            RuntimeError: a device whose compiler does not say.
        """
        found = self.executable.memory_analysis()
        if found is None:
            raise RuntimeError(
                "memory: expected the compiler to say what a program needs, got nothing from this device; "
                "ask on a CPU or GPU."
            )
        outputs = found.output_size_in_bytes - found.alias_size_in_bytes
        parts = (
            found.argument_size_in_bytes,
            outputs,
            found.temp_size_in_bytes,
            found.generated_code_size_in_bytes,
        )
        return ProgramMemory(*parts, total=sum(parts))

    def timing(self, *args: Any, repetitions: int = 5) -> Timing:
        """Time calls with these arguments, after one that does not count.

        Args:
            repetitions: at least 1.
        """
        seconds = []
        for _ in range(repetitions + 1):
            given = [self._fresh(i, arg) for i, arg in enumerate(args)]
            start = time.perf_counter()
            jax.block_until_ready(self(*given))
            seconds.append(time.perf_counter() - start)
        return Timing(min(seconds[1:]), statistics.median(seconds[1:]))

    def _fresh(self, position: int, arg: Any) -> Any:
        """A copy of an argument whose memory a call takes, ready before the clock starts."""
        return jax.block_until_ready(jax.tree.map(jnp.copy, arg)) if position in self._donated else arg


def compile_program(
    function: Callable[..., Any], *args: Any, donate: tuple[int, ...] = (), **static: Any
) -> Program:
    """Trace and compile a function for arguments of these shapes, without running it.

    Args:
        function: of arrays, or pytrees of them.
        args: arrays, or `jax.ShapeDtypeStruct` in their place.
        donate: positions of the arguments whose memory the results may take.
        static: keyword arguments that become part of the program.
    """
    if static:
        function = functools.wraps(function)(functools.partial(function, **static))
    start = time.perf_counter()
    with _garbage_kept():
        lowered = jax.jit(function, donate_argnums=donate).lower(*args)
    traced = time.perf_counter()
    executable = lowered.compile()
    compiled = time.perf_counter()
    return Program(executable, traced - start, compiled - traced, donate)


@contextlib.contextmanager
def _garbage_kept() -> Iterator[None]:
    # Tracing makes many small objects that stay: to look for garbage among them takes a quarter of its time.
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def shapes_of(tree: Any) -> Any:
    """What arguments must share to share a program: structure, shapes and types; can be a key."""
    leaves, structure = jax.tree.flatten(jax.eval_shape(lambda given: given, tree))
    return structure, tuple((leaf.shape, leaf.dtype, leaf.weak_type) for leaf in leaves)


def program_table(programs: Mapping[str, Program], timings: Mapping[str, Timing] | None = None) -> str:
    """A table of what programs took to trace and compile, the memory they need and their run time.

    Args:
        programs: by name.
        timings: from `Program.timing`, by the same names; those that are missing are left blank.
    """
    timings = {} if timings is None else timings
    header = ("program", "trace [s]", "compile [s]", "temporary [MB]", "total [MB]", "run [ms]")
    rows = [header, *(_row(name, program, timings.get(name)) for name, program in programs.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = []
    for row in rows:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *numbers]).rstrip())
    return "\n".join(lines)


def _row(name: str, program: Program, timing: Timing | None) -> tuple[str, ...]:
    memory = program.memory
    return (
        name,
        f"{program.trace_seconds:.2f}",
        f"{program.compile_seconds:.2f}",
        f"{memory.temporary / 1e6:.3f}",
        f"{memory.total / 1e6:.3f}",
        "" if timing is None else f"{1e3 * timing.minimum:.3f}",
    )


class CacheStatistics(NamedTuple):
    """What the cache of compiled programs did in this process.

    Args:
        hits: programs that were found.
        misses: programs that were compiled and then kept.
        not_kept: programs that were compiled in too short a time to be worth a file.
        seconds_saved: that the hits would have taken to compile, less what they took to read.
    """

    hits: int
    misses: int
    not_kept: int
    seconds_saved: float

    def since(self, before: "CacheStatistics") -> "CacheStatistics":
        """What happened after `before`."""
        return CacheStatistics(
            self.hits - before.hits,
            self.misses - before.misses,
            self.not_kept - before.not_kept,
            self.seconds_saved - before.seconds_saved,
        )


_HITS = "/jax/compilation_cache/cache_hits"
_MISSES = "/jax/compilation_cache/cache_misses"
_REQUESTS = "/jax/compilation_cache/compile_requests_use_cache"
_SAVED = "/jax/compilation_cache/compile_time_saved_sec"
_lock = threading.Lock()
_counts = {_HITS: 0, _MISSES: 0, _REQUESTS: 0}
_saved = [0.0]
_is_counting = [False]


def _on_event(event: str, **_: Any) -> None:
    if event in _counts:
        with _lock:
            _counts[event] += 1


def _on_duration(event: str, duration_secs: float, **_: Any) -> None:
    if event == _SAVED:
        with _lock:
            _saved[0] += duration_secs


def count_cache_events() -> None:
    """Count from now on what the cache does; `configure` calls this. Calling it again changes nothing."""
    with _lock:
        if _is_counting[0]:
            return
        _is_counting[0] = True
    jax.monitoring.register_event_listener(_on_event)
    jax.monitoring.register_event_duration_secs_listener(_on_duration)


def cache_statistics() -> CacheStatistics:
    """What the cache of compiled programs did since `configure` was called first."""
    with _lock:
        hits, misses, requests = (_counts[event] for event in (_HITS, _MISSES, _REQUESTS))
        return CacheStatistics(hits, misses, requests - hits - misses, _saved[0])


def cache_contents(folder: Path) -> tuple[int, int]:
    """Number of programs in a cache folder, and bytes of all its files."""
    sizes = dict(_file_sizes(folder))
    return sum(path.name.endswith("-cache") for path in sizes), sum(sizes.values())


def _file_sizes(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path, path.stat().st_size
        except FileNotFoundError:  # another process made room
            continue
