"""The file that a command is given: a configuration of the package, or one of GOTM."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import typer

from ..calibration import read_parameters, with_case_parameters, with_parameters
from ..calibration.parameters import paths_of_other_cases
from ..config import ConfigError, Loaded, Run, RunConfig, build_run, load_run
from ..gotm import LoadedGotm, build_gotm, load_gotm, looks_like_gotm
from ..io.yaml_file import naming, read_document

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
