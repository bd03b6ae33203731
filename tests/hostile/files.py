"""Files that are damaged: bytes of any format, variables and attributes of NetCDF and JLD2."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

from .attack import Prepare, Try, later, once, without_end

OUT = ["--output", "out.nc"]


def _of(config: str) -> list[list[str]]:
    return [["check", config], ["run", config, *OUT]]


COMMANDS: dict[str, list[list[str]]] = {
    "profiles.nc": [
        *_of("profiles.yaml"),
        ["evaluate", "profiles.yaml"],
        ["check", "calibration.yaml"],
        ["compare", "comparison.yaml", "--output", "out"],
    ],
    "profiles3.nc": _of("profiles3.yaml"),
    "les.jld2": _of("les.yaml"),
    "mooring.nc": _of("station.yaml"),
    "float.nc": _of("float.yaml"),
    "era5.nc": _of("era5.yaml"),
    "weather.csv": _of("station.yaml"),
    **{name: _of("gotm.yaml") for name in ("momentum.dat", "tprof.dat", "gotm.yaml")},
    "run.yaml": _of("run.yaml"),
    "calibration.yaml": [["check", "calibration.yaml"], ["evaluate", "calibration.yaml"]],
    "comparison.yaml": [["compare", "comparison.yaml", "--output", "out"]],
    "parameters.yaml": [
        ["run", "run.yaml", *OUT, "--parameters", "parameters.yaml"],
        ["evaluate", "profiles.yaml", "--parameters", "parameters.yaml"],
    ],
    "result.nc": [
        ["plot", "result.nc", "--output", "out"],
        ["run", "run.yaml", *OUT, "--restart", "result.nc", "--frame", "1"],
    ],
    "fit/parameters.yaml": [
        ["report", "fit", "--output", "out.html"],
        ["run", "run.yaml", *OUT, "--parameters", "fit/parameters.yaml"],
    ],
    **{
        name: [["report", "fit", "--output", "out.html"], ["plot", name, "--output", "out"]]
        for name in ("fit/history.nc", "fit/posterior.nc")
    },
    "fit/checkpoint.eqx": [["calibrate", "calibration.yaml", "--output", "fit", "--resume"]],
}
"""What reads each file of the material."""


def reading(name: str, folder: Path, chance: random.Random, **options: Any) -> Try:
    """A command that reads a file; a message has to name that file, or the configuration with its key."""
    command = chance.choice([each for each in COMMANDS[name] if (folder / name).parent.is_dir()])
    named = (name, Path(name).name, Path(name).parent.name or name, *command[1:2])
    products = ("out.nc", "out", "out.html", *(("fit",) if "--resume" in command else ()))
    return Try(list(command), tuple(dict.fromkeys(named)), products=products, **options)


def _flip(data: bytearray, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 3, 20))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _zero(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    n = chance.randrange(1, max(2, len(data) // 4))
    return bytes(data[:at]) + bytes(len(data[at : at + n])) + bytes(data[at + n :])


def _insert(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return bytes(data[:at]) + chance.randbytes(chance.choice((1, 64))) + bytes(data[at:])


DAMAGES: dict[str, Callable[[bytearray, random.Random], bytes]] = {
    "flipped bits": _flip,
    "flipped bits at the start": lambda data, chance: (
        _flip(data[:400], chance) + bytes(data[400:]) if len(data) > 400 else _flip(data, chance)
    ),
    "cut off": lambda data, chance: bytes(data[: chance.randrange(len(data))]),
    "a block of zeros": _zero,
    "halves exchanged": lambda data, chance: bytes(data[len(data) // 2 :] + data[: len(data) // 2]),
    "inserted bytes": _insert,
    "appended bytes": lambda data, chance: bytes(data) + chance.randbytes(1000),
    "empty": lambda data, chance: b"",
    "twice": lambda data, chance: bytes(data) * 2,
    "random bytes": lambda data, chance: chance.randbytes(len(data)),
    "zeros": lambda data, chance: bytes(len(data)),
}


@without_end("bytes")
def damaged(chance: random.Random) -> tuple[str, Prepare]:
    """Bytes of any file."""
    name, damage = chance.choice(list(COMMANDS)), chance.choice(list(DAMAGES))

    def prepare(folder: Path, chance: random.Random) -> Try:
        path = folder / name
        path.write_bytes(DAMAGES[damage](bytearray(path.read_bytes()), chance))
        return reading(name, folder, chance)

    return f"{name}: {damage}", prepare


STRANGE = (
    np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 0.0, -1.0, 1e20, 9.96921e36, 1e5, -999.0, 273.15, 40.0,
)  # fmt: skip
ATTRIBUTES = (
    "units", "standard_name", "axis", "positive", "scale_factor", "add_offset", "missing_value",
    "calendar", "bounds", "uncertainty", "role", "valid_range", "flag_values", "long_name", "coordinates",
)  # fmt: skip
TEXTS = (
    "", " ", "K", "seconds", "days since", "days since 0000-00-00", "days since 99999-01-01", "1e400 m",
    "months since 2000-01-01", "furlongs", "seconds since 2010-06-01 25:61:61", "down", "UP", "T",
    "x" * 100_000,    "a\nb\x1b[31m", "°C", "noleap", "julian", "\x00", "degC degC",
    "m s**-1", "%s %n {0}", "../..",
)  # fmt: skip
GLOBALS = (
    "latitude", "gravity", "reference_density", "coriolis_parameter", "thermal_expansion", "heat_capacity",
    "infrared_fraction", "visible_depth", "reference_temperature", "start_time", "case", "closure_state",
    "tracers", "grid_batch_rank", "tunax_lite_config", "tunax_lite_case",
)  # fmt: skip


def _strange_value(chance: random.Random) -> Any:
    arrays = np.array([1.0, 2.0]), np.array([], dtype="f8"), np.int8(-1), np.uint64(2**64 - 1)
    return chance.choice((chance.choice(TEXTS), chance.choice(STRANGE), *arrays))


def _attribute(file: netCDF4.Dataset, chance: random.Random) -> None:
    target = chance.choice(list(file.variables.values()))
    if chance.random() < 0.3 and target.ncattrs():
        target.delncattr(chance.choice(target.ncattrs()))
    else:
        target.setncattr(chance.choice(ATTRIBUTES), _strange_value(chance))


def _global(file: netCDF4.Dataset, chance: random.Random) -> None:
    known = chance.choice(file.ncattrs() or ["x"])
    file.setncattr(chance.choice((*GLOBALS, known)), _strange_value(chance))


def _value(file: netCDF4.Dataset, chance: random.Random) -> None:
    numeric = [v for v in file.variables.values() if v.dtype != str and v.dtype.kind in "fiu" and v.size]
    variable = chance.choice(numeric)
    values = np.array(variable[...], dtype="f8")
    flat = values.reshape(-1)
    n = chance.choice((1, flat.size))
    flat[chance.randrange(flat.size - n + 1) :][:n] = chance.choice(STRANGE)
    variable.set_auto_maskandscale(False)
    with np.errstate(all="ignore"):
        variable[...] = values.astype(variable.dtype)


def _renamable(file: netCDF4.Dataset) -> list[str]:
    """Not those of dimensions: of these the library itself makes files that it crashes on."""
    return [name for name in file.variables if name not in file.dimensions]


def _names(file: netCDF4.Dataset, chance: random.Random) -> None:
    first, second = chance.sample(_renamable(file), 2)
    for old, new in ((first, "passing"), (second, first), ("passing", second)):
        file.renameVariable(old, new)


def _name(file: netCDF4.Dataset, chance: random.Random) -> None:
    file.renameVariable(chance.choice(_renamable(file)), chance.choice(("x", "é" * 30, "a" * 250, "time2")))


def _dimension(file: netCDF4.Dataset, chance: random.Random) -> None:
    free = [name for name in file.dimensions if name not in file.variables]
    known = free if file.data_model == "NETCDF4" else list(file.dimensions)
    file.renameDimension(chance.choice(known), chance.choice(("x", "time2", "n" * 200)))


CHANGES = {
    "an attribute": _attribute,
    "a global attribute": _global,
    "values": _value,
    "names exchanged": _names,
    "another name": _name,
    "another name of a dimension": _dimension,
}
NETCDF = [name for name in COMMANDS if name.endswith(".nc")]


@without_end("NetCDF")
def changed(chance: random.Random) -> tuple[str, Prepare]:
    """Variables and attributes of NetCDF files."""
    name, change = chance.choice(NETCDF), chance.choice(list(CHANGES))

    def prepare(folder: Path, chance: random.Random) -> Try:
        valid = (folder / name).read_bytes()
        try:
            with netCDF4.Dataset(folder / name, "a") as file:
                CHANGES[change](file, chance)
        except (AttributeError, RuntimeError, TypeError, ValueError, OverflowError, IndexError):
            # The format itself refuses that.
            (folder / name).write_bytes(_flip(bytearray(valid), chance))
        return reading(name, folder, chance)

    return f"{name}: {change}", prepare


Make = Callable[[netCDF4.Dataset, np.ndarray, tuple], None]


@later
def _rewritten(folder: Path, chance: random.Random, make: Make) -> Try:
    """The profiles with another temperature."""
    with netCDF4.Dataset(folder / "profiles.nc", "a") as file:
        old = file["temperature"]
        file.renameVariable("temperature", "old")
        make(file, np.array(old[...]), old.dimensions)
        if "temperature" in file.variables:
            file["temperature"].units = "degC"
    return reading("profiles.nc", folder, chance, must_fail=True)


def _complex(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    kind = np.dtype([("r", "f8"), ("i", "f8")])
    written = np.zeros(values.shape, kind)
    written["r"], written["i"] = values, 1.0
    file.createVariable("temperature", file.createCompoundType(kind, "complex"), dims)[...] = written


def _text(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createVariable("temperature", str, dims)[...] = np.array(values.astype(str), dtype=object)


def _empty(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createDimension("nothing", 0)
    file.createVariable("temperature", "f8", ("nothing", dims[1]))


def _bomb(file: netCDF4.Dataset, values: np.ndarray, dims: tuple, name: str = "temperature") -> None:
    file.createDimension("huge", 10**12)
    file.createVariable(name, "f8", ("huge",), zlib=True, chunksizes=(1_000_000,))


def _bomb_beside(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    _bomb(file, values, dims, "other")
    file.createVariable("temperature", "f8", dims)[...] = values


def _third_axis(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createDimension("one", 2)
    file.createVariable("temperature", "f8", (*dims, "one"))[...] = values[..., None]


def _ragged(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    variable = file.createVariable("temperature", file.createVLType(np.dtype("f8"), "ragged"), dims)
    for at in np.ndindex(values.shape):
        variable[at] = values[:1, 0]


def _enumeration(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    colours = file.createEnumType(np.int8, "colours", {"red": 1, "blue": 2})
    file.createVariable("temperature", colours, dims, fill_value=1)[...] = np.ones(values.shape, "i1")


CRAFTED: dict[str, Prepare] = {
    "complex numbers": _rewritten(_complex),
    "text for numbers": _rewritten(_text),
    "a length of zero": _rewritten(_empty),
    "1e12 numbers": _rewritten(_bomb),
    "a third axis": _rewritten(_third_axis),
    "ragged lists": _rewritten(_ragged),
    "an enumeration": _rewritten(_enumeration),
    "1e12 numbers beside": _rewritten(_bomb_beside),
}


@later
def _jld2(folder: Path, chance: random.Random, change: Callable[[h5py.File, random.Random], None]) -> Try:
    with h5py.File(folder / "les.jld2", "a") as file:
        change(file, chance)
    return reading("les.jld2", folder, chance, must_fail=True)


def _replace(key: str, **dataset: Any) -> Callable[[h5py.File, random.Random], None]:
    def change(file: h5py.File, chance: random.Random) -> None:
        del file[key]
        file.create_dataset(key, **dataset)

    return change


def _link(key: str, link: Any) -> Callable[[h5py.File, random.Random], None]:
    def change(file: h5py.File, chance: random.Random) -> None:
        del file[key]
        file[key] = link

    return change


_BIG = {"shape": (10**6, 10**6), "dtype": "f8", "chunks": (1000, 1000), "compression": "gzip"}
CRAFTED |= {
    f"JLD2: {name}": _jld2(change)
    for name, change in {
        "1e12 numbers": _replace("timeseries/T/0", **_BIG),
        "1e12 faces": _replace("grid/zᵃᵃᶠ", **_BIG),
        "1e9 cells": _replace("grid/Nz", data=10**9),
        "no cells": _replace("grid/Nz", data=0),
        "cells that are text": _replace("grid/Nz", data="eight"),
        "complex profiles": _replace("timeseries/T/0", data=np.ones(8, complex)),
        "texts as profile": _replace("timeseries/T/0", data=["a"] * 8),
        "an empty profile": _replace("timeseries/T/0", data=np.zeros(0)),
        "a link to nothing": _link("timeseries/T/0", h5py.SoftLink("/nowhere")),
        "a link to itself": _link("timeseries/T/0", h5py.SoftLink("/timeseries/T/0")),
        "a link out of the file": _link("timeseries/T/0", h5py.ExternalLink("/etc/passwd", "/")),
        "no gravity": _replace("parameters/gravitational_acceleration", data=0.0),
        "gravity of a star": _replace("parameters/gravitational_acceleration", data=1e6),
        "rotation of a top": _replace("parameters/coriolis_parameter", data=1000.0),
        "expansion of air": _replace("parameters/thermal_expansion_coefficient", data=0.5),
        "Kelvin": _replace("timeseries/T/0", data=np.full(8, 290.0)),
        "times that are the same": _replace("timeseries/t/3", data=0.0),
        "times that are not finite": _replace("timeseries/t/4", data=np.inf),
        "a group for a profile": _link("timeseries/T/0", h5py.SoftLink("/grid")),
    }.items()
}


@later
def _global_number(folder: Path, chance: random.Random, name: str, value: Any) -> Try:
    for file_name in ("profiles.nc", "profiles3.nc"):
        with netCDF4.Dataset(folder / file_name, "a") as file:
            file.setncattr(name, value)
    return reading(chance.choice(("profiles.nc", "profiles3.nc")), folder, chance, must_fail=True)


_NUMBERS = (
    ("gravity", 0.0), ("gravity", -9.81), ("gravity", "ten"), ("gravity", np.array([9.81, 9.81])),
    ("reference_density", -1025.0), ("coriolis_parameter", 1000.0), ("infrared_fraction", 5.0),
    ("visible_depth", 0.0), ("thermal_expansion", 1.0), ("heat_capacity", 0.0), ("latitude", 91.0),
    ("reference_salinity", 350.0),
)  # fmt: skip
CRAFTED |= {f"{name} of {value}": _global_number(name, value) for name, value in _NUMBERS}


Change = Callable[[str], str]


@later
def _table(folder: Path, chance: random.Random, name: str, change: Change) -> Try:
    """A text file with other text."""
    file = name.partition(": ")[0]
    before = (folder / file).read_bytes()
    after = change(before.decode()).encode()
    if after == before:
        raise ValueError(f"{name} changes nothing")
    (folder / file).write_bytes(after)
    return reading(file, folder, chance, must_fail=name.partition(": ")[2] not in _HARMLESS)


def _instead(old: str, texts: dict[str, str]) -> dict[str, Change]:
    """Texts instead of another, by what they are."""
    return {name: lambda content, text=text: content.replace(old, text, 1) for name, text in texts.items()}


_TABLES: dict[str, dict[str, Change]] = {
    "weather.csv": {
        **_instead(",8.0,", {
            "a number with underscores": ",1_0,", "an Arabic number": ",\u0661,",
            "a hexadecimal number": ",0x10,", "a number of 1e5 digits": "," + "1" * 100_000 + ",",
            "1e400": ",1e400,", "infinity": ",Infinity,", "a formula": ",=1+1,",
            "a decimal comma": ',"8,0",', "an open quote": ',"8.0,',
            "a cell of 200 kB": "," + "x" * 200_000 + ",", "a null byte": ",8\0,",
        }),
        **_instead("2015-03-01T02:00:00", {
            "a time that goes back": "2015-03-01T00:30:00", "the year 0": "0000-03-01T02:00:00",
            "the year 10000": "10000-03-01T02:00:00", "the last second": "9999-12-31T23:59:59+00:00",
            "before the calendar": "0001-01-01T00:00:00+14:00", "a date of 1e4 digits": "2" * 10_000,
        }),
        **_instead("[Pa]", {
            "another unit": "[hPa]", "a unit of 1e5 characters": f"[{'a' * 100_000}]",
        }),
        "two names": lambda content: content.replace("wind_v", "wind_u", 1),
        "no header": lambda content: content.partition("\n")[2],
        "a header alone": lambda content: content.partition("\n")[0],
        "1e4 columns": lambda content: "\n".join(line + "," * 10_000 for line in content.splitlines()),
        "commas": lambda content: "," * len(content),
        "empty lines": lambda content: "\n" * 1000,
        "comments": lambda content: "#" + content.replace("\n", "\n#"),
        "carriage returns alone": lambda content: content.replace("\n", "\r"),
        "line separators": lambda content: content.replace("\n", "\u2028"),
    },
    "momentum.dat": {
        **_instead(" 0.1 ", {
            "not a number": " nan ", "infinity": " inf ", "1D400": " 1D400 ", "an exponent alone": " 2¹ ",
            "1e4 columns": " 0.1" * 10_000 + " ",
        }),
        **_instead("2011", {
            "the year 0": "0000", "Roman numbers": "ⅯⅯⅪ ",
        }),
        "too few columns": lambda content: content.replace(" 0.1 0.0", "", 1),
        "the 30th of February": lambda content: content.replace("2011-03-01 02", "2011-02-30 02", 1),
        "the 25th hour": lambda content: content.replace("03-01 02:00", "03-01 25:00", 1),
        "times that repeat": lambda content: content.replace("02:00:00", "01:00:00", 1),
        "two lines": lambda content: "\n".join(content.splitlines()[:1]) + "\n",
    },
    "tprof.dat": {
        **_instead(" 8 2", {
            "1e9 levels": " 1000000000 2", "1e30 levels": f" {'9' * 30} 2", "no levels": " 0 2",
            "fewer levels": " 7 2", "a level of powers": " ⁸ 2", "the other order": " 8 1",
        }),
        **_instead("-15 ", {
            "heights in the air": "15 ", "heights at infinity": "-inf ",
        }),
        **_instead(" 12\n", {
            "temperatures of stars": " 1e7\n", "missing temperatures": " NaN\n",
        }),
    },
}  # fmt: skip
# What is no more than an unusual way to write the same, and what GOTM reads as well: of it there is a note.
_HARMLESS = {
    *("carriage returns alone", "line separators", "the last second", "the year 0", "1e4 columns"),
    "times that repeat",
}
CRAFTED |= {
    f"{file}: {name}": _table(f"{file}: {name}", change)
    for file, changes in _TABLES.items()
    for name, change in changes.items()
}
crafted = once("crafted", CRAFTED)
"""Files that are what no instrument or model writes, each once."""
