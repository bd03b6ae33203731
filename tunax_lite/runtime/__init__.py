"""The machine: JAX configuration, compiled programs, memory and devices; nothing of the ocean.

Call `configure` before creating the first array. Names are imported on first use, so that help needs no JAX.
"""

from .._lazy import lazily

TYPE_CHECKING = False  # true for type checkers; the module `typing` takes milliseconds to import

if TYPE_CHECKING:
    from .cache import CacheStatistics, cache_contents, cache_statistics
    from .compilation import Program, ProgramMemory, Shared, Timing, compile_program, program_table
    from .devices import Devices, column_mesh, map_columns, shard_columns
    from .jax_setup import (
        Configuration,
        configuration,
        configure,
        default_cache_folder,
        failures_as_values,
        for_threads,
        is_own_flag,
    )
    from .memory import free_memory, used_memory

_NAMES = {
    "cache": "CacheStatistics cache_contents cache_statistics",
    "compilation": "Program ProgramMemory Shared Timing compile_program program_table",
    "devices": "Devices column_mesh map_columns shard_columns",
    "jax_setup": "Configuration configuration configure default_cache_folder failures_as_values for_threads "
    "is_own_flag",
    "memory": "free_memory used_memory",
}
__all__, __getattr__ = lazily(__name__, _NAMES)
