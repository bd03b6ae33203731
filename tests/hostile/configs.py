"""Configurations and options that are absurd: no YAML, wrong types, values and runs without bounds."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .attack import Prepare, Try, later, once, without_end
from .files import COMMANDS, OUT, reading
from .material import CONFIGS, write_yaml

_LAUGHS = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)
TEXTS: dict[str, bytes] = {
    "an alias bomb": _LAUGHS.encode(),
    "an alias bomb of keys": ("a0: &a0 {x: 1, y: 1}\n" + "".join(
        f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}\n" for i in range(1, 60)
    )).encode(),
    "an alias of itself": b"case: &a\n  format: idealised\n  case: *a\n",
    "a list of itself": b"case: &a [1, *a]\n",
    "1e5 brackets": b"case: " + b"[" * 100_000,
    "1e4 brackets closed": b"case: " + b"[" * 10_000 + b"]" * 10_000,
    "1e4 levels": b"".join(b" " * i + b"a:\n" for i in range(2_000)),
    "a tab": b"case:\n\tformat: idealised\n",
    "UTF-16": "case: {format: idealised}\n".encode("utf-16"),
    "UTF-32": "case: {format: idealised}\n".encode("utf-32"),
    "Latin-1": "case: {name: é}\n".encode("latin-1"),
    "null bytes": b"case: \0\0\0\n",
    "control characters": b"case: \x1b[2J\x07\n",
    "binary": bytes(range(256)) * 10,
    "nothing": b"",
    "a comment": b"# nothing\n",
    "a number": b"12\n",
    "a list": b"- 1\n- 2\n",
    "two documents": b"case: 1\n---\ncase: 2\n",
    "a Python object": b"case: !!python/object/apply:os.system ['touch hacked']\n",
    "a Python name": b"case: !!python/name:os.system\n",
    "a set": b"case: !!set {a, b}\n",
    "a timestamp": b"case: !!timestamp 2020-99-99\n",
    "binary data": b"case: !!binary '***'\n",
    "an integer of text": b"case: !!int abc\n",
    "a duplicate key": b"case: {format: idealised, format: site}\n",
    "a list as key": b"? [a, b]\n: 1\n",
    "a key that merges": b"x: &x {a: 1}\ncase: {<<: *x}\n",
    "a key of 1e5 characters": b"a" * 100_000 + b": 1\n",
    "a value of 1e6 characters": b"case: " + b"a" * 1_000_000 + b"\n",
    "1e5 unknown keys": b"".join(b"key%d: 1\n" % i for i in range(5_000)),
    "an integer of 1e4 digits": b"case: " + b"9" * 10_000 + b"\n",
    "an unknown alias": b"case: *nowhere\n",
    "a directive": b"%YAML 9.9\n---\ncase: 1\n",
    "HTML": b"<!DOCTYPE html><html><body>404</body></html>\n",
    "carriage returns": b"case:\rformat: idealised\r",
    "a comparison": b"closures: [constant]\ncases: 5\n",
    "GOTM of old": b"version: 4\nlocation: {}\nturbulence: {}\n",
}  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, "", "text", "1e400", "é" * 10, "x" * 5_000, [], {}, [1, "a", None], {"a": {"b": {"c": 1}}},
    -1,    0, 10**9, 10**400, -(10**400), 1e-300, 5e-324, 1e300, -1e300, float("nan"), float("inf"), "nan",
    "12:30:45", "../../../etc/passwd", "/dev/zero", "~nobody/x", "a\0b", "a\nb", "lesbrary:no/such",
    "synthetic:../x",
    "%s{}$HOME", "os:system", "2015-13-45T99:99:99", "0001-01-01T00:00:00", "9999-12-31T23:59:59", 2**63, 0.1,
)  # fmt: skip
_FILES = [name for name in CONFIGS if name != "profiles3.yaml"]


def _places(content: Any, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield (*path, key)
            yield from _places(value, (*path, key))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield (*path, index)
            yield from _places(value, (*path, index))


def _commands(name: str) -> list[list[str]]:
    data = {"profiles.yaml": "profiles.nc", "les.yaml": "les.jld2", "station.yaml": "weather.csv"}
    data |= {"float.yaml": "float.nc", "era5.yaml": "era5.nc"}
    return [each for each in COMMANDS[data.get(name, name)] if name in each]


@later
def _text(folder: Path, chance: random.Random, text: bytes) -> Try:
    target = chance.choice(("run.yaml", "calibration.yaml", "parameters.yaml", "comparison.yaml"))
    (folder / target).write_bytes(text)
    return reading(target, folder, chance, must_fail=True)


texts = once("text", {name: _text(text) for name, text in TEXTS.items()})
"""Texts that are no configuration, each once, as one or as a file of parameters."""


def _within(content: Any, path: tuple) -> Any:
    for key in path:
        content = content[key]
    return content


@without_end("configuration")
def values(chance: random.Random) -> tuple[str, Prepare]:
    """One key of a valid configuration with a value that it was not made for."""
    name = chance.choice(_FILES)
    place, value = chance.choice(list(_places(CONFIGS[name]))), chance.choice(VALUES)

    def prepare(folder: Path, chance: random.Random) -> Try:
        content = copy.deepcopy(CONFIGS[name])
        container = _within(content, place[:-1])
        if chance.random() < 0.15 and isinstance(container, dict):
            container[f"{place[-1]}s"] = value
        elif chance.random() < 0.1 and isinstance(container, dict):
            del container[place[-1]]
        else:
            container[place[-1]] = value
        write_yaml(folder / name, content)
        return Try(list(chance.choice(_commands(name))), (name,))

    return f"{name}: {'.'.join(map(str, place))} = {value!r:.30}", prepare


@without_end("result")
def results(chance: random.Random) -> tuple[str, Prepare]:
    """One entry of a file that a calibration wrote with another value."""
    value = chance.choice(VALUES)

    def prepare(folder: Path, chance: random.Random) -> Try:
        if chance.random() < 0.2:
            return _header(folder, chance, value)
        path = folder / "fit" / "parameters.yaml"
        content = yaml.safe_load(path.read_text())
        *above, last = chance.choice(list(_places(content)))
        _within(content, tuple(above))[last] = value
        write_yaml(path, content)
        return reading("fit/parameters.yaml", folder, chance)

    return f"{value!r:.30}", prepare


def _header(folder: Path, chance: random.Random, value: Any) -> Try:
    """A checkpoint whose first line says something else."""
    path = folder / "fit" / "checkpoint.eqx"
    line, _, rest = path.read_bytes().partition(b"\n")
    header = json.loads(line)
    header[chance.choice(list(header))] = value
    path.write_bytes(json.dumps(header).encode() + b"\n" + rest)
    return reading("fit/checkpoint.eqx", folder, chance)


_KEYS = (
    "time.step", "time.duration", "time.output_interval", "grid.n_cells", "case.duration", "case.depth",
    "case.temperature.surface", "case.forcing.stress_u", "case.coriolis_parameter", "model.closure.name",
    "model.closure.parameters.viscosity", "model.theta", "model.n_sweeps", "precision", "output.folder",
    "output.diagnostics", "corrections", "evaluation.variables", "case.mapping.depth", "case.name",
    "case.interior", "case.tracers.dye", "model.closure.options", "", ".", "case..x", "no.such.key",
    "case.0",
)  # fmt: skip


@without_end("setting")
def settings(chance: random.Random) -> tuple[str, Prepare]:
    """Values by `--set`: keys that exist and such that do not."""
    key, value = chance.choice(_KEYS), chance.choice(VALUES)

    def prepare(folder: Path, chance: random.Random) -> Try:
        given = value.replace("\0", "") if isinstance(value, str) else yaml.safe_dump(value)
        given = given.removesuffix("...\n").strip()
        command = chance.choice((["check", "run.yaml"], ["run", "run.yaml", *OUT]))
        return Try([*command, "--set", f"{key}={given}"], ("run.yaml", "--set"))

    return f"{key} = {value!r:.30}", prepare


@later
def _long(
    folder: Path, chance: random.Random, name: str, *changes: str, words: tuple[str, ...] = ("time steps",)
) -> Try:
    commands = [
        [*each, *(part for change in changes for part in ("--set", change))] for each in _commands(name)
    ]
    return Try(chance.choice(commands), words, must_fail=True, seconds=20.0)


@later
def _gotm(folder: Path, chance: random.Random, **changes: Any) -> Try:
    content = copy.deepcopy(CONFIGS["gotm.yaml"])
    for path, value in changes.items():
        group, _, key = path.partition("__")
        content[group][key] = value
    write_yaml(folder / "gotm.yaml", content)
    return Try(["check", "gotm.yaml"], ("gotm.yaml", "dat"), must_fail=True, seconds=20.0)


ENDLESS: dict[str, Prepare] = {
    "steps of 1e-5 s for a year": _long("run.yaml", "time.step=1e-5", "case.duration=3.15e7"),
    "steps of 1e-300 s": _long("run.yaml", "time.step=1e-300"),
    "the shortest step": _long("run.yaml", "time.step=5e-324"),
    "1e300 s": _long("run.yaml", "case.duration=1e300"),
    "1e300 s of output": _long("run.yaml", "time.duration=1.2e300"),
    "1e9 levels": _long("run.yaml", "grid.n_cells=1000000000", words=("n_cells",)),
    "frames every 1e-4 s": _long(
        "run.yaml", "time.step=1e-4", "time.output_interval=1e-4", "case.duration=1e8"
    ),
    "1e8 frames of 1e5 levels": _long(
        "run.yaml", "time.step=1", "time.output_interval=1", "case.duration=1e8", "grid.n_cells=100000",
        words=("disk", "memory"),
    ),
    "profiles in steps of 1e-9 s": _long("profiles.yaml", "time.step=1e-9"),
    "a simulation in steps of 1e-9 s": _long("les.yaml", "time.step=1e-9"),
    "a station for 1e300 s": _long("station.yaml", "case.duration=1e300", words=("time steps", "duration")),
    "a station beyond the calendar": _long(
        "station.yaml", "case.duration=1e12", "time.step=86400", "time.output_interval=86400",
        words=("station.yaml", "weather.csv", "mooring.nc"),
    ),
    "a calibration in steps of 1e-9 s": _long("calibration.yaml", "time.step=1e-9"),
    "a calibration of 1e300 steps": _long("calibration.yaml", "time.step=[600.0, 1e-300]"),
    "a comparison in steps of 1e-9 s": _long(
        "comparison.yaml", "time_steps=[1e-9]", "figures.time_step=1e-9"
    ),
    "a comparison on 1e9 levels": _long("comparison.yaml", "n_cells=[1000000000]", words=("n_cells",)),
    "GOTM in steps of 1e-300 s": _gotm(time__dt=1e-300),
    "GOTM in steps of 1e-6 s": _gotm(time__dt=1e-6),
    "GOTM for 9000 years": _gotm(time__stop="9999-12-31 00:00:00"),
    "GOTM in the year 10000": _gotm(time__stop="10000-01-01 00:00:00"),
    "GOTM on 1e9 levels": _gotm(grid__nlev=10**9),
    "GOTM on 1e300 levels": _gotm(grid__nlev=1e300),
    "GOTM with an output every 1e-300 s": _gotm(output__prof={"time_unit": "second", "time_step": 1e-300}),
}  # fmt: skip


endless = once("endless", ENDLESS)
"""Computations that would not end, or would not fit, each once."""


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


@without_end("option")
def options(chance: random.Random) -> tuple[str, Prepare]:
    """Values of options and arguments that no command was made for."""
    command, word = chance.choice(_COMMANDS), chance.choice(_WORDS)

    def prepare(folder: Path, chance: random.Random) -> Try:
        more = ["check", "run.yaml"] if command and command[0].startswith("--cache") else []
        products = ("out.nc", "out", "results", word.partition("/")[0] or "x")
        return Try([*command, word, *more], products=products)

    return f"{' '.join(command)} {word[:20]!r}", prepare


@later
def _run(folder: Path, chance: random.Random, must_fail: bool = True, **case: Any) -> Try:
    content = copy.deepcopy(CONFIGS["run.yaml"])
    content["case"].update(case)
    write_yaml(folder / "run.yaml", content)
    return Try(["run", "run.yaml", *OUT], ("run.yaml",), must_fail=must_fail)


def _tracer(name: str, must_fail: bool = True) -> Prepare:
    return _run(must_fail, tracers={name: {"surface": 1.0}})


@later
def _compared(folder: Path, chance: random.Random, name: str) -> Try:
    """A case of a strange name, of which there are figures."""
    content = copy.deepcopy(CONFIGS["comparison.yaml"])
    content["cases"][0]["mapping"] = {"name": name}
    write_yaml(folder / "comparison.yaml", content)
    return Try(["compare", "comparison.yaml", "--output", "out"])


_PARTS = {"time": [0.0, 1800.0, 3600.0]}
NAMES: dict[str, Prepare] = {
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
names = once("name", NAMES)
"""Names and profiles that collide with what is there, each once."""
