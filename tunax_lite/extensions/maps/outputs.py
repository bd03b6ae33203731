"""Figures of a store of a map, for `tunax-lite plot`."""

from .figures import map_figures

FOLDERS = (map_figures,)
