"""Columns on a map: gridded input that is remapped to points, and the batches of columns that it makes."""

from .columns import ColumnMap

__all__ = ["ColumnMap"]
