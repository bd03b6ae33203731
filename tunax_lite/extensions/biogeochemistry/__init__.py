"""Biogeochemistry in the column: models, their coupling, and the set-ups of FABM."""

from ..._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .bfm17 import BFM17
    from .carbonate import Carbonate, Equilibrium, equilibrium
    from .contract import check_model
    from .ergom import Ergom
    from .fabm import Ecosystem, read_fabm
    from .fasham import Fasham
    from .interface import AbstractBiogeochemicalModel, Environment, Exchanges, Pool
    from .notes import notes_on
    from .npzd import NPZD
    from .oceanbiome import OceanBioMENPZD
    from .oxygen import Oxygen, oxygen_saturation, schmidt_number
    from .passive import Age, Passive
    from .schemes import (
        AbstractSourceScheme,
        Euler,
        ExtendedModifiedPatankar,
        ExtendedModifiedPatankar2,
        ModifiedPatankar,
        ModifiedPatankar2,
        Patankar,
        Patankar2,
        RungeKutta2,
        RungeKutta4,
    )
    from .term import Biogeochemistry

_NAMES = {
    "bfm17": "BFM17",
    "carbonate": "Carbonate Equilibrium equilibrium",
    "contract": "check_model",
    "ergom": "Ergom",
    "fabm": "Ecosystem read_fabm",
    "fasham": "Fasham",
    "interface": "AbstractBiogeochemicalModel Environment Exchanges Pool",
    "notes": "notes_on",
    "npzd": "NPZD",
    "oceanbiome": "OceanBioMENPZD",
    "oxygen": "Oxygen oxygen_saturation schmidt_number",
    "passive": "Age Passive",
    "schemes": "AbstractSourceScheme Euler ExtendedModifiedPatankar ExtendedModifiedPatankar2 "
    "ModifiedPatankar ModifiedPatankar2 Patankar Patankar2 RungeKutta2 RungeKutta4",
    "term": "Biogeochemistry",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
