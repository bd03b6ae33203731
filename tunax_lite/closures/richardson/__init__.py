"""Closures that know the gradient Richardson number Ri = N² / S² alone: no energy, no time scale."""

from .base import AbstractRichardson as AbstractRichardson
from .base import RichardsonState as RichardsonState
from .munk_anderson import MunkAndersonMixing as MunkAndersonMixing
from .pacanowski_philander import PacanowskiPhilander as PacanowskiPhilander
from .ri_based import RiBased as RiBased
