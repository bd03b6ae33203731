"""Names of models and of the term in files, and the section of GOTM's configurations that they read."""

# Each module gives its classes their names.
from . import (
    bfm17 as bfm17,
)
from . import (
    carbonate as carbonate,
)
from . import (
    ergom as ergom,
)
from . import (
    fasham as fasham,
)
from . import (
    npzd as npzd,
)
from . import (
    oceanbiome as oceanbiome,
)
from . import (
    oxygen as oxygen,
)
from . import (
    passive as passive,
)
from . import (
    term as term,
)
from .gotm import fabm_module

GOTM_MODULES = (("fabm", fabm_module),)
