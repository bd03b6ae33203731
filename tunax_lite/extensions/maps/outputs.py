"""Figures of a store of a map, for `tunax-lite plot`."""

from pathlib import Path

from .figures import map_figures


def _is_store(path: Path) -> bool:
    root = path / "zarr.json"  # which other programs have as well
    return root.is_file() and '"tunax_lite_map_dims"' in root.read_text(encoding="utf-8", errors="replace")


FOLDERS = (("the store of `tunax-lite map`", _is_store, map_figures),)
