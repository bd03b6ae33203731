"""Register the models, the term, its notes, and the translation of GOTM's section `fabm`."""

# Importing these modules registers the names of their classes.
from . import bfm17, carbonate, ergom, fasham, npzd, oxygen, passive, term  # noqa: F401
from .gotm import fabm_module
from .notes import notes_on_pools

NOTES_ON_TERMS = (notes_on_pools,)
GOTM_MODULES = (("fabm", fabm_module),)
