"""Whole programs on disk: found by what they are made of, so that another process need not trace them.

JAX's own cache of compiled programs is asked after tracing, because its key is the traced program. The key
here is the source of the package, the versions, the settings and the machine, and what the caller says that
the program depends on.
"""

import hashlib
import os
import pickle
import platform
import secrets
import sys
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.experimental import serialize_executable

from .description import NotDescribable, digest

SUFFIX = ".program"
_FORMAT = 1
_MOST_FILES = 64
_LIBRARIES = ("jax", "jaxlib", "equinox", "numpy")
_ENVIRONMENT = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


def _surroundings() -> tuple[str, ...]:
    """The code of the package as it is on disk now, the versions of others and the processor."""
    source = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        source.update(f"{path.relative_to(package)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return source.hexdigest(), *map(version, _LIBRARIES), sys.version, platform.machine(), _processor()


def _processor() -> str:
    """What instructions the processor has, where Linux lists them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    listed = [line for line in lines if line.startswith(("flags", "Features", "model name"))]
    return "\n".join(sorted(set(listed)))


_wanted: list[tuple[str, ...]] = []


def keep_whole_programs() -> None:
    """Keep programs whole beside JAX's cache from now on, where that cache is on.

    For programs whose code is that on disk, as the command line is: what a process patches after its start
    is not seen. Call this first.
    """
    if not _wanted:
        _wanted.append(_surroundings())


def store_in_use() -> "ProgramStore | None":
    """The store beside JAX's cache, if programs are to be kept."""
    told = jax.config.values
    folder = told["jax_compilation_cache_dir"] if told["jax_enable_compilation_cache"] else None
    return ProgramStore(Path(folder) / "programs", _wanted[0]) if _wanted and folder else None


class StoredProgram(NamedTuple):
    """What was found: the executable, and the seconds that making it took."""

    executable: Any
    seconds: float


class ProgramStore:
    """The programs in a folder, of which the least recently used are removed.

    Args:
        folder: made when the first program is written. Whoever can write to it can make this process run
            what they like.
        surroundings: code, versions and machine, which the programs are for.
    """

    def __init__(self, folder: Path, surroundings: Any):
        self.folder = folder
        self._surroundings = surroundings

    def path_of(self, static: Any, arguments: Any) -> Path | None:
        """Where a program is kept; `None` for one that is not known well enough to be kept.

        Args:
            static: all that becomes part of the program.
            arguments: of which shapes and types count.
        """
        # As they are in this thread, where JAX has an attribute for a setting.
        told = jax.config.values
        settings = [(name, repr(getattr(jax.config, name, told[name]))) for name in sorted(told)]
        devices = [(device.platform, device.device_kind) for device in jax.local_devices()]
        given = [os.environ.get(name) for name in _ENVIRONMENT]
        place = jax.process_count(), devices, settings, given, self._surroundings
        try:
            return self.folder / (digest((_FORMAT, place, static), arguments) + SUFFIX)
        except NotDescribable:
            return None

    def read(self, path: Path, arguments: tuple) -> StoredProgram | None:
        """A program that was written for such arguments; `None` if there is none that can be used."""
        try:
            seconds, serialized, outputs = pickle.loads(zlib.decompress(path.read_bytes()))
            inputs = jax.tree.structure((arguments, {}))
            device = jax.devices()[0]
            executable = serialize_executable.deserialize_and_load(
                serialized, inputs, outputs, device.client, [device]
            )
            os.utime(path)
        except Exception:  # damaged, or of a kind that is not understood: it is compiled again
            return None
        return StoredProgram(executable, seconds)

    def write(self, path: Path, executable: Any, seconds: float) -> bool:
        """Keep a program that was compiled in this process, if the device and the disk allow it."""
        try:
            serialized, _, outputs = serialize_executable.serialize(executable)
            data = zlib.compress(pickle.dumps((seconds, serialized, outputs)), level=1)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
            try:
                temporary.write_bytes(data)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            self._make_room()
        except Exception:  # outputs of classes that cannot be written, a full disk: the program is there
            return False
        return True

    def _make_room(self) -> None:
        last_used = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            try:
                last_used.append((path.stat().st_mtime, path))
            except FileNotFoundError:  # another process made room
                continue
        for _, path in sorted(last_used)[:-_MOST_FILES]:
            path.unlink(missing_ok=True)
