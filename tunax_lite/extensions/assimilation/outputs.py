"""Files of `tunax-lite assimilate`, for `tunax-lite plot`."""

from collections.abc import Sequence
from pathlib import Path


def _figures(files: Sequence[Path]):
    from .figures import assimilation_figures, figures_together  # slow import

    return assimilation_figures(files[0]) if len(files) == 1 else figures_together(files)


FILES = (("assimilation", _figures),)
