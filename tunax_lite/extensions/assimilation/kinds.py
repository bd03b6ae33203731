"""An assimilation as a kind of configuration."""

from ...config.formats import Kind
from .sections import AssimilationConfig


def _check(*arguments):
    from .command import check  # imports the command line

    return check(*arguments)


KINDS = (Kind("assimilation", "cycles", AssimilationConfig, _check),)
