"""The column as a component of another program."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .bmi import Bmi
    from .component import Component

_NAMES = {
    "bmi": "Bmi",
    "component": "Component",
}
__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
