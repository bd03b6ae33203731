"""Files of `tunax-lite assimilate`, for `tunax-lite plot` and `tunax-lite report`."""

from collections.abc import Sequence
from pathlib import Path

from ...io.errors import FileFormatError


def _figures(files: Sequence[Path]):
    from .figures import assimilation_figures, figures_together  # slow import

    return assimilation_figures(files[0]) if len(files) == 1 else figures_together(files)


def _page(file: Path, page: Path) -> Path:
    from .figures import write_page

    return write_page(file, page)


def _figures_of_columns(files: Sequence[Path]):
    from .figures import columns_figures, figures_together

    return columns_figures(files[0]) if len(files) == 1 else figures_together(files)


def _no_page(file: Path, page: Path) -> Path:
    raise FileFormatError(
        file, "file", "an assimilation of one column", "that of a map", "use `tunax-lite plot`"
    )


FILES = (
    ("assimilation", (_figures, _page)),
    ("assimilation of columns", (_figures_of_columns, _no_page)),
)
