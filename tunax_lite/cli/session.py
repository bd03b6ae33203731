"""What commands share: options, the file they are given, the environment, errors as messages, exit codes,
provenance."""

import contextlib
import dataclasses
import errno
import io
import json
import os
import shlex
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import typer

from .. import interrupts
from .._types import iterate_options, iterate_parameters, iterate_weights
from ..calibration import read_parameters, with_case_parameters, with_parameters
from ..calibration.known import paths_of_other_cases
from ..closures import AbstractClosure
from ..config import CalibrationConfig, ConfigError, Loaded, Run, RunConfig, build_run, data_files, load_run
from ..gotm import LoadedGotm, build_gotm, load_gotm, looks_like_gotm
from ..io.errors import FileFormatError, within_a_screen
from ..io.protection import Provenance, protecting
from ..io.yaml_file import naming, read_document
from ..runtime import is_own_flag

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


RunSource = Loaded[RunConfig] | LoadedGotm


def is_gotm(config: Path) -> bool:
    """Whether a file is a configuration of GOTM.

    Raises:
        ConfigError: no YAML file.
    """
    return looks_like_gotm(read_document(config).data)


def load_source(config: Path, settings: Sequence[str]) -> RunSource:
    """Read the configuration of a run of either kind.

    Raises:
        ConfigError: a file or a setting that cannot be used.
    """
    return load_gotm(config, settings) if is_gotm(config) else load_run(config, settings)


def build_source(source: RunSource, parameters: Path | None, *, ignore_unsupported: bool = False) -> Run:
    """The objects of a run; says what a case of GOTM is run without.

    Args:
        source: from `load_source`.
        parameters: a file of closure parameters.
        ignore_unsupported: run a case of GOTM without what is not supported.

    Raises:
        ConfigError: values that do not fit each other, or a setting of GOTM that is not supported.
        FileNotFoundError, FileFormatError: a file of the case that is missing or cannot be used.
    """
    if not isinstance(source, LoadedGotm):
        run = build_run(source)
        _echo_notes(run)
        return run if parameters is None else _with_parameters(run, parameters)
    made = build_gotm(source)
    if not ignore_unsupported or made.run is None:
        made.report.check()
    assert made.run is not None  # without a run there is an error
    _echo_notes(made.run)
    return made.run if parameters is None else _with_parameters(made.run, parameters)


def _echo_notes(run: Run) -> None:
    for note in run.notes:
        typer.echo(f"note: {note}")


def _with_parameters(run: Run, path: Path) -> Run:
    closure = run.model.closure
    try:
        values = read_parameters(path, type(closure).__name__)
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError(str(error)) from error
    with naming(path, "parameters"):
        closure, case = with_parameters(closure, values), with_case_parameters(run.case, values)
    if others := paths_of_other_cases(values, run.case.name):
        typer.echo(f"note: {path}: {len(others)} numbers of other cases are left out")
    return dataclasses.replace(run, model=dataclasses.replace(run.model, closure=closure), case=case)


_VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "CUDA_VISIBLE_DEVICES")
# XLA ends the process at a flag that it does not know: a process of its own says whether it does.
_START_OF_XLA = "from jaxlib import xla_client; xla_client.make_cpu_client()"
_MOST_SECONDS = 60.0


def print_any_text() -> None:
    """Print what the encoding of the terminal does not have as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def check_flags() -> None:
    """Raise where XLA would end the process because of $XLA_FLAGS; ask only about flags of the user.

    Raises:
        ConfigError: flags that XLA does not take.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if all(is_own_flag(flag) for flag in flags.split()):
        return
    try:
        done = subprocess.run(
            [sys.executable, "-c", _START_OF_XLA],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_MOST_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):  # it will be seen
        return
    said = [line for line in done.stderr.splitlines() if "parse_flags_from_env" in line]
    if done.returncode and said:
        raise ConfigError(
            f"XLA_FLAGS={flags}: expected flags that XLA knows, or a file of them, got: "
            f"{said[-1].partition('] ')[2] or said[-1]}; correct the variable or unset it."
        )


def check_devices() -> None:
    """Start JAX where the environment says on what, so that a device that is not there is one message.

    Raises:
        ConfigError: no such device.
    """
    given = [f"{name}={os.environ[name]}" for name in _VARIABLES if os.environ.get(name)]
    if not given:
        return
    try:
        jax.devices()
    except Exception as error:  # those of plugins for devices may be any
        reason = str(error).splitlines()[0] if str(error) else "none of this kind that can be used"
        raise ConfigError(
            f"{', '.join(given)}: expected a device of this machine, got: {reason}; correct the variable or "
            "unset it."
        ) from error


def print_warnings_as_messages() -> None:
    """Print warnings in the style of errors, without the lines of the program that they come from."""

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        del category, filename, lineno, file, line
        typer.echo(f"tunax-lite: warning: {message}", err=True)

    warnings.showwarning = show
