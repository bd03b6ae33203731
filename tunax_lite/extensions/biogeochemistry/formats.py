"""Names of models and of the term in files, and the section of GOTM's configurations that they read."""

# Each module gives its classes their names.
from . import bfm17, carbonate, ergom, fasham, npzd, oxygen, passive, term  # noqa: F401
from .gotm import fabm_module
from .notes import notes_on_pools

NOTES_ON_TERMS = (notes_on_pools,)
GOTM_MODULES = (("fabm", fabm_module),)
