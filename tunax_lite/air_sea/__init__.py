"""Fluxes between air and sea from the weather: bulk formulae, radiation, albedo; one variant per module."""

from .albedo import AbstractAlbedo as AbstractAlbedo
from .albedo import Cogley as Cogley
from .albedo import ConstantAlbedo as ConstantAlbedo
from .albedo import Payne as Payne
from .base import AbstractBulkFormula as AbstractBulkFormula
from .base import Exchange as Exchange
from .base import MoistAir as MoistAir
from .base import WaterSkin as WaterSkin
from .bulk_forcing import BulkForcing as BulkForcing
from .coare import Coare30 as Coare30
from .coare import Coare36 as Coare36
from .fairall import Fairall as Fairall
from .kondo import Kondo as Kondo
from .large_yeager import LargeYeager as LargeYeager
from .longwave import AbstractLongwave as AbstractLongwave
from .longwave import BerliandBerliand as BerliandBerliand
from .longwave import Bignami as Bignami
from .longwave import Clark as Clark
from .longwave import DownwardLongwave as DownwardLongwave
from .longwave import HastenrathLamb as HastenrathLamb
from .longwave import Josey1 as Josey1
from .longwave import Josey2 as Josey2
from .solar import ClearSky as ClearSky
from .solar import SolarPosition as SolarPosition
from .weather import Weather as Weather
from .weather import WeatherOffsets as WeatherOffsets
