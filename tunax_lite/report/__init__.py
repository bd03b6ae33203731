"""Self-contained pages about results: one HTML file each, which needs no network."""

from .calibration import (
    FIGURES,
    POSTERIOR_FIGURES,
    RunFolder,
    parameter_rows,
    read_run_folder,
    render,
    write_report,
)
from .page import number
from .run import render_run, write_run_report
