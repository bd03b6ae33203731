"""GOTM set-ups translated to configurations of this package, with a report on every key."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .case import build_gotm, load_gotm
    from .water import ObservedInputs

_NAMES = {
    "case": "build_gotm load_gotm",
    "water": "ObservedInputs",
}
__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
