"""Programs compiled ahead of time, with their cost."""

import dataclasses
import functools
import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

import jax
from jax.stages import Compiled
from jaxtyping import PyTree

from .._types import unfixed, without_functions

T = TypeVar("T")


class ProgramMemory(NamedTuple):
    """Memory of a program in bytes, as reported by the compiler; outputs exclude reused arguments."""

    arguments: int
    outputs: int
    temporary: int
    code: int
    total: int


@dataclasses.dataclass(eq=False)
class Program:
    """A function compiled for arguments of certain shapes.

    Args:
        executable: program compiled by JAX.
        trace_seconds: time to trace the Python function and lower it for the compiler.
        compile_seconds: time to compile to machine code, or to load that from the cache.
        has_functions: whether arguments hold functions, which are part of the program.
    """

    executable: Compiled
    trace_seconds: float
    compile_seconds: float
    has_functions: bool = False

    def __call__(self, *args: PyTree) -> PyTree:
        return self.executable(*(without_functions(args) if self.has_functions else args))

    @property
    def memory(self) -> ProgramMemory:
        """Memory of the program; raises `RuntimeError` if the compiler of the device does not report it."""
        analysis = self.executable.memory_analysis()
        if analysis is None:
            raise RuntimeError(
                "memory: expected the compiler to report the memory of a program, got nothing from this "
                "device; choose a CPU or GPU."
            )
        outputs = analysis.output_size_in_bytes - analysis.alias_size_in_bytes
        others = analysis.temp_size_in_bytes, analysis.generated_code_size_in_bytes
        parts = analysis.argument_size_in_bytes, outputs, *others
        return ProgramMemory(*parts, total=sum(parts))

    def fastest_call(self, *args: PyTree, repetitions: int = 5) -> float:
        """Shortest time of `repetitions` calls [s], after an uncounted first call."""
        seconds = []
        for _ in range(repetitions + 1):
            start = time.perf_counter()
            jax.block_until_ready(self(*args))
            seconds.append(time.perf_counter() - start)
        return min(seconds[1:])


def compile_program(function: Callable[..., PyTree], *args: PyTree, **static: object) -> Program:
    """Trace and compile a function for arguments of these shapes, without running it.

    Arguments are arrays, `jax.ShapeDtypeStruct` or pytrees of either. `static` keyword arguments become part
    of the program, as do functions in the arguments, such as those of a network.
    """
    # The programs keep the name of the function, for profilers and compiler logs.
    if static:
        function = functools.wraps(function)(functools.partial(function, **static))
    arrays = without_functions(args)
    has_functions = jax.tree.structure(arrays) != jax.tree.structure(args)
    if has_functions:
        function = functools.wraps(function)(functools.partial(_call_unfixed, function))
    start = time.perf_counter()
    lowered = jax.jit(function).lower(*arrays)
    traced = time.perf_counter()
    executable = lowered.compile()
    compiled = time.perf_counter()
    return Program(executable, traced - start, compiled - traced, has_functions)


def _call_unfixed(function: Callable[..., PyTree], *args: PyTree) -> PyTree:
    return function(*unfixed(args))


class Shared(Generic[T]):
    """Cache of objects, mostly programs, by the structure, shapes and types of their arguments.

    Args:
        most: largest number of objects; the oldest is dropped first. `None` keeps all.
    """

    def __init__(self, most: int | None = None):
        self._most, self._objects = most, dict[Hashable, T]()

    def get(self, make: Callable[[], T], arguments: PyTree, *same: Hashable) -> T:
        """Return the object for such arguments and equal `same`; create it on first use."""
        shapes = jax.eval_shape(lambda arrays: arrays, without_functions(arguments))
        leaves, structure = jax.tree.flatten(shapes)
        key = structure, tuple((leaf.shape, leaf.dtype, leaf.weak_type) for leaf in leaves), same
        if key not in self._objects:
            if len(self._objects) == self._most:
                del self._objects[next(iter(self._objects))]
            self._objects[key] = make()
        return self._objects[key]

    @property
    def all(self) -> list[T]:
        """All objects in order of creation."""
        return list(self._objects.values())
