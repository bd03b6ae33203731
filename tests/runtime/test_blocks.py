"""Columns in blocks, one after the other, are the columns all at once."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import CASES
from tunax_lite import AutoCheckpointing, Model, PacanowskiPhilander, simulate
from tunax_lite.column.checkpointing import shared_among
from tunax_lite.runtime.devices import BYTES_PER_BLOCK, block_size

N_COLUMNS = 5
TIMES: dict[str, Any] = {"dt": 60.0, "duration": 360.0, "output_interval": 120.0}


def ensemble(closure, name: str) -> Model:
    factors = jnp.linspace(0.9, 1.1, N_COLUMNS)
    return Model(eqx.tree_at(lambda c: getattr(c, name), closure, getattr(closure, name) * factors))


@pytest.mark.long
def test_blocks_are_all_columns_at_once_to_the_bit():
    model, case = ensemble(PacanowskiPhilander(), "alpha"), CASES["everything"]
    whole, parts = (simulate(model, case, **TIMES, column_block=block) for block in (None, 2))
    assert jax.tree.structure(parts) == jax.tree.structure(whole)
    for part, leaf in zip(jax.tree.leaves(parts), jax.tree.leaves(whole), strict=True):
        np.testing.assert_array_equal(part, leaf)
    assert np.unique(np.asarray(whole.state.u[-1]).sum(axis=0)).size == N_COLUMNS
    left: dict[str, Any] = TIMES | {"duration": 240.0, "start": whole.restart(1)}
    rest, of_parts = (simulate(model, case, **left, column_block=block) for block in (None, 1))
    # XLA compiles other loops for blocks of one column; the largest known difference is 7e-14 K in a day.
    np.testing.assert_allclose(of_parts.state.temperature, rest.state.temperature, rtol=0.0, atol=1e-12)
    with error_naming(ValueError, "column_block"):
        simulate(model, case, **TIMES, column_block=0)


def test_blocks_are_chosen_by_what_fits():
    bytes_per_column = BYTES_PER_BLOCK // 36
    expected = {1: 1, 2: 4, 3: 4, 127: 127, 128: 32, 129: 26, 512: 32}
    assert {n: block_size("auto", n, n * bytes_per_column) for n in expected} == expected
    assert block_size("auto", 512, 512 * bytes_per_column // 2) == 64
    assert block_size("auto", 512, 512 * BYTES_PER_BLOCK) == 16  # registers, at least
    assert block_size(None, 512, 512 * bytes_per_column) == 512
    assert (block_size(7, 512, 1), block_size(7, 5, 1)) == (7, 5)
    assert shared_among(3, AutoCheckpointing(memory_budget=300)) == AutoCheckpointing(memory_budget=100)
