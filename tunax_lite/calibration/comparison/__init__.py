"""Comparison of closures: errors against references, and time per step, by resolution and time step."""

from .compare import Candidate, Compared, compare_closures
from .kept import KeptRows
from .reference import PERSISTENCE, Reference, ShownCase, StoredResult
from .summary import ComparisonRow, Summary, resolution_in_words, summaries, write_markdown, write_rows
