"""A board as a kind of configuration."""

from ...config.formats import Kind
from .sections import BoardConfig


def _check(*arguments):
    from .command import check  # imports the command line

    return check(*arguments)


KINDS = (Kind("board", "protocol", BoardConfig, _check),)
