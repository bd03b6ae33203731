"""Corrections of a case whose numbers a calibration may find: of what it starts from, of what drives it."""

from .fluxes import CorrectedForcing as CorrectedForcing
from .initial_state import InitialCorrection as InitialCorrection
