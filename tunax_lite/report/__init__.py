"""Self-contained page about a calibration: one HTML file, which needs no network."""

from .pages import (
    FIGURES,
    POSTERIOR_FIGURES,
    CalibrationFolder,
    parameter_entries,
    read_calibration_folder,
    render,
    write_report,
)

__all__ = ["write_report"]


def __dir__() -> list[str]:
    return __all__
