"""CATKE: turbulent energy with a length that follows from the flow and from convection."""

from .catke import CATKE as CATKE
from .catke import CATKEState as CATKEState
