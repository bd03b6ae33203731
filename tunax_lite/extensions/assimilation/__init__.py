"""Assimilation: observations enter a column cycle after cycle, and forecasts begin from the analyses."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .cycles import Assimilation, Cycles, Records
    from .methods import (
        AbstractAssimilationMethod,
        Analysis,
        EnsembleTransform,
        FreeRun,
        Nudging,
        Persistence,
        Window,
        transform,
    )
    from .observing import Operator, Stream, streams_of
    from .results import write_records
    from .sections import build_assimilation, load_assimilation
    from .system import Ensemble, Process, ProfileError, System
    from .variational import Variational

_NAMES = {
    "cycles": "Assimilation Cycles Records",
    "methods": "AbstractAssimilationMethod Analysis EnsembleTransform FreeRun Nudging Persistence "
    "Window transform",
    "observing": "Operator Stream streams_of",
    "results": "write_records",
    "sections": "build_assimilation load_assimilation",
    "system": "Ensemble Process ProfileError System",
    "variational": "Variational",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
