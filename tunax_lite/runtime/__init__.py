"""The machine: JAX configuration, compiled programs, memory and devices.

Independent of the model. Call `configure` before creating the first array.
"""

from .cache import CacheStatistics, cache_contents, cache_statistics
from .compilation import Program, ProgramMemory, Shared, Timing, compile_program, program_table
from .configure import Configuration, configuration, configure, default_cache_folder, for_threads, is_own_flag
from .devices import Devices, column_mesh, map_columns, shard_columns
from .memory import free_memory, used_memory
from .processes import deadline, join_processes
