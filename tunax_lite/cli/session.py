"""Functions shared by commands: exit codes, messages, input files, provenance, JAX configuration."""

import contextlib
import dataclasses
import datetime
import json
import os
import platform
import shlex
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import jax
import numpy as np
import typer
from typer import Exit

from .._types import InputWarning, iterate_options, warn_of_input
from ..calibration import Target, read_parameters, with_case_parameters, with_parameters
from ..calibration.base import Base, CalibratedValues, constants_of
from ..calibration.parameters import paths_of_other_cases
from ..closures import AbstractClosure, ValidRange, recommended_sets
from ..column.forcing import WaterSurface
from ..config import (
    CalibrationConfig,
    ConfigError,
    Loaded,
    Run,
    RunConfig,
    build_run,
    data_files,
)
from ..declarations import name_of
from ..io.checksums import stamp_of
from ..io.errors import FileFormatError
from ..io.place import Place
from ..io.provenance import Provenance
from ..plausibility import recorded
from ..plausibility.water_limits import Extreme
from ..runtime import configure
from ..runtime.interrupts import signal_of
from ..runtime.jax_setup import failures_as_values
from ..runtime.machine import MissingPackageError, command_for, commit, n_processors, processor, versions
from .terminal import echo

FAILED, BAD_INPUT, BAD_FILE = 1, 2, 3
_CODES = (  # the first that matches counts: some of these classes are subclasses of later ones
    ((ConfigError, MissingPackageError), BAD_INPUT),
    ((FileFormatError, FileNotFoundError), BAD_FILE),
    ((PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError), BAD_INPUT),
    ((OSError, FloatingPointError, MemoryError), FAILED),
    (ValueError, BAD_INPUT),
)


@contextlib.contextmanager
def errors_as_messages(debug: bool = False, when_interrupted: str = "") -> Iterator[None]:
    """Turn an exception into a message on stderr and an exit code; with `debug` print its traceback, too."""
    try:
        with failures_as_values():
            yield
    except (Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt as error:
        number = signal_of(error)
        name = "Ctrl-C" if number == signal.SIGINT else number.name
        echo(f"\ntunax-lite: {name}: interrupted. {when_interrupted}".rstrip(), err=True)
        raise Exit(128 + number) from None
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
        message = str(error) or type(error).__name__
        if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in message:
            code = FAILED
            if "expected" not in message:
                message = (
                    "expected more memory than is free or allowed to this process, got: "
                    f"{message.splitlines()[0]}; take fewer columns, levels or frames, or raise the limit "
                    "(ulimit -v, that of the job)."
                )
        package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if code is None and (todo := command_for(package)) is not None:
            code, message = BAD_INPUT, f"expected the package {package}, got none; {todo}."
        if code is None:
            message = f"unexpected {type(error).__name__}: {message}\nrun again with --debug and report it."
        echo(f"tunax-lite: error: {message}", err=True)
        raise Exit(FAILED if code is None else code) from None


def say_notes(notes: Iterable[str]) -> None:
    """Print a line for each note."""
    for note in notes:
        echo(f"note: {note}")


def notes_shown() -> contextlib.AbstractContextManager[list[InputWarning]]:
    """Print each input warning of a block as a note, and collect them."""
    return recorded(lambda note: say_notes([note]))


def since_start(time: float) -> str:
    """Format a time [s] since the start of a case."""
    return f"{time:g} s (day {time / 86400.0:.4g})"


def judge_water(extremes: Iterable[Extreme]) -> None:
    """Print unlikely water as notes and impossible water as errors; after an error, raise `Exit` at the end.

    Call it after writing the results, which show the cause.
    """
    impossible = False
    for each in extremes:
        text = (
            f"{each.described(since_start(each.time))}, first beyond its limits at {since_start(each.first)}"
        )
        if each.is_impossible:
            echo(f"tunax-lite: error: impossible {text}; {each.advice}.", err=True)
        else:
            say_notes([f"unlikely water: {text}; {each.advice}"])
        impossible = impossible or each.is_impossible
    if impossible:
        raise Exit(FAILED)


def say_rejected(targets: Sequence[Target]) -> None:
    """Print the numbers of observed values that quality flags rejected."""
    lines = (
        f"{target.case.name}: {number} values of {variable} rejected by quality flags"
        for target in targets
        for variable in target.weights
        if (number := target.observations.rejected.get(variable))
    )
    for line in dict.fromkeys(lines):  # once for targets that differ only in the time step
        echo(line)


def report_written(paths: Iterable[Path]) -> None:
    """Print which files were written."""
    for path in paths:
        echo(f"wrote {path}")


def results_folder(loaded: Loaded[CalibrationConfig], output: Path | None) -> Path:
    """Output folder of a command on a calibration: `--output`, `output.folder` or results/NAME."""
    return output or Path(loaded.config.output.folder or Path("results") / loaded.name)


def precision(loaded: Loaded):
    """Context in which JAX computes in the precision of a configuration; enter it before the first array."""
    return jax.enable_x64(loaded.config.precision == "float64")


def parameters_for(path: Path | None, closure: str) -> CalibratedValues | None:
    """Read a parameter file for the closure of this class name; `None` without a file."""
    if path is None:
        return None
    try:
        values = read_parameters(path, closure)
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError(str(error)) from error
    if values.base is None:
        say_notes([f"{path}: no `base`, so its values are inserted into the configured closure"])
    return values


def provenance(loaded: Loaded, case: str, closure: AbstractClosure, restart: str = "") -> Provenance:
    """Return the origin of an output file; `restart` describes the frame from which a run was continued."""
    return Provenance(
        config=loaded.text,
        case=case,
        parameters=json.dumps(constants_of(closure)),
        command=command_line(),
        closure=json.dumps(dict(iterate_options(closure))),
        restart=_in_utf_8(restart),
        date=f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        commit=commit(),
        machine=_machine(),
        packages=json.dumps(versions(("jax", "jaxlib", "numpy", "equinox"))),
        data=json.dumps({name: stamp_of(path) for name, path in _data_files(loaded).items()}),
    )


def _data_files(loaded: Loaded) -> dict[str, Path]:
    return data_files(loaded.path, loaded.config.model_dump())


def inputs_of(loaded: Loaded, *others: Path | None) -> list[Path]:
    """List the files that a command reads: a configuration, the files that it names, and others."""
    return [loaded.path, *_data_files(loaded).values(), *(path for path in others if path is not None)]


def origin_of(loaded: Loaded[CalibrationConfig], names: Iterable[str], closure: AbstractClosure):
    """Attributes that record the origin of a calibration on the named cases."""
    return provenance(loaded, ", ".join(names), closure).attributes


def _machine() -> str:
    """Processor or GPU, number of processors and system."""
    kinds = {device.device_kind for device in jax.local_devices()} - {"cpu"}
    return ", ".join([processor(), f"{n_processors()} processors", *sorted(kinds), platform.system()])


def command_line() -> str:
    """The command line that was entered."""
    return _in_utf_8(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]))


def _in_utf_8(text: str) -> str:
    """Escape bytes of file names that are not valid text in the locale."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def build_with_parameters(loaded: Loaded[RunConfig], parameters: Path | None) -> Run:
    """Build a run, insert the values of a parameter file, and note a use outside the recommended range."""
    run = build_run(loaded)
    closure, case = run.model.closure, run.case
    values = parameters_for(parameters, type(closure).__name__)
    if values is not None and parameters is not None:
        with Place(parameters).naming("parameters"):
            closure, case = with_parameters(closure, values), with_case_parameters(case, values)
        if ignored := paths_of_other_cases(values, case.name):
            warn_of_input([f"{parameters}: {len(ignored)} numbers of other cases are ignored"])
        run = dataclasses.replace(run, model=dataclasses.replace(run.model, closure=closure), case=case)
    warn_of_input(notes_on_recommended(run))
    return run


def set_up_jax() -> None:
    """Configure JAX except for its precision; `ConfigError` for an unavailable `JAX_PLATFORMS`."""
    configure(precision=None)
    if platforms := os.environ.get("JAX_PLATFORMS"):
        try:
            jax.devices()
        except RuntimeError as error:
            raise ConfigError(f"JAX_PLATFORMS={platforms}: {error}") from error


_N_TIMES = 500  # number of times at which fluxes are compared with the valid range


def valid_range_of(closure: AbstractClosure) -> ValidRange | None:
    """Range for which the recommended constants of a closure were tested; `None` for other constants."""
    name = name_of(type(closure))
    entry = recommended_sets().get(name or "")
    return None if entry is None or Base.of(closure, ()).name != f"{name}_recommended" else entry.valid


def notes_on_recommended(run: Run) -> Iterator[str]:
    """Describe cells, steps, wind stress and heat flux outside the range of `valid_range_of`."""
    case, name, valid = run.case, name_of(type(run.model.closure)), valid_range_of(run.model.closure)
    if valid is None:
        return
    water = WaterSurface.of(case.initial_state)

    def fluxes_at(time: jax.Array) -> list[jax.Array | float]:
        fluxes = case.forcing.at(time, water)
        return [0.0 if x is None else x for x in (fluxes.stress_u, fluxes.stress_v, fluxes.heat_flux)]

    times = np.linspace(0.0, run.duration_from(0.0), _N_TIMES)
    u, v, heat = map(np.asarray, jax.jit(lambda times: jax.lax.map(fluxes_at, times))(times))
    thinnest = np.min(np.diff(np.asarray(case.grid.z_face), axis=0))
    for what, values, (low, high), unit in (
        ("cells", thinnest, valid.cell_thickness, "m"),
        ("steps", run.dt, valid.dt, "s"),
        ("wind stress", np.hypot(u, v), valid.stress, "N m-2"),
        ("heat flux into the water", heat, valid.heat_flux, "W m-2"),
    ):
        tolerance, least, most = 1e-6 * (high - low), float(np.min(values)), float(np.max(values))
        if least < low - tolerance or most > high + tolerance:
            got = f"{least:g} {unit}" if least == most else f"{least:g} to {most:g} {unit}"
            yield (
                f"recommended constants of {name}: expected {what} of {low:g} to {high:g} {unit}, with which "
                f"they were tested, got {got}; errors may be larger than documented"
            )
