"""A map as a kind of configuration."""

from ...config.formats import Kind
from .sections import MapConfig

KINDS = (Kind("map", "map", MapConfig, f"{__package__}.command"),)
