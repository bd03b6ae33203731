"""Functions of a module's numbers that XLA compiles to a single kernel on a CPU.

Outside loops XLA makes a kernel of every few operations, which takes 7 ms to compile: those of the gradient
by all constants of k-epsilon took a third of its compilation.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax

# The only place that all supported versions of JAX have in common.
from jax.experimental.scheduling_groups import xla_metadata_call  # pyright: ignore[reportPrivateImportUsage]

from .._types import is_traced
from .jax_setup import time_loop_is_fused

M = TypeVar("M", bound=eqx.Module)
R = TypeVar("R", bound=eqx.Module)
# XLA itself marks loops in this way, below the limit of `jax_setup.FLAGS`.
_MARKS = {"xla_cpu_small_call": "true", "inlineable": "false"}


def _kernel(function: Callable[[M], R]) -> Callable[[M], R]:
    """A kernel, and two for its derivative: JAX cannot divide a call in two, as `jax.checkpoint` requires."""
    call: Any = functools.partial(xla_metadata_call, **_MARKS)  # Any: its result has no useful type
    kernel = jax.custom_jvp(call(function))

    @kernel.defjvp
    def _(primals, tangents):
        value, derivative = call(functools.partial(jax.linearize, function))(*primals)
        return value, call(lambda derivative, change: derivative(change))(derivative, *tangents)

    return kernel


def in_one_kernel(method: Callable[[M], R]) -> Callable[[M], R]:
    """Let XLA compile a method without arguments to one kernel, on a CPU whose time loop is fused.

    XLA fails if its own simplifications find that an array of the module has no use, as with `x * 0` of an
    integer; arrays that JAX does not use are no problem. Test the gradient by each.
    """

    @functools.wraps(method)
    def in_kernel(module: M) -> R:
        numbers, others = eqx.partition(module, eqx.is_inexact_array)
        outer, passed_on = jax.tree.leaves(numbers), None
        if not (any(map(is_traced, outer)) and time_loop_is_fused() and jax.default_backend() == "cpu"):
            return method(module)

        def derived(numbers: M) -> R:  # what the method passes on unchanged needs no kernel
            nonlocal passed_on
            given = dict(zip(map(id, jax.tree.leaves(numbers)), outer, strict=True))
            result = method(eqx.combine(numbers, others))
            passed_on = jax.tree.map(lambda x: given.get(id(x), x), result)
            return eqx.filter(result, lambda x: eqx.is_inexact_array(x) and id(x) not in given)

        new = _kernel(derived)(numbers)
        return eqx.combine(new, passed_on)  # pyright: ignore[reportReturnType]

    return in_kernel
