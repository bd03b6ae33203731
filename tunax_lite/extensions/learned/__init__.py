"""Closures that others have learned from simulations, with their published numbers."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .equation_discovery import DiscoveredProfile, VelocityByDepth, VelocityByRotation
    from .nori import NORi
    from .weights import Networks, read_networks

_NAMES = {
    "equation_discovery": "DiscoveredProfile VelocityByDepth VelocityByRotation",
    "nori": "NORi",
    "weights": "Networks read_networks",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
