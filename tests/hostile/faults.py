"""Faults of what is around: file systems, environments, limits, caches, several processes."""

import os
import random
import socket
from collections.abc import Callable
from pathlib import Path

from .attack import Prepare, Try, later, once
from .files import COMMANDS, OUT, reading
from .material import run_command

_READ = [name for name in COMMANDS if not name.startswith("fit/check")]


@later
def _instead(folder: Path, chance: random.Random, make: Callable[[Path], None]) -> Try:
    """Something else where a file should be."""
    name = chance.choice([name for name in _READ if (folder / name).is_file()])
    (folder / name).unlink()
    make(folder / name)
    return reading(name, folder, chance, must_fail=True, seconds=30.0)


def _socket(path: Path) -> None:
    at = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(at)


def _loop(path: Path) -> None:
    path.symlink_to(path.name + "2")
    (path.parent / (path.name + "2")).symlink_to(path.name)


@later
def _called(folder: Path, chance: random.Random, name: str, must_fail: bool = False) -> Try:
    """A configuration of a strange name."""
    (folder / "run.yaml").rename(folder / name)
    arguments = chance.choice((["check", name], ["run", name, *OUT], ["run", name]))
    return Try(arguments, must_fail=must_fail)


@later
def _output(
    folder: Path, chance: random.Random, make: Callable[[Path], str], *, must_fail: bool = True
) -> Try:
    """An output that cannot be written where it is asked for."""
    name = make(folder)
    commands = [
        ["run", "run.yaml", "--output", f"{name}.nc"],
        ["plot", "result.nc", "--output", name],
        ["calibrate", "calibration.yaml", "--output", name],
        ["evaluate", "profiles.yaml", "--output", f"{name}.csv"],
        ["report", "fit", "--output", f"{name}.html"],
    ]
    there = [each for each in commands if (folder / each[1]).exists()]
    return Try(chance.choice(there), must_fail=must_fail)


def _file_in_the_way(folder: Path) -> str:
    (folder / "file").write_text("precious")
    return "file/x"


def _folder_in_the_way(folder: Path) -> str:
    for name in ("way.nc", "way.csv", "way.html"):
        (folder / name / "precious").mkdir(parents=True)
    (folder / "way").write_text("precious")
    return "way"


FILE_SYSTEMS: dict[str, Prepare] = {
    "a folder for a file": _instead(lambda path: path.mkdir()),
    "a pipe for a file": _instead(lambda path: os.mkfifo(path)),
    "a socket for a file": _instead(_socket),
    "a link to nothing": _instead(lambda path: path.symlink_to("nowhere")),
    "a loop of links": _instead(_loop),
    "an endless device": _instead(lambda path: path.symlink_to("/dev/zero")),
    "an empty device": _instead(lambda path: path.symlink_to("/dev/null")),
    "a link to a folder": _instead(lambda path: path.symlink_to("..")),
    "no file": _instead(lambda path: None),
    "a file of 1e11 bytes": _instead(lambda path: (path.touch(), os.truncate(path, 10**11))[0]),
    "a file of 3e9 bytes": _instead(lambda path: (path.touch(), os.truncate(path, 3 * 10**9))[0]),
    "a name with a line break": _called("a\nb.yaml"),
    "a name with control characters": _called("a\x1b[31mb.yaml"),
    "a name in Greek": _called("θάλασσα.yaml"),
    "a name that is no UTF-8": _called(os.fsdecode(b"a\xffb.yaml")),
    "a name of 250 characters": _called("a" * 245 + ".yaml"),
    "a name with a dash in front": _called("-x.yaml", must_fail=True),
    "a name with blanks": _called(" a b .yaml"),
    "a name of dots": _called("...yaml"),
    "an output below a file": _output(_file_in_the_way),
    "a folder for an output": _output(_folder_in_the_way),
    "an output in /proc": _output(lambda folder: "/proc/hostile/x"),
    "an output on a device": _output(lambda folder: "/dev/null/x"),
    "an output of 300 characters": _output(lambda folder: "a" * 300),
    "an output below a loop": _output(lambda folder: (_loop(folder / "loop"), "loop/x")[1]),
    "an output with a null byte": _output(lambda folder: "a\0b"),
    "an input of 5000 characters": lambda folder, chance: Try(
        ["check", "a/" * 2500 + "x.yaml"], must_fail=True
    ),
    "an input with a null byte": lambda folder, chance: Try(["check", "a\0b.yaml"], must_fail=True),
    "no input": lambda folder, chance: Try(["check", ""], must_fail=True),
}


file_systems = once("file system", FILE_SYSTEMS, times=4)
"""Every kind of thing where a file should be."""


@later
def _environment(
    folder: Path, chance: random.Random, command: list[str] | None = None, **variables: str | None
) -> Try:
    arguments = command or chance.choice((["check", "run.yaml"], ["run", "run.yaml", *OUT]))
    return Try(
        arguments, outside=True, environment=variables, seconds=120.0, products=("out.nc", "results", "x")
    )


ENVIRONMENTS: dict[str, Prepare] = {
    "an unknown platform": _environment(JAX_PLATFORMS="quantum"),
    "a platform that is not there": _environment(JAX_PLATFORMS="cuda"),
    "flags of XLA that do not exist": _environment(XLA_FLAGS="--xla_no_such_flag=1"),
    "a time that is no number": _environment(JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="soon"),
    "a cache below a file": _environment(JAX_COMPILATION_CACHE_DIR="/dev/null/x"),
    "a cache in /proc": _environment(JAX_COMPILATION_CACHE_DIR="/proc/x"),
    "a cache without a name": _environment(JAX_COMPILATION_CACHE_DIR=""),
    "no home": _environment(HOME=None, JAX_COMPILATION_CACHE_DIR=None, XDG_CACHE_HOME=None),
    "a home that is a file": _environment(HOME="/dev/null", JAX_COMPILATION_CACHE_DIR=None),
    "the locale C": _environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
    "a locale that does not exist": _environment(LC_ALL="xx_XX.UTF-9"),
    "a terminal of one column": _environment(["--help"], COLUMNS="1"),
    "columns that are no number": _environment(["--help"], COLUMNS="wide"),
    "a data folder that is not there": _environment(TUNAX_LITE_DATA="/nowhere:/dev/null::"),
    "no temporary folder": _environment(TMPDIR="/nowhere"),
    "threads that are no number": _environment(OMP_NUM_THREADS="many"),
    "64 bits that are no truth value": _environment(JAX_ENABLE_X64="perhaps"),
    "a backend of matplotlib": _environment(["plot", "result.nc", "--output", "x"], MPLBACKEND="nothing"),
    "a folder of matplotlib": _environment(
        ["plot", "result.nc", "--output", "x"], MPLCONFIGDIR="/dev/null/x"
    ),
}


def _limited(command: list[str], **limits: int) -> Prepare:
    return lambda folder, chance: Try(command, outside=True, limits=limits, seconds=120.0)


_RUN, _FIT = ["run", "run.yaml", *OUT], ["calibrate", "calibration.yaml", "--output", "out"]
LIMITS: dict[str, Prepare] = {
    "no file may be written": _limited(_RUN, RLIMIT_FSIZE=0),
    "files of 4 kB": _limited(_RUN, RLIMIT_FSIZE=4096),
    "files of 4 kB for a calibration": _limited(_FIT, RLIMIT_FSIZE=4096),
    "30 open files": _limited(_RUN, RLIMIT_NOFILE=30),
    "12 open files": _limited(_RUN, RLIMIT_NOFILE=12),
    "2 GB of memory": _limited(_RUN, RLIMIT_AS=2 * 10**9),
    "no core file": _limited(_RUN, RLIMIT_CORE=0),
}


def _two(first: list[str], second: list[str]) -> Prepare:
    return lambda folder, chance: Try(first, outside=True, also=second, seconds=180.0)


_RESUMED = ["calibrate", "calibration.yaml", "--output", "out", "--resume"]
TOGETHER: dict[str, Prepare] = {
    "a run into one file": _two(_RUN, _RUN),
    "a calibration into one folder": _two(_FIT, _FIT),
    "a calibration that goes on": _two(_FIT, _RESUMED),
    "a run and a plot of its file": _two(_RUN, ["plot", "out.nc", "--output", "out"]),
}


@later
def _cached(folder: Path, chance: random.Random, damage: Callable[[Path], None]) -> Try:
    """A cache of compiled programs that something happened to."""
    cache = folder / "cache"
    run_command(folder, "--cache-folder", "cache", "--cache-seconds", "0", "run", "run.yaml", *OUT)
    (folder / "out.nc").unlink()
    for path in sorted(cache.rglob("*")):
        if path.is_file():
            damage(path)
    command = ["--cache-folder", "cache", "--cache-seconds", "0", *_RUN]
    return Try(command, outside=True, seconds=120.0, products=("cache", "out.nc"))


def _special(make: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda path: (path.unlink(), make(path))[0]


CACHES: dict[str, Prepare] = {
    "cut files": _cached(lambda path: os.truncate(path, path.stat().st_size // 2)),
    "empty files": _cached(lambda path: os.truncate(path, 0)),
    "random bytes": _cached(lambda path: (path.write_bytes(os.urandom(5000)), None)[1]),
    "pipes": _cached(_special(lambda path: os.mkfifo(path))),
    "folders": _cached(_special(lambda path: path.mkdir())),
    "links to nothing": _cached(_special(lambda path: path.symlink_to("nowhere"))),
}


processes = [
    once("environment", ENVIRONMENTS),
    once("limit", LIMITS),
    once("two at once", TOGETHER),
    once("cache", CACHES),
]
"""What needs a process of its own, each once."""
