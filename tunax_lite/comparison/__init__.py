"""Closures side by side: errors against references, and time per step, for resolutions and time steps."""

from .compare import Candidate as Candidate
from .compare import Compared as Compared
from .compare import compare_closures as compare_closures
from .reference import PERSISTENCE as PERSISTENCE
from .reference import Reference as Reference
from .reference import ShownCase as ShownCase
from .reference import StoredResult as StoredResult
from .summary import ComparisonRow as ComparisonRow
from .summary import Summary as Summary
from .summary import summaries as summaries
from .summary import write_markdown as write_markdown
from .summary import write_rows as write_rows
