"""Options and names that no command was made for."""

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .attack import Attack, Try
from .files import OUT
from .material import COMPARISON, RUN, write_yaml

_WORDS = (
    "", " ", "-1", "0", "nan", "inf", "1e400", "9" * 30, "9" * 5000, "x" * 1000, "a\nb", "é", ".",
    "/dev/null",    "/proc/self/mem", "--", "-", "=", "a=b", "a.b.c=1", "=1", "True", "[1, 2", "{",
    "!!python/name:os",
)  # fmt: skip
_COMMANDS: tuple[list[str], ...] = (
    ["run", "run.yaml", *OUT, "--frame"],
    ["run", "run.yaml", *OUT, "--restart"],
    ["run", "run.yaml", "--output"],
    ["run", "run.yaml", *OUT, "--parameters"],
    ["run", "run.yaml", *OUT, "--set"],
    ["run"],
    ["check"],
    ["plot"],
    ["report"],
    ["evaluate", "profiles.yaml", "--output"],
    ["compare", "comparison.yaml", "--output", "out", "--closures"],
    ["compare", "comparison.yaml", "--output", "out", "--cases"],
    ["posterior", "calibration.yaml", "--output", "out", "--method"],
    ["check", "gotm.yaml", "--set"],
    ["check", "gotm.yaml", "--write-config"],
    ["doctor", "--seconds"],
    ["--cache-seconds"],
    [],
)


def given(chance: random.Random) -> Iterator[Attack]:
    """Values of options and arguments, without end."""
    number = 0
    while True:
        number += 1
        command, word = chance.choice(_COMMANDS), chance.choice(_WORDS)

        def prepare(folder: Path, chance: random.Random, command=command, word=word) -> Try:
            more = ["check", "run.yaml"] if command and command[0].startswith("--cache") else []
            return Try(
                [*command, word, *more], products=("out.nc", "out", "results", word.partition("/")[0] or "x")
            )

        yield Attack("option", f"{' '.join(command)} {word[:20]!r} {number}", prepare)


def _run(must_fail: bool = True, **case: Any) -> Callable[[Path, random.Random], Try]:
    def prepare(folder: Path, chance: random.Random) -> Try:
        content = copy.deepcopy(RUN)
        content["case"].update(case)
        write_yaml(folder / "run.yaml", content)
        return Try(["run", "run.yaml", *OUT], ("run.yaml",), must_fail=must_fail)

    return prepare


def _tracer(name: str, must_fail: bool = True) -> Callable[[Path, random.Random], Try]:
    return _run(must_fail, tracers={name: {"surface": 1.0}})


def _compared(name: str) -> Callable[[Path, random.Random], Try]:
    """A case of a strange name, of which there are figures."""

    def prepare(folder: Path, chance: random.Random) -> Try:
        content = copy.deepcopy(COMPARISON)
        content["cases"][0]["mapping"] = {"name": name}
        write_yaml(folder / "comparison.yaml", content)
        return Try(["compare", "comparison.yaml", "--output", "out"])

    return prepare


_PARTS = {"time": [0.0, 1800.0, 3600.0]}
NAMES: dict[str, Callable[[Path, random.Random], Try]] = {
    "a tracer called temperature": _tracer("temperature"),
    "a tracer called time": _tracer("time"),
    "a tracer called z_center": _tracer("z_center"),
    "a tracer called eddy_viscosity": _tracer("eddy_viscosity"),
    "a tracer with a slash": _tracer("a/b"),
    "a tracer with a blank": _tracer("a b"),
    "a tracer without a name": _tracer(""),
    "a tracer of 300 characters": _tracer("a" * 300),
    "a tracer with a line break": _tracer("a\nb"),
    "a tracer in Greek": _tracer("θ", must_fail=False),
    "a case with a slash": _run(False, name="../../etc/x"),
    "a case with a line break": _run(False, name="a\nb\x1b[31m"),
    "a case of 1e5 characters": _run(False, name="x" * 100_000),
    "a case without a name": _run(False, name=""),
    "a compared case that climbs": _compared("../../x"),
    "a compared case from the root": _compared("/tmp/hostile_x"),
    "a compared case of 1000 characters": _compared("x" * 1000),
    "a compared case with a line break": _compared("a\nb"),
    "times that go back": _run(forcing={"time": [0.0, 3600.0, 1800.0], "stress_u": [0.1, 0.1, 0.1]}),
    "a forcing that ends early": _run(forcing={"time": [0.0, 60.0], "stress_u": [0.1, 0.1]}),
    "a list without times": _run(forcing={"stress_u": [0.1, 0.1]}),
    "heat without bounds": _run(forcing={**_PARTS, "heat_flux": [0.0, 1e6, 0.0]}),
    "a flux of an unknown tracer": _run(forcing={"tracer_fluxes": {"dye": 1.0}}),
    "ice water of 100 degrees": _run(temperature={"surface": 100.0}),
    "brine": _run(salinity={"surface": 300.0}),
    "a gradient that leaves the range": _run(temperature={"surface": 20.0, "gradient": 10.0}),
    "a wind of light": _run(u={"surface": 3e8}),
}


def names(chance: random.Random) -> Iterator[Attack]:
    """Names and profiles that collide with what is there, each once."""
    for name, prepare in NAMES.items():
        yield Attack("name", name, prepare)
