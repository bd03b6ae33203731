"""Files that are damaged: bytes of any format, variables and attributes of NetCDF and JLD2."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

from .attack import Attack, Try

OUT = ["--output", "out.nc"]
COMMANDS: dict[str, list[list[str]]] = {
    "profiles.nc": [
        ["check", "profiles.yaml"],
        ["run", "profiles.yaml", *OUT],
        ["evaluate", "profiles.yaml"],
        ["check", "calibration.yaml"],
        ["compare", "comparison.yaml", "--output", "out"],
    ],
    "profiles3.nc": [["check", "profiles3.yaml"], ["run", "profiles3.yaml", *OUT]],
    "les.jld2": [["check", "les.yaml"], ["run", "les.yaml", *OUT]],
    "mooring.nc": [["check", "station.yaml"], ["run", "station.yaml", *OUT]],
    "float.nc": [["check", "float.yaml"], ["run", "float.yaml", *OUT]],
    "era5.nc": [["check", "era5.yaml"], ["run", "era5.yaml", *OUT]],
    "weather.csv": [["check", "station.yaml"], ["run", "station.yaml", *OUT]],
    "momentum.dat": [["check", "gotm.yaml"], ["run", "gotm.yaml", *OUT]],
    "tprof.dat": [["check", "gotm.yaml"], ["run", "gotm.yaml", *OUT]],
    "gotm.yaml": [["check", "gotm.yaml"], ["run", "gotm.yaml", *OUT]],
    "run.yaml": [["check", "run.yaml"], ["run", "run.yaml", *OUT]],
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
    "fit/history.nc": [
        ["report", "fit", "--output", "out.html"],
        ["plot", "fit/history.nc", "--output", "out"],
    ],
    "fit/posterior.nc": [
        ["report", "fit", "--output", "out.html"],
        ["plot", "fit/posterior.nc", "--output", "out"],
    ],
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


def _exchange(data: bytearray, chance: random.Random) -> bytes:
    half = len(data) // 2
    return bytes(data[half:] + data[:half])


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
    "halves exchanged": _exchange,
    "inserted bytes": _insert,
    "appended bytes": lambda data, chance: bytes(data) + chance.randbytes(1000),
    "empty": lambda data, chance: b"",
    "twice": lambda data, chance: bytes(data) * 2,
    "random bytes": lambda data, chance: chance.randbytes(len(data)),
    "zeros": lambda data, chance: bytes(len(data)),
}


def damaged(chance: random.Random) -> Iterator[Attack]:
    """Bytes of any file, without end."""
    number = 0
    while True:
        number += 1
        name, damage = chance.choice(list(COMMANDS)), chance.choice(list(DAMAGES))

        def prepare(folder: Path, chance: random.Random, name=name, damage=damage) -> Try:
            path = folder / name
            path.write_bytes(DAMAGES[damage](bytearray(path.read_bytes()), chance))
            return reading(name, folder, chance)

        yield Attack("bytes", f"{name}: {damage} {number}", prepare)


STRANGE = (
    np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 0.0, -1.0, 1e20, 9.96921e36, 1e5, -999.0, 273.15, 40.0,
)  # fmt: skip
ATTRIBUTES = (
    "units", "standard_name", "axis", "positive", "scale_factor", "add_offset", "_FillValue", "missing_value",
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
    return chance.choice(
        (
            chance.choice(TEXTS),
            chance.choice(STRANGE),
            np.array([1.0, 2.0]),
            np.array([], dtype="f8"),
            np.int8(-1),
            np.uint64(2**64 - 1),
        )
    )


def _attribute(file: netCDF4.Dataset, chance: random.Random) -> None:
    target = chance.choice(list(file.variables.values()))
    name = chance.choice(ATTRIBUTES)
    if name == "_FillValue":
        name = "missing_value"
    if chance.random() < 0.3 and target.ncattrs():
        target.delncattr(chance.choice(target.ncattrs()))
    else:
        target.setncattr(name, _strange_value(chance))


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
NETCDF = (
    "profiles.nc",
    "profiles3.nc",
    "mooring.nc",
    "float.nc",
    "era5.nc",
    "result.nc",
    "fit/history.nc",
    "fit/posterior.nc",
)


def changed(chance: random.Random) -> Iterator[Attack]:
    """Variables and attributes of NetCDF files, without end."""
    number = 0
    while True:
        number += 1
        name, change = chance.choice(NETCDF), chance.choice(list(CHANGES))

        def prepare(folder: Path, chance: random.Random, name=name, change=change) -> Try:
            valid = (folder / name).read_bytes()
            try:
                with netCDF4.Dataset(folder / name, "a") as file:
                    CHANGES[change](file, chance)
            except (AttributeError, RuntimeError, TypeError, ValueError, OverflowError, IndexError):
                # The format itself refuses that.
                (folder / name).write_bytes(_flip(bytearray(valid), chance))
            return reading(name, folder, chance)

        yield Attack("NetCDF", f"{name}: {change} {number}", prepare)


def _rewritten(variable: str, make: Callable[[netCDF4.Dataset, np.ndarray, tuple], None]):
    """A copy of the profiles in which one variable is made anew."""

    def prepare(folder: Path, chance: random.Random) -> Try:
        old, new = folder / "profiles.nc", folder / "new.nc"
        with netCDF4.Dataset(old) as source, netCDF4.Dataset(new, "w") as target:
            target.setncatts({name: source.getncattr(name) for name in source.ncattrs()})
            for name, dimension in source.dimensions.items():
                target.createDimension(name, len(dimension))
            for name, each in source.variables.items():
                if name == variable:
                    make(target, np.array(each[...]), each.dimensions)
                    copy = target[name] if name in target.variables else None
                else:
                    copy = target.createVariable(name, each.dtype, each.dimensions)
                    copy[...] = each[...]
                if copy is not None:
                    copy.setncatts({key: each.getncattr(key) for key in each.ncattrs()})
        new.replace(old)
        return reading("profiles.nc", folder, chance, must_fail=True)

    return prepare


def _complex(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    kind = np.dtype([("r", "f8"), ("i", "f8")])
    made = file.createCompoundType(kind, "complex")
    written = np.zeros(values.shape, kind)
    written["r"], written["i"] = values, 1.0
    file.createVariable("temperature", made, dims)[...] = written


def _text(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createVariable("temperature", str, dims)[...] = np.array(values.astype(str), dtype=object)


def _empty(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createDimension("nothing", 0)
    file.createVariable("temperature", "f8", ("nothing", dims[1]))


def _bomb(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createDimension("huge", 10**12)
    options = {"zlib": True, "chunksizes": (1_000_000,)}
    file.createVariable("temperature", "f8", ("huge",), **options)


def _bomb_beside(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    _bomb(file, values, dims)
    file.renameVariable("temperature", "other")
    file.createVariable("temperature", "f8", dims)[...] = values


def _transposed(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
    file.createDimension("one", 2)
    file.createVariable("temperature", "f8", (*dims, "one"))[...] = values[..., None]


def _list_of(kind: str):
    def make(file: netCDF4.Dataset, values: np.ndarray, dims: tuple) -> None:
        made = file.createVLType(np.dtype("f8"), "ragged") if kind == "ragged" else None
        if made is None:
            made = file.createEnumType(np.int8, "colours", {"red": 1, "blue": 2})
            file.createVariable("temperature", made, dims, fill_value=1)[...] = np.ones(values.shape, "i1")
        else:
            variable = file.createVariable("temperature", made, dims)
            for at in np.ndindex(values.shape):
                variable[at] = values[:1, 0]

    return make


CRAFTED: dict[str, Callable[[Path, random.Random], Try]] = {
    "complex numbers": _rewritten("temperature", _complex),
    "text for numbers": _rewritten("temperature", _text),
    "a length of zero": _rewritten("temperature", _empty),
    "1e12 numbers": _rewritten("temperature", _bomb),
    "a third axis": _rewritten("temperature", _transposed),
    "ragged lists": _rewritten("temperature", _list_of("ragged")),
    "an enumeration": _rewritten("temperature", _list_of("enum")),
    "1e12 numbers beside": _rewritten("temperature", _bomb_beside),
}


def _jld2(change: Callable[[h5py.File, random.Random], None]) -> Callable[[Path, random.Random], Try]:
    def prepare(folder: Path, chance: random.Random) -> Try:
        with h5py.File(folder / "les.jld2", "a") as file:
            change(file, chance)
        return reading("les.jld2", folder, chance, must_fail=True)

    return prepare


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


def _global_number(name: str, value: Any) -> Callable[[Path, random.Random], Try]:
    def prepare(folder: Path, chance: random.Random) -> Try:
        for file_name in ("profiles.nc", "profiles3.nc"):
            with netCDF4.Dataset(folder / file_name, "a") as file:
                file.setncattr(name, value)
        return reading(chance.choice(("profiles.nc", "profiles3.nc")), folder, chance, must_fail=True)

    return prepare


CRAFTED |= {
    f"{name} of {value}": _global_number(name, value)
    for name, value in (
        ("gravity", 0.0),
        ("gravity", -9.81),
        ("reference_density", -1025.0),
        ("coriolis_parameter", 1000.0),
        ("infrared_fraction", 5.0),
        ("visible_depth", 0.0),
        ("thermal_expansion", 1.0),
        ("heat_capacity", 0.0),
        ("latitude", 91.0),
        ("gravity", "ten"),
        ("gravity", np.array([9.81, 9.81])),
        ("reference_salinity", 350.0),
    )
}


def crafted(chance: random.Random) -> Iterator[Attack]:
    """Files that are what no instrument or model writes, each once."""
    for name, prepare in CRAFTED.items():
        yield Attack("crafted", name, prepare)
