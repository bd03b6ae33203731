"""`tunax-lite evaluate`, `compare`, `plot` and `report`."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np

from ..calibration import Target, comparison
from ..calibration.target import errors_and_run
from ..calibration.validation import (
    ErrorRow,
    rows_of,
    with_values,
)
from ..column.model import Model
from ..config import (
    CalibrationConfig,
    ConfigError,
    Loaded,
    RunConfig,
    evaluation_of,
    load_comparison,
)
from ..config.build import candidates_of, targets_of
from ..config.comparison import ComparisonConfig
from ..config.load import load
from ..io.errors import FileFormatError
from ..io.netcdf import read_netcdf
from ..io.writing import check_outputs, file_name, write_rows
from ..plausibility.water_limits import Extreme, extremes_of
from ..registry import additions
from ..runtime.engine import open_engine
from . import session
from .application import Answer
from .progress import fraction_of
from .terminal import echo, print_table


def evaluate(config: Path, settings: Sequence[str], parameters: Path | None) -> Answer:
    """See `commands.evaluate`."""
    loaded = load(config, settings, RunConfig, CalibrationConfig)
    with session.precision(loaded):
        model, targets = evaluation_of(loaded)
        values = session.parameters_for(parameters, type(model.closure).__name__)
        candidates = {"configuration": [(model, target) for target in targets]}
        if values is not None:
            try:
                candidates["parameters"] = with_values(model, targets, values)
            except ValueError as error:
                raise ConfigError(f"{parameters}: {error}") from error
        session.say_rejected(targets)
        extremes: list[Extreme] = []
        with fraction_of("evaluation") as show:
            rows = _error_rows(candidates, extremes, show)
        _print_errors(rows, list(candidates))
    session.judge_water(extremes)
    return {"errors": [dataclasses.asdict(row) for row in rows]}


def _error_rows(
    candidates: Mapping[str, Sequence[tuple[Model, Target]]],
    extremes: list[Extreme],
    show: Callable[[float, str], None],
) -> list[ErrorRow]:
    """Errors of models on the same targets; implausible water of the runs is appended to `extremes`.

    Raises `FloatingPointError` for an error that is not finite.
    """
    rows, by_target = list[ErrorRow](), list(zip(*candidates.values(), strict=True))
    for number, runs in enumerate(by_target, 1):
        case = runs[0][1].case.name
        for label, (model, target) in zip(candidates, runs, strict=True):
            errors, run = errors_and_run(model, target.comparison)
            water = extremes_of(run, has_ice=target.case.ice is not None)
            extremes += [extreme._replace(place=f"{case} with the {label}, ") for extreme in water]
            for row in rows_of(label, target, errors):
                if not math.isfinite(row.root_mean_square):
                    raise FloatingPointError(
                        f"{case}: expected finite values with the {label}, got {row.variable} that is not; "
                        "try a shorter time.dt, or other parameters."
                    )
                rows.append(row)
        show(number / len(by_target), case)
    return rows


def _by_variable(
    rows: Sequence[ErrorRow], value_of: Callable[[ErrorRow], float]
) -> dict[tuple[str, str, str], list[float]]:
    """Group values by case, variable and unit; a group has one value per label."""
    lines: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        lines.setdefault((row.case, row.variable, row.unit), []).append(value_of(row))
    return lines


def _number(error: float, sign: str = "") -> str:
    """Format an error with five decimals, or in scientific notation if it is small or large."""
    return f"{error:{sign}.5f}" if error == 0.0 or 1e-4 <= abs(error) < 1e7 else f"{error:{sign}.4e}"


def _print_errors(rows: Sequence[ErrorRow], labels: Sequence[str]) -> None:
    columns = ["case", "variable", *labels, "unit"]
    errors = _by_variable(rows, lambda row: row.root_mean_square)
    lines = [[case, name, *map(_number, row), unit] for (case, name, unit), row in errors.items()]
    temperature = [row for (_, variable, _), row in errors.items() if variable == "temperature"]
    if len(temperature) > 1:
        for name, statistic in (("mean", np.mean), ("worst", np.max)):
            lines.append([name, "temperature", *map(_number, statistic(temperature, axis=0).tolist()), "K"])
    print_table(columns, lines, "root mean square errors")
    means = _by_variable(rows, lambda row: row.mean)
    lines = [
        [case, name, *(_number(mean, "+") for mean in row), unit] for (case, name, unit), row in means.items()
    ]
    print_table(columns, lines, "mean errors, model minus observed")


def plot(files: Sequence[Path], output: Path | None, *, overwrite: bool) -> None:
    """See `commands.plot`."""
    # Slow imports: figures.
    from ..plotting import file_figures, files_figures, save_figures

    file, are_several = files[0], len(files) > 1
    if not are_several and file.is_dir():
        raise FileFormatError(file, "folder", "a file", "a folder", "name a file; plot a map with xarray")
    title = read_netcdf(file, only=()).attrs.get("title") if file.suffix == ".nc" else None
    of_extension = next((draw for name, draw in additions("outputs", "FILES") if name == title), None)
    with jax.enable_x64(True):  # keeps double precision on reading
        if of_extension is not None:
            figures = of_extension(files)
        else:
            figures = files_figures(files) if are_several else file_figures(file)
    folder, start = output or file.parent, "together_" if are_several else f"{file.stem}_"
    check_outputs([folder / f"{start}{name}.png" for name in figures], overwrite=overwrite, inputs=files)
    session.report_written(save_figures(figures, folder, start))


def report(results: Path, output: Path | None, *, overwrite: bool) -> None:
    """See `commands.report`."""
    from ..report import read_calibration_folder, write_report  # slow import

    path, folder = output or results / "report.html", read_calibration_folder(results)
    inputs = [each for each in results.iterdir() if each.suffix != ".html"]
    check_outputs([path], overwrite=overwrite, inputs=inputs)
    session.report_written([write_report(folder, path)])


def compare(
    config: Path,
    settings: Sequence[str],
    output: Path | None,
    closures: str,
    cases: str,
    *,
    overwrite: bool,
    workers: int | None,
    scheduler: str | None,
) -> Answer:
    """See `commands.compare`."""
    # Slow import: figures.
    from ..plotting import case_runs, closure_figures, in_words, save_figures

    loaded = load_comparison(config, settings)
    folder = output or Path("results") / loaded.name
    with session.precision(loaded):
        candidates = candidates_of(loaded, names_in(closures))
        targets = targets_of(loaded, names_in(cases))
        names = dict.fromkeys(file_name(target.case.name) for each in targets.values() for target in each)
        kinds = ("profiles", "sections", "series")
        outputs = [folder / f"{kind}_{name}.png" for name in names for kind in kinds]
        outputs += [folder / f"comparison.{suffix}" for suffix in ("csv", "md")]
        check_outputs(outputs, overwrite=overwrite, inputs=session.inputs_of(loaded))
        session.say_rejected(next(iter(targets.values())))
        compared = run_comparison(loaded, candidates, targets, workers, scheduler)
        rows, parts = compared.rows, comparison.tables(compared.rows)
        # Before the figures, in case drawing fails.
        write_rows(folder / "comparison.csv", type(rows[0]), rows, ".6g")
        echo("drawing figures ...")
        figures = {}
        for target in compared.shown:
            case = target.case
            if runs := compared.runs[case.name]:
                shown = case_runs(case.name, runs, target.observations, case, tuple(target.weights))
                figures |= {file_name(name): figure for name, figure in closure_figures(shown).items()}
        links = {in_words(name): f"{name}.png" for name in figures}
        written = save_figures(figures, folder)
        title = f"Comparison {loaded.name}"
        comparison.write_markdown(folder / "comparison.md", title, parts, links, session.command_line())
    for part in parts:
        print_table(part.header, part.rows, part.title, part.explanation)
    written += outputs[-2:]
    session.report_written(written)
    answer = [dataclasses.asdict(row) for row in rows]
    return {"rows": answer, "written": [str(path) for path in written]}


def names_in(text: str) -> list[str]:
    """Split the value of an option such as `--cases NAME,NAME`."""
    return [name.strip() for name in text.split(",") if name.strip()]


def run_comparison(
    loaded: Loaded[ComparisonConfig],
    candidates: Mapping[str, Model],
    targets: Mapping[str, Sequence[Target]],
    workers: int | None,
    scheduler: str | None,
) -> comparison.Compared:
    """Run the configured comparison and show its progress."""
    n_runs = len(candidates) * sum(map(len, targets.values()))
    echo(f"{len(candidates)} closures, {n_runs} runs")
    clock = time.perf_counter()
    opened = open_engine(workers, scheduler)
    with opened as engine, fraction_of("comparison") as show:
        compared = comparison.compare(
            candidates,
            targets,
            with_persistence=loaded.config.persistence,
            engine=engine,
            report=show,
        )
    echo(f"computed in {time.perf_counter() - clock:.0f} s, compilation included")
    return compared
