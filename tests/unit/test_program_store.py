"""Whole programs on disk: what tells them apart, and that one that cannot be used is compiled again."""

import functools
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import CASES
from tunax_lite import KEpsilon, Model, SaveSegments, coriolis_parameter
from tunax_lite.runtime import compile_program, program_store
from tunax_lite.runtime.configure import jax_cache_paused
from tunax_lite.runtime.description import NotDescribable, digest
from tunax_lite.runtime.program_store import ProgramStore


def test_equal_things_have_equal_digests_and_values_of_arguments_do_not_count():
    case, model = next(iter(CASES.values())), Model(KEpsilon())
    static = ("a loss", SaveSegments(8), {"factor": 2.0}, functools.partial(coriolis_parameter, 1.0))
    again = ("a loss", SaveSegments(8), {"factor": 2.0}, functools.partial(coriolis_parameter, 1.0))
    other_value = eqx.tree_at(lambda m: m.closure.c_eps_1, model, jnp.asarray(1.5, dtype=float))
    assert digest(static, (model, case)) == digest(again, (other_value, case))


def test_whatever_becomes_part_of_a_program_changes_the_digest():
    x, layout = jnp.zeros(3), SaveSegments(8)
    model = Model(KEpsilon())
    given = [
        ((layout,), x),
        ((SaveSegments(9),), x),
        ((layout, 1), x),
        ((layout, 1.0), x),
        ((layout, True), x),
        ((layout, "1"), x),
        ((layout, x), x),
        ((layout, x + 1.0), x),
        ((layout, np.zeros(3)), x),
        ((layout,), jnp.zeros(4)),
        ((layout,), jnp.zeros(3, "float32")),
        ((layout,), (x, None)),
        ((layout,), model),
        ((layout,), Model(model.closure, theta=0.75)),
    ]
    assert len({digest(*one) for one in given}) == len(given)


class Foreign(eqx.Module):
    value: float = 1.0


@pytest.mark.parametrize(
    "thing", [Foreign(), lambda x: x, Foreign, object(), {1, 2}], ids=lambda thing: type(thing).__name__
)
def test_what_may_change_unseen_is_refused(thing, tmp_path):
    with pytest.raises(NotDescribable):
        digest((1, [thing]))
    assert ProgramStore(tmp_path, ()).path_of(thing, ()) is None


def test_a_program_is_found_again_and_a_damaged_one_is_not_used(tmp_path):
    arguments = ({"a": jnp.arange(3.0)}, jnp.ones(3))
    store = ProgramStore(tmp_path / "programs", ("these",))
    path = store.path_of("a sum", arguments)
    assert path is not None and store.read(path, arguments) is None
    with jax_cache_paused():
        program = compile_program(lambda x, y: {"sum": x["a"] + y}, *arguments)
    assert store.write(path, program.executable, seconds=2.0)
    found = store.read(path, arguments)
    assert found is not None and found.seconds == 2.0
    np.testing.assert_array_equal(found.executable(*arguments)["sum"], [1.0, 2.0, 3.0])
    assert ProgramStore(store.folder, ("others",)).path_of("a sum", arguments) != path
    with jax.enable_x64(False):
        assert store.path_of("a sum", arguments) != path
    path.write_bytes(path.read_bytes()[:-100])
    assert store.read(path, arguments) is None


def test_the_programs_used_last_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(program_store, "_MOST_FILES", 2)
    store, x = ProgramStore(tmp_path, ()), (jnp.ones(2),)
    with jax_cache_paused():
        executable = compile_program(jnp.negative, *x).executable
    paths = [tmp_path / f"{name}.program" for name in "abc"]
    for seconds, path in enumerate(paths[:2]):
        store.write(path, executable, 1.0)
        os.utime(path, (seconds, seconds))  # long ago: the clock of a file system is coarse
    assert store.read(paths[0], x) is not None
    store.write(paths[2], executable, 1.0)
    assert sorted(tmp_path.iterdir()) == [paths[0], paths[2]]
