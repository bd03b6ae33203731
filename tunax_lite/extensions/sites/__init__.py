"""A site from its position: weather, water, depth, waves and tides from files or services, in one folder."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .sources import Found, Place, Work, source

_NAMES = {"sources": "Found Place Work source"}
__all__, __getattr__ = lazily(__name__, _NAMES)
