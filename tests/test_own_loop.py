"""The page on one's own loop works as it is printed."""

import re
from pathlib import Path

import equinox as eqx
import jax
import pytest

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[1] / "docs" / "own_loop.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def test_the_page_is_executed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    with jax.numpy_dtype_promotion("standard"):  # as users have it, and optax needs
        exec(compile("\n".join(BLOCK.findall(PAGE)), "own_loop.md", "exec"), names)  # noqa: S102
    assert names["losses"][-1] < 0.9 * names["losses"][1]
    assert names["mean_square_and_slope"]._cache_size() == 1
    assert eqx.tree_equal(names["again"], names["tl"].constrained(names["x"]))
    assert names["ensemble"].shape == (3, 16, 8)
    (printed,) = re.findall(r"print\(tl.first_non_finite.*  # (.*)", PAGE)
    assert capsys.readouterr().out.splitlines()[-1] == printed
