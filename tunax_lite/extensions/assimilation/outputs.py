"""Files of `tunax-lite assimilate`, for `tunax-lite plot`."""

from collections.abc import Sequence
from pathlib import Path


def _figures(files: Sequence[Path]):
    from ...io.errors import FileFormatError
    from .figures import assimilation_figures  # slow import

    if len(files) > 1:
        raise FileFormatError(files[1], "file", "one assimilation", "another file", "plot them one by one")
    return assimilation_figures(files[0])


FILES = (("assimilation", _figures),)
