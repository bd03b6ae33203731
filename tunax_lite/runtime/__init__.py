"""JAX configuration, compiled programs, memory, devices and workers; independent of ocean physics.

Call `configure` before creating the first array. Names are imported on first use, so that help needs no JAX.
"""

from .._lazy import lazily

TYPE_CHECKING = False  # true for type checkers; the module `typing` takes milliseconds to import

if TYPE_CHECKING:
    from .compilation import compile_program
    from .devices import shard_columns
    from .jax_setup import configure

_NAMES = {
    "compilation": "compile_program",
    "devices": "shard_columns",
    "jax_setup": "configure",
}
__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
