"""A board as a kind of configuration."""

from ...config.formats import Kind
from .sections import BoardConfig

KINDS = (Kind("board", "protocol", BoardConfig, f"{__package__}.command"),)
