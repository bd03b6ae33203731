"""What commands share: options, precision, errors as messages, exit codes, provenance."""

import contextlib
import dataclasses
import errno
import json
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import typer

from .. import interrupts
from .._types import iterate_options, iterate_parameters, iterate_weights
from ..calibration import read_parameters
from ..closures import AbstractClosure
from ..config import CalibrationConfig, ConfigError, Loaded, RunConfig, data_files
from ..gotm import LoadedGotm
from ..io.errors import FileFormatError, within_a_screen
from ..io.protection import Provenance, protecting

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (YAML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value of the configuration; the value is read as YAML. May be repeated.",
    ),
]
Parameters = Annotated[
    Path | None,
    typer.Option("--parameters", metavar="FILE", help="Closure parameters that a calibration found (YAML)."),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace files that are there and are not results of the same command."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what is in the folder.")]
Anew = Annotated[bool, typer.Option("--overwrite", help="Start anew in a folder that holds such results.")]
Folder = Annotated[
    Path | None,
    typer.Option("--output", metavar="DIR", help="Folder for the results; by default results/CONFIG."),
]
"""Arguments and options that commands share."""

FAILED, BAD_INPUT, BAD_FILE = 1, 2, 3

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (ConfigError, BAD_INPUT),
    (FileFormatError, BAD_FILE),
    (FileNotFoundError, BAD_FILE),
    (PermissionError, BAD_INPUT),
    (IsADirectoryError, BAD_INPUT),
    (NotADirectoryError, BAD_INPUT),
    (FileExistsError, BAD_INPUT),
    (OSError, FAILED),
    (FloatingPointError, FAILED),
    (MemoryError, FAILED),
    (ValueError, BAD_INPUT),
)


@contextlib.contextmanager
def errors_as_messages(debug: bool, when_interrupted: str = "") -> Iterator[None]:
    """Turn an exception into one message on stderr and an exit code.

    Args:
        debug: show the traceback too.
        when_interrupted: what the user can do after Ctrl-C, SIGTERM or SIGHUP, unless `interrupts.advise`
            says it better later.
    """
    before = interrupts.advise(when_interrupted)
    try:
        with protecting():
            yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        typer.echo(f"\ntunax-lite: {interrupts.message()}", err=True)
        raise typer.Exit(interrupts.exit_code()) from None
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
        message = _in_words(error)
        if _is_lack_of_memory(error):
            code = FAILED
        if code is None:
            message = f"unexpected {type(error).__name__}: {message}\nrun again with --debug and report it."
        typer.echo(within_a_screen(f"tunax-lite: error: {message}"), err=True)
        raise typer.Exit(FAILED if code is None else code) from None
    finally:
        interrupts.advise(before)


def _is_lack_of_memory(error: Exception) -> bool:
    """However a library says it: XLA where it computes, the system where it loads a library."""
    said = str(error)
    return (
        isinstance(error, MemoryError)
        or "RESOURCE_EXHAUSTED" in said
        or (isinstance(error, ImportError) and ("failed to map" in said or "cannot allocate" in said))
    )


def _in_words(error: Exception) -> str:
    said = str(error) or type(error).__name__
    if _is_lack_of_memory(error) and "expected" not in said:
        return (
            f"expected more memory than is free or allowed to this process, got: {said.splitlines()[0]}; "
            "take fewer columns, levels or frames, or raise the limit (ulimit -v, that of the job)."
        )
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC):
        return f"standard output: expected to write what is done, got: {error.strerror}."
    return said


def results_folder(
    loaded: Loaded[CalibrationConfig], output: Path | None, *, resume: bool = False, overwrite: bool = False
) -> Path:
    """Where a command on a calibration writes.

    Raises:
        ConfigError: options that contradict each other.
    """
    if resume and overwrite:
        raise ConfigError("expected either --resume or --overwrite, got both; choose one.")
    return output or Path(loaded.config.output.folder or Path("results") / loaded.name)


def precision(loaded: Loaded[RunConfig] | Loaded[CalibrationConfig] | LoadedGotm):
    """Context in which JAX computes in the precision of a configuration; enter it before the first array."""
    return jax.enable_x64(loaded.config.precision == "float64")


def parameters_for(path: Path | None, loaded: Loaded[RunConfig] | Loaded[CalibrationConfig]):
    """Values of a parameter file, checked to be for the closure of the configuration.

    Raises:
        ConfigError: a file that is missing or cannot be used.
    """
    if path is None:
        return None
    try:
        return read_parameters(path, loaded.closure_class.__name__)
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError(str(error)) from error


def provenance(
    loaded: Loaded[RunConfig] | Loaded[CalibrationConfig] | LoadedGotm,
    case: str,
    closure: AbstractClosure,
    restart: str = "",
) -> Provenance:
    """What an output file says about its origin."""
    values: dict[str, float | list[float] | None] = {
        info.path: None if info.value is None else float(info.value) for info in iterate_parameters(closure)
    }
    values |= {path: np.asarray(weights).tolist() for path, weights in iterate_weights(closure)}
    return Provenance(
        config=loaded.text,
        case=case,
        parameters=json.dumps(values),
        command=command_line(),
        closure=json.dumps(dict(iterate_options(closure))),
        restart=_in_utf_8(restart),
    )


def command_line() -> str:
    """The command that is running."""
    return _in_utf_8(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]))


def _in_utf_8(text: str) -> str:
    """Names of files as text, where the locale had no letters for them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def origin_of(
    loaded: Loaded[CalibrationConfig], names: Sequence[str], closure: AbstractClosure
) -> dict[str, str]:
    """What the files of a calibration say about their origin, as attributes.

    Args:
        loaded: its configuration.
        names: of the cases.
        closure: with the parameters found.
    """
    origin = dataclasses.asdict(provenance(loaded, ", ".join(names), closure))
    attributes = {f"tunax_lite_{key}": value for key, value in origin.items()}
    return attributes | {"tunax_lite_data": json.dumps(data_files(loaded))}


def report_written(paths: list[Path]) -> None:
    """Name the files that a command wrote."""
    for path in paths:
        typer.echo(f"wrote {path}")
