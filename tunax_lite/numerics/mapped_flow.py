"""Which results of traced code depend on mapped inputs; what `batch_last` knows before it computes them."""

from collections.abc import Callable, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal  # pyright: ignore[reportPrivateImportUsage]

# Primitives that only call a function, and under which parameter.
CALLS = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}


def closed_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> ClosedJaxpr:
    """Traced code with its constants."""
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def split(sequence: list, *lengths: int) -> tuple[list, ...]:
    """Pieces of these lengths, and the rest."""
    pieces = []
    for length in lengths:
        piece, sequence = sequence[:length], sequence[length:]
        pieces.append(piece)
    return (*pieces, sequence)


def scan_lengths(parameters: dict) -> tuple[int, int]:
    """Numbers of constants and of carried values of a `lax.scan`."""
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    consts, carry, _ = parameters["ft_in"].unpack()  # from jax 0.12 on
    return len(list(consts)), len(list(carry))


def solve_inputs(inputs: list, parameters: dict) -> list:
    """What `lax.custom_linear_solve` hands to its solver: the constants of that, and right-hand sides."""
    lengths = parameters["const_lengths"]
    before = lengths.matvec + lengths.vecmat
    return inputs[before : before + lengths.solve] + inputs[sum(lengths) :]


def flags_of(closed: ClosedJaxpr, mapped: Sequence[bool]) -> list[bool]:
    """Which results of traced code are mapped, given which inputs are."""
    known = dict(zip(closed.jaxpr.invars, mapped, strict=True))

    def read(atom: Any) -> bool:
        return not isinstance(atom, Literal) and known.get(atom, False)

    for equation in closed.jaxpr.eqns:
        given = [read(atom) for atom in equation.invars]
        name, parameters, found = equation.primitive.name, equation.params, None
        if name in CALLS:
            found = flags_of(closed_jaxpr(parameters[CALLS[name]]), given)
        elif name in _FLAGS and any(given):
            found = _FLAGS[name](given, parameters)
        if found is None:
            found = [any(given)] * len(equation.outvars)
        known.update(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in closed.jaxpr.outvars]


def scan_flags(mapped: list[bool], parameters: dict) -> list[bool]:
    """Which carried values, then outputs, of a `lax.scan` are mapped."""
    consts, carry, inputs = split(mapped, *scan_lengths(parameters))
    body = closed_jaxpr(parameters["jaxpr"])

    def turn(carry):
        return flags_of(body, [*consts, *carry, *inputs])

    carry = _fixed_point(lambda carry: turn(carry)[: len(carry)], carry)
    return [*carry, *turn(carry)[len(carry) :]]


def while_flags(mapped: list[bool], parameters: dict) -> list[bool] | None:
    """Which carried values of a `lax.while_loop` are mapped; `None` if its number of turns is."""
    condition, body = closed_jaxpr(parameters["cond_jaxpr"]), closed_jaxpr(parameters["body_jaxpr"])
    counts = parameters["cond_nconsts"], parameters["body_nconsts"]
    condition_consts, body_consts, carry = split(mapped, *counts)
    carry = _fixed_point(lambda carry: flags_of(body, [*body_consts, *carry]), carry)
    return None if any(flags_of(condition, [*condition_consts, *carry])) else carry


def cond_flags(mapped: list[bool], parameters: dict) -> list[bool] | None:
    """Which results of a `lax.cond` or `lax.switch` are mapped; `None` if the choice is."""
    index, *operands = mapped
    if index:
        return None
    flags = [flags_of(closed_jaxpr(branch), operands) for branch in parameters["branches"]]
    return [any(each) for each in zip(*flags, strict=True)]


def _solve_flags(mapped, parameters):
    return flags_of(closed_jaxpr(parameters["jaxprs"].solve), solve_inputs(mapped, parameters))


_FLAGS: dict[str, Callable[[list[bool], dict], list[bool] | None]] = {
    "scan": scan_flags,
    "while": while_flags,
    "cond": cond_flags,
    "custom_linear_solve": _solve_flags,
}


def _fixed_point(turn: Callable[[list[bool]], list[bool]], mapped: list[bool]) -> list[bool]:
    """Which carried values are mapped after any number of turns."""
    while True:
        after = [old or new for old, new in zip(mapped, turn(mapped), strict=True)]
        if after == mapped:
            return mapped
        mapped = after
