"""A board of closures: one protocol for those of the package, by import path, and results of other models."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .scores import Row, Score
    from .sections import BoardConfig, SubmissionConfig, load_board
    from .submissions import Submission, read_submission

_NAMES = {
    "scores": "Row Score",
    "sections": "BoardConfig SubmissionConfig load_board",
    "submissions": "Submission read_submission",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
