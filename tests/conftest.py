"""Precision, compilation cache and real data for all tests.

`tunax_lite` is imported inside of functions only: the run-time type checks are installed after this file
is read, and before the last `pytest_configure`.
"""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parent.parent
# Compiling takes most of the time of the tests. The variable reaches the processes that tests start.
CACHE = os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))

# What computes is tested in the programs that users run; what reads, decides and writes around it in programs
# that are compiled without optimisation, because most run once, for microseconds.
READ_AND_WRITE = (
    "benchmarks",
    "calibration",
    "cli",
    "config",
    "coupling",
    "extensions",
    "gotm",
    "io",
    "maps",
    "plotting",
    "runtime",
    # Files beside these folders.
    "test_adding_a_flux",
    "test_adding_a_term",
    "test_corrections",
    "test_docs",
    "test_extending",
    "test_other_libraries",
)

MOST_MEMORY = 1.5e9  # [bytes] that a process may hold from one file to the next


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    from tunax_lite.runtime import configure

    # Notes on files that are there to be read: a test of one records it.
    config.addinivalue_line("filterwarnings", "ignore::tunax_lite._types.InputWarning")
    configure(precision="float64", cache_folder=CACHE)
    # Smaller programs, too: both processes need the same ones, and each again after its caches are cleared.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    # Batch axes broadcast, but no two types ever mix by accident.
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    # A shell ignores Ctrl-C for what it runs in the background; so would all processes of the tests.
    if threading.current_thread() is threading.main_thread():
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
        for ignored in (number for number in usual if signal.getsignal(number) == signal.SIG_IGN):
            signal.signal(ignored, usual[ignored])
    # Tracing makes millions of objects, and looking for cycles among them took a tenth of the time.
    gc.set_threshold(100_000, 20, 20)


def _find(variable: str, relative: str) -> Path:
    """A file below the folder that an environment variable names; skip without the variable."""
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"${variable} is not set: needs {relative} below that folder")
    path = Path(folder) / relative
    # A folder was promised: that the file is missing is a failure, not a reason to skip.
    assert path.is_file(), f"{path} does not exist; ${variable} is {folder}"
    return path


def find_lesbrary(name: str) -> Path:
    """File of one large-eddy simulation of the LESbrary."""
    return _find("TUNAX_LITE_DATA", f"lesbrary/{name}_instantaneous_statistics.jld2")


def find_reference(name: str) -> Path:
    """File of one reference run of GOTM."""
    return _find("TUNAX_LITE_REFERENCE", f"gotm/{name}.nc")


def find_fabm_reference(name: str) -> Path:
    """Folder of a set-up of GOTM with FABM, `gotm.yaml`, `fabm.yaml` and `reference.nc`."""
    return _find("TUNAX_LITE_REFERENCE", f"fabm/{name}/reference.nc").parent


def find_gotm_case(name: str) -> Path:
    """Input file of one case of GOTM, `case/file`."""
    return _find("TUNAX_LITE_DATA", f"gotm_cases/{name}")


@pytest.fixture(autouse=True, scope="module")
def _optimisation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whether the programs of a file are optimised, those of processes that it starts included."""
    quickly = not {request.path.parent.name, request.path.stem}.isdisjoint(READ_AND_WRITE)
    if jax.config.read("jax_disable_most_optimizations") != quickly:
        jax.config.update("jax_disable_most_optimizations", quickly)
        jax.clear_caches()
    with pytest.MonkeyPatch.context() as patch:
        if quickly:
            patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        yield


@pytest.fixture
def bare(monkeypatch):
    """Run a command where pip brought no extra."""
    from tests.without_extras import commands_without_extras

    return commands_without_extras(monkeypatch)


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """The compiled programs of a file: of all together they are gigabytes. Small ones serve several files."""
    import psutil

    yield
    if psutil.Process().memory_info().rss > MOST_MEMORY:
        jax.clear_caches()


@pytest.fixture
def lesbrary_path() -> Callable[[str], Path]:
    return find_lesbrary


@pytest.fixture
def reference_path() -> Callable[[str], Path]:
    return find_reference
