"""Fluxes between air and sea from the weather: bulk formulae, radiation, albedo; one variant per module."""

from .air import AbstractBulkFormula as AbstractBulkFormula
from .air import Exchange as Exchange
from .air import MoistAir as MoistAir
from .air import WaterSkin as WaterSkin
from .bulk_forcing import BulkForcing as BulkForcing
from .bulk_forcing import Weather as Weather
from .bulk_forcing import WeatherOffsets as WeatherOffsets
from .coare import Coare30 as Coare30
from .coare import Coare36 as Coare36
from .coare import Fairall as Fairall
from .radiation import AbstractAlbedo as AbstractAlbedo
from .radiation import AbstractLongwave as AbstractLongwave
from .radiation import BerliandBerliand as BerliandBerliand
from .radiation import Bignami as Bignami
from .radiation import Clark as Clark
from .radiation import ClearSky as ClearSky
from .radiation import Cogley as Cogley
from .radiation import ConstantAlbedo as ConstantAlbedo
from .radiation import DownwardLongwave as DownwardLongwave
from .radiation import HastenrathLamb as HastenrathLamb
from .radiation import Josey1 as Josey1
from .radiation import Josey2 as Josey2
from .radiation import Payne as Payne
from .radiation import SolarPosition as SolarPosition
from .transfer_coefficients import Kondo as Kondo
from .transfer_coefficients import LargeYeager as LargeYeager
