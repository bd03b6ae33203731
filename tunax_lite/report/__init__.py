"""Self-contained pages about results: one HTML file each, which needs no network."""

from .pages import (
    FIGURES,
    POSTERIOR_FIGURES,
    RunFolder,
    number,
    page,
    parameter_rows,
    read_run_folder,
    render,
    render_run,
    write_report,
    write_run_report,
)

__all__ = [
    "write_report",
    "write_run_report",
]


def __dir__() -> list[str]:
    return __all__
