"""Columns on a map: gridded input, remapped to points, and batches of columns.

The module `gridded`, which reads files, is imported on demand.
"""

from .columns import ColumnMap
from .settings import Gridded, GridPoints, InputPoints, MapInput, SitePoints, map_input

__all__ = ["ColumnMap", "GridPoints", "Gridded", "InputPoints", "MapInput", "SitePoints", "map_input"]
