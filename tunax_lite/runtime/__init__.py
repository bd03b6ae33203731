"""The machine: set-up of JAX, compiled programs, memory and devices.

Nothing here knows of columns. `configure` is called before the first array.
"""

from .cache import CacheStatistics, cache_contents, cache_statistics
from .compilation import Program, ProgramMemory, Shared, Timing, compile_program, program_table
from .configure import Configuration, configuration, configure, default_cache_folder, for_threads, is_own_flag
from .devices import Devices, column_mesh, map_columns, shard_columns
from .memory import free_memory, used_memory
from .processes import deadline, join_processes
