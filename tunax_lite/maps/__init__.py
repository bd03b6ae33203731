"""Columns on a map: gridded input, remapped to points, and batches of columns.

What reads files, `gridded`, is imported where it is needed.
"""

from .columns import ColumnMap
from .settings import Gridded, GridPoints, InputPoints, MapInput, SitePoints, map_input

__all__ = ["ColumnMap", "GridPoints", "Gridded", "InputPoints", "MapInput", "SitePoints", "map_input"]
