"""Programs compiled ahead of time, and the count of what the cache of compiled programs did."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.runtime import compile_program, configure
from tunax_lite.runtime.cache import cache_contents, cache_statistics, count_cache_events
from tunax_lite.runtime.compilation import Shared
from tunax_lite.runtime.jax_setup import configuration

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
    memory = program.memory
    assert (memory.arguments, memory.outputs) == (2 * 8 * N, 8 * N)
    assert memory.total == memory.arguments + memory.outputs + memory.temporary + memory.code


def test_donated_memory_is_taken_and_counted_once(arguments, monkeypatch):
    program = compile_program(add_scaled, *arguments, donate=(1,), factor=3)
    assert program.memory.arguments == 2 * 8 * N
    assert program.memory.outputs == 0
    calls, executable = [], program.executable
    monkeypatch.setattr(program, "executable", lambda *args: calls.append(1) or executable(*args))
    timing = program.timing(*arguments, repetitions=3)  # its arguments live on
    np.testing.assert_array_equal(arguments[1], np.ones(N))
    assert 0.0 < timing.minimum <= timing.median and len(calls) == 4
    program(*arguments)
    assert arguments[1].is_deleted() and not arguments[0]["a"].is_deleted()


def test_what_is_shared_is_made_once_for_equal_shapes():
    shared, made = Shared(most=2), []

    def get(x, *same):
        return shared.get(lambda: made.append(len(made)) or made[-1], x, *same)

    assert [get(jnp.zeros(3)), get(jnp.ones(3)), get(jnp.zeros(4)), get(jnp.zeros(3))] == [0, 0, 1, 0]
    assert [get(jnp.zeros(3), "other"), get(jnp.zeros(4)), get(jnp.zeros(3))] == [2, 1, 3]
    assert shared.all == [2, 3]


@pytest.fixture
def empty_cache(tmp_path):
    before = configuration()
    configure(cache_folder=tmp_path, cache_minimum_seconds=0.0)
    yield tmp_path
    configure(cache_folder=before.cache_folder, cache_minimum_seconds=before.cache_minimum_seconds)
    assert configuration() == before


def test_cache_is_counted_once(empty_cache):
    count_cache_events()  # listeners that are registered twice would count everything twice
    x = jnp.ones(7)
    before, n_programs = cache_statistics(), cache_contents(empty_cache)[0]
    compiled = compile_program(add_scaled, {"a": x}, x, factor=3.25).memory
    assert cache_statistics().since(before)[:3] == (0, 1, 0)
    assert cache_contents(empty_cache)[0] == n_programs + 1
    jax.clear_caches()
    found = compile_program(add_scaled, {"a": x}, x, factor=3.25).memory
    assert cache_statistics().since(before)[:3] == (1, 1, 0)
    assert found[:3] == compiled[:3]  # known of a program from the cache
    configure(cache_folder=empty_cache, cache_minimum_seconds=1e3)
    compile_program(add_scaled, {"a": x}, x, factor=4.75)  # below the threshold
    assert cache_statistics().since(before)[:3] == (1, 1, 1)
    assert cache_contents(empty_cache)[0] == n_programs + 1


def test_cache_contents_counts_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, size in (("jit_a-1-cache", 10), ("jit_a-1-atime", 8), ("sub/jit_b-2-cache", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert cache_contents(tmp_path) == (2, 23)
    assert cache_contents(tmp_path / "nowhere") == (0, 0)
