"""What the machine does: the set-up of JAX, compiled programs, memory and devices.

Nothing here knows of columns. `configure` is called before the first array.
"""

from .cache import CacheStatistics as CacheStatistics
from .cache import cache_contents as cache_contents
from .cache import cache_statistics as cache_statistics
from .compilation import Program as Program
from .compilation import ProgramMemory as ProgramMemory
from .compilation import Timing as Timing
from .compilation import compile_program as compile_program
from .compilation import program_table as program_table
from .compilation import shapes_of as shapes_of
from .configure import Configuration as Configuration
from .configure import configuration as configuration
from .configure import configure as configure
from .configure import default_cache_folder as default_cache_folder
from .configure import is_own_flag as is_own_flag
from .devices import Devices as Devices
from .devices import column_mesh as column_mesh
from .devices import map_columns as map_columns
from .devices import shard_columns as shard_columns
from .memory import free_memory as free_memory
from .memory import used_memory as used_memory
