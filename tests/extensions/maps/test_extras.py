"""A map without the packages that it needs."""

from pathlib import Path

import pytest

from tunax_lite.cli import session

MAP = Path(__file__).parents[3] / "configs/maps/synthetic.yaml"


@pytest.mark.parametrize("command", ["map", "check"])
def test_a_map_without_zarr(bare, tmp_path, command):
    output = ["--output", tmp_path / "out.zarr"] if command == "map" else []
    result = bare(command, MAP, *output)
    assert result.exit_code == session.BAD_INPUT, result.output
    assert "tunax-lite map: expected the package zarr, got none" in result.stderr
    assert "pip install 'tunax_lite[cluster]' (in a clone: pip install '.[cluster]')" in result.stderr
