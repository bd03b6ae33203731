"""Names in files of the closures and of the parts of closures."""

from . import equation_discovery as equation_discovery
from . import nori as nori
