"""A mixed layer that is one body of water, whose depth follows from its energy or its Richardson number."""

from .kraus_turner import KrausTurner as KrausTurner
from .layer import BulkLayerState as BulkLayerState
from .price_weller_pinkel import PriceWellerPinkel as PriceWellerPinkel
