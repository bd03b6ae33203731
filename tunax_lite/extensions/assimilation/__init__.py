"""Assimilation: observations enter a column cycle after cycle, and forecasts begin from the analyses."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .cycles import Assimilation, Cycles, Records
    from .methods import (
        AbstractMethod,
        Analysis,
        Climatology,
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
    from .smoothers import EnsembleSmoother, Variational
    from .system import Ensemble, Process, ProfileError, System

_NAMES = {
    "cycles": "Assimilation Cycles Records",
    "methods": "AbstractMethod Analysis Climatology EnsembleTransform FreeRun Nudging Persistence Window "
    "transform",
    "observing": "Operator Stream streams_of",
    "results": "write_records",
    "sections": "build_assimilation load_assimilation",
    "smoothers": "EnsembleSmoother Variational",
    "system": "Ensemble Process ProfileError System",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
