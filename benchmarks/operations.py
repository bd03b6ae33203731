"""How much arithmetic a program needs: operations of its jaxpr, loops unrolled, as they are written.

What the compiler merges or drops is counted all the same; what it repeats in order to fuse is not.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

DIVISIONS = {"div", "rem"}
ROOTS = {"sqrt", "rsqrt", "cbrt"}
FUNCTIONS = {"exp", "exp2", "expm1", "log", "log1p", "pow", "tanh", "logistic", "sin", "cos"}
SIMPLE = {
    *("add", "sub", "mul", "neg", "abs", "sign", "max", "min", "clamp", "select_n", "add_any", "reduce_sum"),
    *("lt", "le", "gt", "ge", "eq", "ne", "square", "integer_pow", "is_finite", "cumsum"),
}


class Operations(NamedTuple):
    """Operations of a program on floating-point numbers.

    Args:
        divisions: by something else than one number.
        roots: square and cube roots.
        functions: exponentials, logarithms, powers, sines.
        simple: additions, multiplications, comparisons, choices.
        dividing_links, plain_links: turns of the innermost loops over levels, each of which has to wait for
            the one before; with a division in the chain, and without.
        linked_divisions, linked_simple: of the divisions and simple operations, those in such loops.
    """

    divisions: float = 0.0
    roots: float = 0.0
    functions: float = 0.0
    simple: float = 0.0
    dividing_links: float = 0.0
    plain_links: float = 0.0
    linked_divisions: float = 0.0
    linked_simple: float = 0.0

    def plus(self, other: "Operations") -> "Operations":
        return Operations(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> "Operations":
        return Operations(*(factor * value for value in self))


def count_operations(function: Callable, *arguments: Any) -> Operations:
    """Operations of one call of a function with arguments of these shapes."""
    return _count(jax.make_jaxpr(function)(*arguments).jaxpr)


def _count(jaxpr: Any) -> Operations:
    total = Operations()
    for equation in jaxpr.eqns:
        inner = list(_inner_jaxprs(equation))
        if not inner:
            total = total.plus(_count_one(equation))
            continue
        found = Operations()
        for part in inner:
            found = found.plus(_count(part))
        if equation.primitive.name == "scan":
            found = _of_loop(found, inner[0], equation.params["length"])
        total = total.plus(found)
    return total


def _of_loop(body: Operations, jaxpr: Any, length: int) -> Operations:
    if not _contains_scan(jaxpr):
        link = {"dividing_links": 1.0} if body.divisions else {"plain_links": 1.0}
        body = body._replace(linked_divisions=body.divisions, linked_simple=body.simple, **link)
    return body.times(length)


def _contains_scan(jaxpr: Any) -> bool:
    return any(
        equation.primitive.name == "scan" or any(_contains_scan(part) for part in _inner_jaxprs(equation))
        for equation in jaxpr.eqns
    )


def _inner_jaxprs(equation: Any) -> Iterator[Any]:
    """Jaxprs that run when an equation does."""
    if equation.primitive.name == "custom_linear_solve":
        yield equation.params["jaxprs"].solve.jaxpr  # the others only serve differentiation
    elif equation.primitive.name == "cond":
        yield equation.params["branches"][0].jaxpr  # of a choice by platform, that of the CPU
    else:
        for value in equation.params.values():
            if hasattr(value, "eqns"):
                yield value
            elif hasattr(getattr(value, "jaxpr", None), "eqns"):
                yield value.jaxpr


def _count_one(equation: Any) -> Operations:
    name, result = equation.primitive.name, equation.outvars[0].aval
    avals = [variable.aval for variable in equation.invars]
    if not any(np.issubdtype(aval.dtype, np.floating) for aval in (result, *avals)):
        return Operations()  # of indices and masks
    operands = [np.prod(aval.shape) for aval in avals]
    size = float(max(np.prod(result.shape), operands[0] if name == "reduce_sum" else 0))
    if name in DIVISIONS:
        by_one_number = operands[1] == 1 and size > 1  # becomes one division and multiplications
        return Operations(simple=size) if by_one_number else Operations(divisions=size)
    if name in ROOTS:
        return Operations(roots=size)
    if name in FUNCTIONS:
        return Operations(functions=size)
    return Operations(simple=size) if name in SIMPLE else Operations()
