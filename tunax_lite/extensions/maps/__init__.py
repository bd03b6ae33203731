"""Columns on a map: gridded input, remapped to points, run in tiles of columns and pieces of time."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .build import build_map, build_map_fit, load_map
    from .calibration import fit_map
    from .gridded import columns_from_dataset
    from .plan import planned
    from .run import run_map
    from .store import create_store

_NAMES = {
    "build": "build_map build_map_fit load_map",
    "calibration": "fit_map",
    "gridded": "columns_from_dataset",
    "plan": "planned",
    "run": "run_map",
    "store": "create_store",
}
__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
