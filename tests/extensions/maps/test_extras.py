"""A map without the packages that it needs."""

from pathlib import Path

from tunax_lite.cli import session

MAP = Path(__file__).parents[3] / "configs/maps/synthetic.yaml"


def test_a_map_without_zarr(bare, tmp_path):
    result = bare("map", MAP, "--output", tmp_path / "out.zarr")
    assert result.exit_code == session.BAD_INPUT, result.output
    assert "zarr" in result.stderr and "tunax_lite[cluster]" in result.stderr
