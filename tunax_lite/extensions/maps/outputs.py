"""Figures of a store of a map, for `tunax-lite plot`."""

from pathlib import Path

from .figures import map_figures


def _is_store(path: Path) -> bool:
    return path.suffix == ".zarr" or (path / "zarr.json").is_file()


FOLDERS = ((_is_store, map_figures),)
