"""Numbers derived from parameters before a run, with derivatives that compile fast.

Deriving the constants of a second-moment closure takes 300 operations on scalars, and differentiating them
1000. XLA compiles almost every one as a program of its own, which repeats its cheap operands. Derivatives
here are products with the Jacobian, which a loop evaluates: each turn reads an operation from a table and
applies it to numbers and their changes. Without derivatives the operations remain as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import (
    ClosedJaxpr,  # pyright: ignore[reportPrivateImportUsage]  # the name of jax before 0.12
    JaxprEqn,
    Literal,
    Primitive,
    jaxpr_as_fun,
)
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, PyTree

from .._types import is_traced
from ..runtime.embedding import varying_alike
from .batch_last import CALLS, closed_jaxpr

T = TypeVar("T")

_N_OPERANDS = 3
"""Largest number of operands of an operation on scalars."""


_FEWEST_OPERATIONS = 100
"""Fewest operations that depend on varied parameters for which the loop compiles faster."""


def derived(function: Callable[[PyTree], T], parameters: PyTree) -> T:
    """Call a function that derives numbers from parameters, and differentiate it by a loop.

    On other platforms than a CPU, and for operations on arrays, differentiation is that of JAX.
    """
    arrays, others = eqx.partition(parameters, eqx.is_inexact_array)
    rest: list[PyTree] = []

    def numbers_of(arrays: PyTree) -> PyTree:
        numbers, *rest[:] = eqx.partition(function(eqx.combine(arrays, others)), eqx.is_array)
        return numbers

    program, shapes = jax.make_jaxpr(numbers_of, return_shape=True)(arrays)
    if not program.eqns or jax.default_backend() != "cpu" or not _is_scalar(program):
        return function(parameters)
    numbers = DERIVED.bind(*jax.tree.leaves(arrays), program=program)
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(shapes), numbers), *rest)


def _called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The program that an operation calls, if it is a call."""
    name = equation.primitive.name
    return closed_jaxpr(equation.params[CALLS[name]]) if name in CALLS else None


def _is_scalar(program: ClosedJaxpr) -> bool:
    """Return whether all operations are on scalars, and all real ones have the same precision."""
    called = [_called(each) for each in program.eqns]
    avals: list[Any] = [v.aval for each in program.eqns for v in (*each.invars, *each.outvars)]
    precisions = {x.dtype for x in avals if jnp.issubdtype(x.dtype, jnp.floating)}
    n_operands = [len(each.invars) for each, of in zip(program.eqns, called, strict=True) if of is None]
    return (
        not any(x.shape for x in avals)
        and len(precisions) <= 1
        and max(n_operands, default=0) <= _N_OPERANDS
        and not is_traced(program.consts)
        and all(each is None or _is_scalar(each) for each in called)
    )


class _Table:
    """The operations of a program of scalars: each has slots of operands and of its result.

    The first slots hold the inputs of the program.
    """

    def __init__(self, program: ClosedJaxpr):
        self.constants: dict[int, Any] = {}  # by slot: numbers of Python, NumPy or JAX
        self.kinds: dict[tuple, JaxprEqn] = {}  # an example of each
        self.operations: list[tuple[int, int, list[int]]] = []  # slot of the result, kind, slots of operands
        self.inputs_of = [{i} for i in range(len(program.in_avals))]  # inputs on which a slot depends
        self.outputs = self._append(program, range(len(program.in_avals)))

    def _slot(self, inputs: set[int]) -> int:
        self.inputs_of.append(inputs)
        return len(self.inputs_of) - 1

    def _constant(self, value: Any) -> int:
        slot = self._slot(set())
        self.constants[slot] = value
        return slot

    def _append(self, program: ClosedJaxpr, inputs: Sequence[int]) -> list[int]:
        """Append the operations of a program; return the slots of its results."""
        slots = dict(zip(program.jaxpr.invars, inputs, strict=True))
        slots |= {v: self._constant(x) for v, x in zip(program.jaxpr.constvars, program.consts, strict=True)}
        slot_of = lambda v: self._constant(v.val) if isinstance(v, Literal) else slots[v]  # noqa: E731
        for each in program.eqns:
            operands, called = [slot_of(v) for v in each.invars], _called(each)
            if called is not None:
                results = self._append(called, operands)
            else:
                results = [self._slot(set().union(*(self.inputs_of[slot] for slot in operands)))]
                key = each.primitive, str(each.params), *(str(v.aval) for v in each.invars)
                self.kinds.setdefault(key, each)
                padding = operands[:1] * (_N_OPERANDS - len(operands))
                self.operations.append((results[0], [*self.kinds].index(key), operands + padding))
            slots |= dict(zip(each.outvars, results, strict=True))
        return [slot_of(v) for v in program.jaxpr.outvars]

    def evaluate(
        self, inputs: Sequence[Array], varied: Sequence[int], slots: Sequence[int]
    ) -> tuple[list[Array], Array]:
        """Numbers in some slots, and their derivatives by some of the inputs, `(n_slots, n_varied)`."""
        scalars = {i: x for i, x in enumerate(inputs) if x.ndim == 0}
        dtype = jnp.result_type(*scalars.values())
        values = np.zeros(len(self.inputs_of), dtype)
        values[[*self.constants]] = [*self.constants.values()]
        unit = np.zeros((len(values), len(varied)), dtype)
        unit[list(varied), range(len(varied))] = 1.0
        values = jnp.asarray(values).at[jnp.array([*scalars])].set(jnp.stack([*scalars.values()]))

        def row(rows: Array, index: Array) -> Array:
            return lax.dynamic_index_in_dim(rows, index, 0, keepdims=False, allow_negative_indices=False)

        def replaced(rows: Array, new: Array, index: Array) -> Array:
            return lax.dynamic_update_index_in_dim(rows, new, index, 0, allow_negative_indices=False)

        def operate(current: tuple[Array, Array], operation: tuple) -> tuple[tuple[Array, Array], None]:
            values, changes = current
            slot, kind, operands = operation

            def result(*operands: Array) -> Array:
                results = []
                for i, each in enumerate(self.kinds.values()):
                    # Operands of all other kinds are 1: second derivatives must not meet NaN.
                    safe = [jnp.where(kind == i, x, 1.0) for x in operands[: len(each.invars)]]
                    typed = [
                        x.astype(jnp.result_type(v.aval)) for x, v in zip(safe, each.invars, strict=True)
                    ]
                    results.append(each.primitive.bind(*typed, **each.params).astype(dtype))
                return lax.select_n(kind, *results)

            x = tuple(row(values, index) for index in operands)
            rows = [row(changes, index) for index in operands]
            change = jax.vmap(lambda *changes: jax.jvp(result, x, changes)[1])(*rows)
            return (replaced(values, result(*x), slot), replaced(changes, change, slot)), None

        results, kinds, operands = (
            np.asarray(column, np.int32) for column in zip(*self.operations, strict=True)
        )
        start = varying_alike((values, jnp.asarray(unit), inputs))[:2]
        (values, changes), _ = lax.scan(operate, start, (results, kinds, tuple(operands.T)))
        return [values[slot] for slot in slots], jnp.stack([changes[slot] for slot in slots])


DERIVED = Primitive("derived_numbers")
DERIVED.multiple_results = True


def _numbers(*inputs: Array, program: ClosedJaxpr) -> list[Array]:
    return jaxpr_as_fun(program)(*inputs)


def _tangents(primals, tangents, *, program: ClosedJaxpr):
    """Numbers and their changes; numbers that depend on no varied input have none."""
    table, n = _Table(program), len(primals)
    varied = [i for i, x in enumerate(tangents) if type(x) is not ad.Zero and primals[i].ndim == 0]
    is_varied = [bool(inputs & {*varied}) for inputs in table.inputs_of]
    numbers = DERIVED.bind(*primals, program=program)
    of_reals = (slot for slot, x in zip(table.outputs, numbers, strict=True) if eqx.is_inexact_array(x))
    slots = [*dict.fromkeys(slot for slot in of_reals if slot >= n and is_varied[slot])]
    directions = [tangents[i] for i in varied]
    values, changes = {}, dict(enumerate(tangents))
    if slots and sum(is_varied[slot] for slot, *_ in table.operations) >= _FEWEST_OPERATIONS:
        of_slots, jacobian = table.evaluate(primals, varied, slots)
        # Without the barrier, XLA computes the product again for each of the inputs.
        products = jacobian @ lax.optimization_barrier(jnp.stack(directions))
        values = dict(zip(slots, of_slots, strict=True))
        changes |= dict(zip(slots, products, strict=True))
    elif slots:

        def of_varied(*inputs: Array) -> list[Array]:
            every = dict(enumerate(primals)) | dict(zip(varied, inputs, strict=True))
            return _numbers(*every.values(), program=program)

        numbers, all_changes = jax.jvp(of_varied, [primals[i] for i in varied], directions)
        of_outputs = zip(table.outputs, all_changes, strict=True)
        changes |= {slot: change for slot, change in of_outputs if slot in slots}
    none = [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in numbers]
    return (
        [values.get(slot, x) for slot, x in zip(table.outputs, numbers, strict=True)],
        [changes.get(slot, zero) for slot, zero in zip(table.outputs, none, strict=True)],
    )


def _batched(inputs, axes, *, program: ClosedJaxpr):
    numbers = jax.vmap(jaxpr_as_fun(program), axes)(*inputs)
    return numbers, [0] * len(numbers)


DERIVED.def_impl(_numbers)
DERIVED.def_abstract_eval(lambda *inputs, program: program.out_avals)
ad.primitive_jvps[DERIVED] = _tangents
batching.primitive_batchers[DERIVED] = _batched
mlir.register_lowering(DERIVED, mlir.lower_fun(_numbers, multiple_results=True))
