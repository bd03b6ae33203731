"""GOTM's set-ups: their keys in the words of this package, with a report on each."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .case import LoadedGotm, Translation, build_gotm, load_gotm, translate
    from .settings import looks_like_gotm
    from .water import GotmOptions, ObservedInputs

_NAMES = {
    "case": "LoadedGotm Translation build_gotm load_gotm translate",
    "settings": "looks_like_gotm",
    "water": "GotmOptions ObservedInputs",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
