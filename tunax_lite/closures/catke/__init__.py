"""CATKE: turbulent energy with a length that follows from the flow and from convection."""

from .catke import Catke as Catke
from .catke import CatkeState as CatkeState
