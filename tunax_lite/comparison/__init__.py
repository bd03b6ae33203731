"""Closures side by side: errors against references, and time per step, for resolutions and time steps."""

from .compare import Candidate, Compared, compare_closures
from .reference import PERSISTENCE, Reference, ShownCase, StoredResult
from .summary import ComparisonRow, Summary, summaries, write_markdown, write_rows
