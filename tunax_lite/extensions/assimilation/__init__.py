"""Assimilation of observations into a column in cycles, with forecasts from the analyses."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .cycles import Assimilation, Cycles
    from .methods import EnsembleTransform, FreeRun, Persistence
    from .observing import Operator, Stream
    from .sections import build_assimilation, load_assimilation
    from .system import Process, ProfileError, System
    from .variational import Variational

_NAMES = {
    "cycles": "Assimilation Cycles",
    "methods": "EnsembleTransform FreeRun Persistence",
    "observing": "Operator Stream",
    "sections": "build_assimilation load_assimilation",
    "system": "Process ProfileError System",
    "variational": "Variational",
}
__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
