"""One page about a calibration, with everything in it: what was asked, what was found, and from what."""

from .page import write_report as write_report
from .run_folder import RunFolder as RunFolder
from .run_folder import read_run_folder as read_run_folder
