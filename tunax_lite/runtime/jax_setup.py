"""Configure JAX: precision, the cache of compiled programs, and XLA's options for CPUs.

By default XLA turns every group of operations of a step into a separate kernel, and calling some forty of
them per step of a column takes as long as their arithmetic. It has a pass that fuses a loop into one kernel,
for loops that touch less than 1 kB per iteration; an option lifts that limit. XLA also uses only half the
width of 512-bit registers, because early processors slowed down with the full width.
"""

import contextlib
import gc
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

P = ParamSpec("P")
R = TypeVar("R")
_EXTRA_OPTIONS, _LOOP_LIMIT = "--xla_backend_extra_options", "xla_cpu_small_while_loop_byte_threshold"
FLAGS = {
    # Loops over levels stay loops: unrolled, they compile longer and run slower. XLA ignores unknown keys.
    _EXTRA_OPTIONS: f"{_LOOP_LIMIT}=1000000000,xla_cpu_disable_loop_unrolling=true",
    # Processors without vectors of this length use shorter ones.
    "--xla_cpu_prefer_vector_width": "512",
}
"""Options of XLA with their values."""


def time_loop_is_fused() -> bool:
    """Return whether XLA_FLAGS lets XLA fuse loops that touch up to 100 MB per iteration into one kernel."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    values = [flag.removeprefix(f"{_EXTRA_OPTIONS}=") for flag in flags if flag.startswith(_EXTRA_OPTIONS)]
    options = (option.partition("=") for value in values for option in value.split(","))
    limits = (int(value) for key, _, value in options if key == _LOOP_LIMIT and value.isdecimal())
    return next(limits, 0) >= 10**8


class Configuration(NamedTuple):
    """Current settings, under the names of the arguments of `configure`, and the variable XLA_FLAGS."""

    precision: Literal["float64", "float32"]
    cache_folder: Path | None
    fuse_time_loop: bool
    xla_flags: str


def configure(
    *,
    precision: Literal["float64", "float32"] | None = "float64",
    cache_folder: Path | str | None = "auto",
    fuse_time_loop: bool = True,
) -> Configuration:
    """Configure JAX before it starts: call this first in a program or notebook; repeated calls are harmless.

    Python's garbage collection also runs less often: it would take up to a quarter of the time of tracing.

    Args:
        precision: precision of new arrays; `None` leaves it unchanged.
        cache_folder: local folder for compiled programs; "auto" takes the existing setting of JAX
            (`$JAX_COMPILATION_CACHE_DIR`, `$JAX_ENABLE_COMPILATION_CACHE`), otherwise `compiled` in the
            user's cache of this package, and warns and stores none if it is not writable; `None` stores none.
            Programs of any compile time are stored, unless `$JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS` is
            set. Use a folder that others cannot write to: JAX executes its files.
        fuse_time_loop: let XLA compile the time loop to one kernel, and use vectors of up to 512 bits, which
            is faster on a CPU. It applies to all loops of this process and its child processes. `False`
            leaves the environment variable XLA_FLAGS unchanged. Options that are set there are kept; if it
            names a file, this argument has no effect.

    Raises:
        RuntimeError: JAX has started already, without the flags for `fuse_time_loop`.
        ValueError: an unknown precision.
        OSError: a `cache_folder` other than "auto" that is remote or not writable.
    """
    if precision not in ("float64", "float32", None):
        raise ValueError(f"configure: expected precision float64, float32 or None, got {precision!r}.")
    if fuse_time_loop:
        _add_flags()
    if precision is not None:
        jax.config.update("jax_enable_x64", precision == "float64")
    _collect_garbage_less_often()
    _set_cache(cache_folder)
    return configuration()


def configuration() -> Configuration:
    """Return the current settings, from `configure` or from elsewhere."""
    folder = _setting("compilation_cache_dir") if _setting("enable_compilation_cache") else None
    return Configuration(
        precision="float64" if _setting("enable_x64") else "float32",
        cache_folder=None if not folder else Path(folder),
        fuse_time_loop=time_loop_is_fused(),
        xla_flags=os.environ.get("XLA_FLAGS", ""),
    )


@contextlib.contextmanager
def failures_as_values() -> Iterator[None]:
    """Allow NaN and infinity, which mark failed runs, in a context or a decorated function.

    JAX's flags `jax_debug_nans` and `jax_debug_infs` would raise an exception at the first failed run.
    """
    with jax.debug_nans(False), jax.debug_infs(False):
        yield


def for_threads(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function for other threads, where JAX's context managers of this thread have no effect."""
    double = _setting("enable_x64")

    def call(*args: P.args, **named: P.kwargs) -> R:
        with jax.enable_x64(double), failures_as_values():
            return function(*args, **named)

    return call


def _setting(name: str) -> Any:  # types differ between settings
    """Return a setting of JAX, whose attributes are unknown to type checkers."""
    return getattr(jax.config, f"jax_{name}")


def _collect_garbage_less_often() -> None:
    """Exempt what exists from garbage collection, and collect less often: tracing makes permanent objects."""
    if 0 < gc.get_threshold()[0] < 50_000:  # 0: switched off by the caller
        gc.freeze()
        gc.set_threshold(50_000, 50)


def _add_flags() -> None:
    """Append missing `FLAGS` to XLA_FLAGS, unless that names a file."""
    flags = os.environ.get("XLA_FLAGS", "").strip()
    missing = [f"{option}={value}" for option, value in FLAGS.items() if option not in flags]
    if not missing or (flags and not flags.startswith("-")):  # a file
        return
    # JAX has no public name for this; its own messages about late settings use it.
    from jax._src import xla_bridge

    if xla_bridge.backends_are_initialized():
        raise RuntimeError(
            "configure: expected to be called before JAX starts, got a process in which JAX has made its "
            "first array (or listed its devices) already, so that XLA_FLAGS is read no more; call it first, "
            "after restarting the kernel in a notebook, or pass fuse_time_loop=False."
        )
    os.environ["XLA_FLAGS"] = " ".join([flags, *missing]).strip()


def _set_cache(folder: Path | str | None) -> None:
    enabled, path = before = _setting("enable_compilation_cache"), _setting("compilation_cache_dir")
    if folder is None:
        enabled = False
    elif folder != "auto":
        enabled, path = True, _private_folder(folder)
    elif enabled:
        enabled, path = _default_folder(path)
    if (enabled, path) != before:
        jax.config.update("jax_enable_compilation_cache", enabled)
        jax.config.update("jax_compilation_cache_dir", path)
        reset_cache()  # JAX reads the setting only once, at its first program
    # Store small programs too: the thirty of a run take half a second to compile, and load at once.
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def _default_folder(chosen: str | None) -> tuple[bool, str | None]:
    """Return whether the cache is enabled, and its folder; disable it with a warning if that is unusable."""
    import platformdirs  # only here: the core runs without it

    try:
        return True, _private_folder(chosen or Path(platformdirs.user_cache_dir("tunax_lite")) / "compiled")
    except OSError as error:
        warnings.warn(f"compiled programs are not stored: {error}", RuntimeWarning, stacklevel=4)
        return False, chosen


def _private_folder(folder: Path | str) -> str:
    """Return the absolute path of a local folder, created for this user alone: JAX executes its files."""
    path = Path(folder).expanduser().absolute()
    is_local = "://" not in str(folder)
    if is_local:
        with contextlib.suppress(OSError):  # rejected below
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (is_local and path.is_dir() and os.access(path, os.W_OK | os.X_OK)):
        raise PermissionError(
            f"{folder}: expected a folder for compiled programs that can be written; choose a folder of your "
            "own, or switch the cache off with cache_folder=None."
        )
    return str(path)
