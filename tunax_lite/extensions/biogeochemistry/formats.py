"""Names of models and of the term in files, and the section of GOTM's configurations that they read."""

from collections.abc import Sequence
from pathlib import Path

from ...config.formats import AbstractSetUp, SetUpFormat

# Each module gives its classes their names.
from . import bfm17, carbonate, ergom, fasham, npzd, oxygen, passive, term  # noqa: F401
from .gotm import fabm_module
from .notes import notes_on_negative_pools, notes_on_pools


def _is_fabm(path: Path) -> bool:
    from .fabm import is_fabm

    return is_fabm(path)


def _load(path: Path, overrides: Sequence[str]) -> AbstractSetUp:
    from .fabm import load_fabm

    return load_fabm(path, overrides)


SET_UPS = (SetUpFormat(_is_fabm, _load),)
NOTES_ON_TERMS = (notes_on_pools,)
NOTES_ON_RUNS = (notes_on_negative_pools,)
GOTM_MODULES = (("fabm", fabm_module),)
