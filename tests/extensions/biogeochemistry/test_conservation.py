"""The table of conservation: its rows, and a scheme that conserves beside one that does not."""

import pytest

from benchmarks import conservation
from tunax_lite.extensions.biogeochemistry import NPZD, ExtendedModifiedPatankar2, ModifiedPatankar, Patankar


@pytest.mark.long
def test_schemes_conserve_or_not():
    rows = [
        conservation.conserved("npzd", NPZD(), scheme, "43200", 2.0)[0]
        for scheme in (ModifiedPatankar(), Patankar(), ExtendedModifiedPatankar2())
    ]
    assert [row["what"] for row in rows] == ["nitrogen"] * 3
    assert rows[0]["largest_change"] < 1e-13 and rows[1]["largest_change"] > 1e-6
    assert rows[2]["largest_change"] < 1e-13
    assert all(row["least"] > 0.0 for row in rows)
