"""Columns on a map: gridded input, remapped to points, run in tiles of columns and pieces of time."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .build import build_map, build_map_fit, load_map
    from .figures import map_figures
    from .gridded import columns_from_dataset
    from .sections import Gridded, GridPoints, InputPoints, MapInput, SitePoints
    from .setup import ColumnMap

_NAMES = {
    "build": "build_map build_map_fit load_map",
    "figures": "map_figures",
    "gridded": "columns_from_dataset",
    "sections": "Gridded GridPoints InputPoints MapInput SitePoints",
    "setup": "ColumnMap",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
