"""GOTM's set-ups: their keys in the words of this package, with a report on each."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .case import GotmOptions, LoadedGotm, Translation, build_gotm, load_gotm, translate
    from .settings import looks_like_gotm
    from .water import ObservedInputs

_NAMES = {
    "case": "GotmOptions LoadedGotm Translation build_gotm load_gotm translate",
    "settings": "looks_like_gotm",
    "water": "ObservedInputs",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
