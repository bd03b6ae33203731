"""GOTM's set-ups: their keys in the words of a configuration of the package, their series and profiles."""

from .case import (
    GotmOptions,
    LoadedGotm,
    Report,
    Translation,
    load_gotm,
    read_set_up,
    translate,
)
from .settings import looks_like_gotm
from .water import ObservedInputs
