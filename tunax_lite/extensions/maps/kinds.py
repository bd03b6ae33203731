"""A map as a kind of configuration."""

from ...config.formats import Kind
from .sections import MapConfig


def _check(*arguments):
    from .command import check  # imports the command line

    return check(*arguments)


def _calibrate(*arguments, **options):
    from .command import calibrate_map

    calibrate_map(*arguments, **options)


KINDS = (Kind("map", "map", MapConfig, _check, _calibrate),)
