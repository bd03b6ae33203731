"""Programs compiled ahead of time."""

import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.runtime import compile_program
from tunax_lite.runtime.compilation import Shared

N = 1000


def add_scaled(x, y, *, factor):
    return x["a"] + factor * y


@pytest.fixture
def arguments():
    return {"a": jnp.arange(float(N))}, jnp.ones(N)


def test_program_is_the_function(arguments):
    program = compile_program(add_scaled, *arguments, factor=3)
    np.testing.assert_array_equal(program(*arguments), np.arange(N) + 3.0)
    assert program.trace_seconds > 0.0 and program.compile_seconds > 0.0
    with pytest.raises(TypeError):
        program(*arguments, factor=4)  # pyright: ignore[reportCallIssue]
    assert program.fastest_call(*arguments, repetitions=2) > 0.0
    memory = program.memory
    assert (memory.arguments, memory.outputs) == (2 * 8 * N, 8 * N)
    assert memory.total == memory.arguments + memory.outputs + memory.temporary + memory.code


def test_what_is_shared_is_made_once_for_equal_shapes():
    shared, made = Shared(most=2), []

    def get(x, *same):
        return shared.get(lambda: made.append(len(made)) or made[-1], x, *same)

    assert [get(jnp.zeros(3)), get(jnp.ones(3)), get(jnp.zeros(4)), get(jnp.zeros(3))] == [0, 0, 1, 0]
    assert [get(jnp.zeros(3), "other"), get(jnp.zeros(4)), get(jnp.zeros(3))] == [2, 1, 3]
    assert shared.all == [2, 3]
