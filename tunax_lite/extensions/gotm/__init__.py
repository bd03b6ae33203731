"""GOTM configurations: their keys in the package's terms, their series and profiles."""

from .case import GotmOptions, LoadedGotm, Report, Translation, load_gotm, read_set_up, translate
from .settings import looks_like_gotm
from .water import ObservedInputs
