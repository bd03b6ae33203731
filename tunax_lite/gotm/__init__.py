"""GOTM's set-ups: their keys in the words of a configuration of the package, their series and profiles."""

from .case import GotmOptions as GotmOptions
from .case import GotmRun as GotmRun
from .case import LoadedGotm as LoadedGotm
from .case import ObservedInputs as ObservedInputs
from .case import Report as Report
from .case import Translation as Translation
from .case import build_gotm as build_gotm
from .case import load_gotm as load_gotm
from .case import translate as translate
from .settings import looks_like_gotm as looks_like_gotm
