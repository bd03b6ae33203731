"""Columns on a map: gridded input that is remapped to points, and the batches of columns that it makes."""

from .columns import ColumnMap
from .settings import MapInput

__all__ = ["ColumnMap", "MapInput"]
