"""An assimilation as a kind of configuration."""

from ...config.formats import Kind
from .sections import AssimilationConfig

KINDS = (Kind("assimilation", "cycles", AssimilationConfig, f"{__package__}.command"),)
