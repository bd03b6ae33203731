"""Biogeochemistry in the column: models, their coupling, and FABM's set-ups."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .bfm17 import BFM17
    from .carbonate import Carbonate, equilibrium
    from .ergom import Ergom
    from .fabm import read_fabm
    from .fasham import Fasham
    from .interface import AbstractBiogeochemicalModel, Exchanges, Pool
    from .npzd import NPZD
    from .oxygen import Oxygen
    from .passive import Age, Passive
    from .term import Biogeochemistry

_NAMES = {
    "bfm17": "BFM17",
    "carbonate": "Carbonate equilibrium",
    "ergom": "Ergom",
    "fabm": "read_fabm",
    "fasham": "Fasham",
    "interface": "AbstractBiogeochemicalModel Exchanges Pool",
    "npzd": "NPZD",
    "oxygen": "Oxygen",
    "passive": "Age Passive",
    "term": "Biogeochemistry",
}
__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
