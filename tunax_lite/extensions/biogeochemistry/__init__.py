"""Biogeochemistry in the column: models, their coupling, and the set-ups of FABM."""

from .carbonate import Carbonate as Carbonate
from .ergom import Ergom as Ergom
from .fasham import Fasham as Fasham
from .interface import (
    AbstractBiogeochemicalModel as AbstractBiogeochemicalModel,
    Environment as Environment,
    Exchanges as Exchanges,
    Pool as Pool,
)
from .npzd import NPZD as NPZD
from .passive import Passive as Passive
from .schemes import (
    AbstractSourceScheme as AbstractSourceScheme,
    Euler as Euler,
    ModifiedPatankar as ModifiedPatankar,
    ModifiedPatankar2 as ModifiedPatankar2,
    Patankar as Patankar,
    Patankar2 as Patankar2,
    RungeKutta2 as RungeKutta2,
    RungeKutta4 as RungeKutta4,
)
from .term import Biogeochemistry as Biogeochemistry
