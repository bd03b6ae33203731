"""GOTM set-ups: their configuration, series and profiles, mapped to the objects of the package."""

from .case import GotmOptions as GotmOptions
from .case import GotmRun as GotmRun
from .case import LoadedGotm as LoadedGotm
from .case import Report as Report
from .case import build_gotm as build_gotm
from .case import load_gotm as load_gotm
from .observed import ObservedInputs as ObservedInputs
from .settings import looks_like_gotm as looks_like_gotm
