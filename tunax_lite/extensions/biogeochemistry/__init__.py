"""Biogeochemistry in the column: models, their coupling, and the set-ups of FABM."""

from .bfm17 import BFM17 as BFM17
from .carbonate import Carbonate as Carbonate
from .ergom import Ergom as Ergom
from .fasham import Fasham as Fasham
from .interface import (
    AbstractBiogeochemicalModel as AbstractBiogeochemicalModel,
)
from .interface import (
    Environment as Environment,
)
from .interface import (
    Exchanges as Exchanges,
)
from .interface import (
    Pool as Pool,
)
from .npzd import NPZD as NPZD
from .oceanbiome import OceanBioMENPZD as OceanBioMENPZD
from .oxygen import Oxygen as Oxygen
from .passive import Age as Age
from .passive import Passive as Passive
from .schemes import (
    AbstractSourceScheme as AbstractSourceScheme,
)
from .schemes import (
    Euler as Euler,
)
from .schemes import (
    ModifiedPatankar as ModifiedPatankar,
)
from .schemes import (
    ModifiedPatankar2 as ModifiedPatankar2,
)
from .schemes import (
    Patankar as Patankar,
)
from .schemes import (
    Patankar2 as Patankar2,
)
from .schemes import (
    RungeKutta2 as RungeKutta2,
)
from .schemes import (
    RungeKutta4 as RungeKutta4,
)
from .term import Biogeochemistry as Biogeochemistry
