"""Columns on a map: gridded input that is remapped to points, and the batches of columns that it makes.

What reads files, `gridded`, is imported where it is needed.
"""

from .columns import ColumnMap
from .settings import Gridded, GridPoints, InputPoints, MapInput, SitePoints, map_input

__all__ = ["ColumnMap", "GridPoints", "Gridded", "InputPoints", "MapInput", "SitePoints", "map_input"]
