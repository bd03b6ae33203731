"""Names of models and of the term in files, and the section of GOTM's configurations that they read."""

from . import Biogeochemistry as Biogeochemistry
from .gotm import fabm_term

GOTM_MODULES = (("fabm", fabm_term),)
