"""`tunax-lite evaluate`, `compare`, `plot` and `report`: results as errors, figures and a page."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..calibration import Target, comparison
from ..calibration.results import PARAMETERS_NAME
from ..calibration.target import errors_and_water
from ..calibration.validation import (
    ErrorRow,
    folder_without,
    left_out_together,
    rows_of,
    run_checks,
    with_values,
)
from ..column.model import Model
from ..config import (
    CalibrationConfig,
    ComparisonSetup,
    ConfigError,
    build_checks,
    build_run,
    evaluation_of,
    load_any,
    load_comparison,
    load_run,
)
from ..config.build import with_observations
from ..io.errors import FileFormatError
from ..io.netcdf import read_netcdf
from ..io.writing import check_outputs, file_name, write_csv, write_rows
from ..plausibility.water_limits import Extreme
from ..registry import additions
from ..runtime.engine import open_engine
from ..runtime.jax_setup import failures_as_values
from . import session
from .application import Answer
from .calibrate import say_checks
from .options import Engine
from .progress import fraction_of
from .terminal import echo, print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def evaluate(
    config: Path, settings: Sequence[str], parameters: Path | None, output: Path | None, *, overwrite: bool
) -> Answer:
    """See `commands.evaluate`."""
    loaded = load_any(config, settings)
    if output is not None and output.suffix != ".csv":
        raise ConfigError(f"--output {output}: expected a file name that ends in .csv.")
    folder = parameters if parameters is not None and parameters.is_dir() else None
    with session.precision(loaded):
        closure, values = loaded.closure_class.__name__, None
        if folder is None:
            values = session.parameters_for(parameters, closure)
        model, targets = evaluation_of(loaded)
        candidates = {"configuration": [(model, target) for target in targets]}
        if folder is not None:
            candidates = _left_out(model, targets, folder, closure)
        elif values is not None:
            try:
                candidates["parameters"] = with_values(model, targets, values)
            except ValueError as error:
                raise ConfigError(f"{parameters}: {error}") from error
        if output is not None:
            check_outputs(
                [output],
                overwrite=overwrite,
                inputs=session.inputs_of(loaded, parameters if folder is None else None),
            )
        session.say_accounts(targets)
        beyond: list[Extreme] = []
        with fraction_of("evaluation") as show:
            rows, checked = _judged(candidates, show, beyond), []
        _print_errors(rows, list(candidates))
        if values is not None and isinstance(loaded.config, CalibrationConfig):
            if checks := build_checks(loaded.config.checks, loaded.place):
                after = candidates["parameters"][0][0].closure
                with fraction_of("checks") as show:
                    checked = run_checks(checks, model.closure, after, values, show)
                say_checks(checked)
    _write_errors(output, rows)
    session.judge_water(beyond)
    errors, growth = ([dataclasses.asdict(row) for row in each] for each in (rows, checked))
    return {"errors": errors, "checks": growth}


def _left_out(
    model: Model, targets: Sequence[Target], folder: Path, closure: str
) -> dict[str, list[tuple[Model, Target]]]:
    """Each source with the parameters of the calibration that left it out."""
    together = left_out_together({target.case.name: target.group for target in targets})
    plain, calibrated = list[tuple[Model, Target]](), list[tuple[Model, Target]]()
    for name, cases in together.items():
        place = folder / folder_without(name, list(together)) / PARAMETERS_NAME
        values = session.parameters_for(place, closure) or {}
        own = [target for target in targets if target.case.name in cases]
        plain += [(model, target) for target in own]
        calibrated += with_values(model, own, values)
    return {"configuration": plain, "left out": calibrated}


@failures_as_values()
def _judged(
    candidates: Mapping[str, Sequence[tuple[Model, Target]]],
    show: Callable[[float, str], None],
    beyond: list[Extreme],
) -> list[ErrorRow]:
    """Errors of models on the same targets; `FloatingPointError` for a run that is not finite."""
    rows, together = list[ErrorRow](), list(zip(*candidates.values(), strict=True))
    for number, runs in enumerate(together, 1):
        case = runs[0][1].case.name
        for label, (model, target) in zip(candidates, runs, strict=True):
            errors, water = errors_and_water(model, target.comparison)
            beyond += [one._replace(place=f"{case} with the {label}, ") for one in water]
            for row in rows_of(label, target, errors):
                if not math.isfinite(row.root_mean_square):
                    raise FloatingPointError(
                        f"{case}: expected finite values, got a {row.variable} that is not with the {label}; "
                        "try a shorter time.step, or other parameters."
                    )
                rows.append(row)
        show(number / len(together), case)
    return rows


def _by_variable(
    rows: Sequence[ErrorRow], value_of: Callable[[ErrorRow], float]
) -> dict[tuple[str, str, str], list[float]]:
    """Values of all labels by case, variable and unit."""
    lines: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        lines.setdefault((row.case, row.variable, row.unit), []).append(value_of(row))
    return lines


def _write_errors(path: Path | None, rows: Sequence[ErrorRow]) -> None:
    if path is not None:
        lines = _by_variable(rows, lambda row: row.root_mean_square)
        labels = dict.fromkeys(row.closure for row in rows)
        write_csv(path, ["case", "variable", "unit", *labels], [[*key, *own] for key, own in lines.items()])
        session.report_written([path])


def _number(error: float, sign: str = "") -> str:
    """Five decimals, or scientific notation where these are not enough."""
    return f"{error:{sign}.5f}" if error == 0.0 or 1e-4 <= abs(error) < 1e7 else f"{error:{sign}.4e}"


def _print_errors(rows: Sequence[ErrorRow], labels: Sequence[str]) -> None:
    columns = ["case", "variable", *labels, "unit"]
    errors = _by_variable(rows, lambda row: row.root_mean_square)
    lines = [[case, name, *map(_number, own), unit] for (case, name, unit), own in errors.items()]
    temperature = [own for (_, variable, _), own in errors.items() if variable == "temperature"]
    if len(temperature) > 1:
        for name, of in (("mean", np.mean), ("worst", np.max)):
            lines.append([name, "temperature", *map(_number, of(temperature, axis=0).tolist()), "K"])
    print_table(columns, lines, "root mean square errors")
    means = _by_variable(rows, lambda row: row.mean)
    lines = [
        [case, name, *(_number(mean, "+") for mean in own), unit] for (case, name, unit), own in means.items()
    ]
    print_table(columns, lines, "mean errors, model minus observed")


def plot(
    files: Sequence[Path],
    output: Path | None,
    config: Path | None,
    *,
    overwrite: bool,
) -> None:
    """See `commands.plot`."""
    file = files[0]
    folder = file.parent if output is None else output
    if config is None and (own := _of_extension(file)) is not None:
        return _draw(own(files), files, folder, overwrite, together=len(files) > 1)
    if len(files) > 1 or config is not None:
        return _plot_together(files, output, config, overwrite)
    # Slow imports, only where needed.
    from ..plotting import file_figures

    if file.is_dir():
        raise FileFormatError(file, "folder", "a file", "a folder", "name a file; plot a map with xarray")
    _draw(file_figures(file), files, folder, overwrite, together=False)


def _draw(
    figures: "Mapping[str, Figure]", files: Sequence[Path], folder: Path, overwrite: bool, *, together: bool
) -> None:
    """Write figures of one file, or of several together."""
    from ..plotting import save_figures  # slow import

    start = "together_" if together else f"{files[0].stem}_"
    check_outputs([folder / f"{start}{name}.png" for name in figures], overwrite=overwrite, inputs=files)
    session.report_written(save_figures(figures, folder, start))


def _of_extension(file: Path) -> "Callable[..., dict[str, Figure]] | None":
    """How an extension draws the files of this kind."""
    if file.suffix != ".nc" or not file.is_file():
        return None
    title = read_netcdf(file, only=()).attrs.get("title")
    return next((own for name, own in additions("outputs", "FILES") if name == title), None)


def _plot_together(files: Sequence[Path], output: Path | None, config: Path | None, overwrite: bool) -> None:
    """Several files in the same figures, beside the observations of a configuration."""
    from ..plotting import files_figures  # slow import

    with jax.enable_x64(True):  # otherwise double precision would be lost on reading
        beside = None
        if config is not None:
            loaded = load_run(config)
            beside = with_observations(build_run(loaded), loaded.place.below("case"))
        figures = files_figures(files, beside)
    _draw(figures, files, files[0].parent if output is None else output, overwrite, together=True)


def report(results: Path, output: Path | None, *, overwrite: bool) -> None:
    """See `commands.report`."""
    from ..report import read_run_folder, write_report  # slow import

    path, folder = output or results / "report.html", read_run_folder(results)
    inputs = [each for each in results.iterdir() if each.suffix != ".html"]
    check_outputs([path], overwrite=overwrite, inputs=inputs)
    session.report_written([write_report(folder, path)])


def compare(
    config: Path,
    settings: Sequence[str],
    output: Path | None,
    closures: str,
    cases: str,
    engine: Engine,
    *,
    overwrite: bool,
) -> Answer:
    """See `commands.compare`."""
    setup = load_comparison(config, settings)
    folder = output or Path("results") / setup.path.stem
    is_observed = setup.config.observed is not None
    with jax.enable_x64(setup.config.precision == "float64"):
        candidates, names = setup.candidates(names_in(closures)), names_in(cases)
        compared = (setup.targets if is_observed else setup.references)(names)
        stored = setup.stored(compared)
        names = [file_name(one.case.name) for one in compared]
        kinds = ("profiles", "sections", "series")
        drawn = ["cost", *(f"{kind}_{name}" for name in names for kind in kinds)]
        outputs = [folder / f"{name}.png" for name in drawn]
        outputs += [folder / f"comparison.{suffix}" for suffix in ("csv", "md")]
        check_outputs(outputs, overwrite=overwrite, inputs=session.inputs_of(setup))
        compute: Callable[..., _Compared] = _compare_observed if is_observed else _compare_closures
        rows, parts, draw = compute(setup, candidates, compared, stored, engine)
        write_rows(folder / "comparison.csv", type(rows[0]), rows, ".6g")  # even if drawing fails
        # Slow imports, only where needed.
        from ..plotting import in_words, save_figures

        figures = {file_name(name): figure for name, figure in draw().items()}
        links = {in_words(name): f"{name}.png" for name in figures}
        written = save_figures(figures, folder)
        title = f"Comparison {setup.path.stem}"
        comparison.write_markdown(folder / "comparison.md", title, parts, links, session.command_line())
    for part in parts:
        print_table(part.header, part.rows, part.title, part.explanation)
    written += outputs[-2:]
    session.report_written(written)
    answer = [dataclasses.asdict(row) for row in rows]
    return {"rows": answer, "written": [str(path) for path in written]}


_Compared = tuple[
    Sequence[comparison.ComparisonRow | ErrorRow],
    Sequence[comparison.Summary],
    Callable[[], dict[str, Any]],  # of `Figure`, slow to import
]
"""Rows, their summaries, and a function that draws figures by name."""


def _compare_observed(
    setup: ComparisonSetup,
    candidates: list[comparison.Candidate],
    targets: list[Target],
    stored: list[comparison.StoredResult],
    engine: Engine,
) -> _Compared:
    """Compare closures on any observations, in this process."""
    from ..plotting import case_runs, closure_figures  # slow import

    session.say_accounts(targets)
    with fraction_of("comparison") as show, setup.place.naming("stored"):
        found = comparison.compare_observed(candidates, targets, show, stored)

    def draw() -> dict[str, Any]:
        figures = {}
        for target, runs in zip(found.targets, found.runs, strict=True):
            if runs:
                about = target.case.name, runs, target.observations, target.case, tuple(target.weights)
                figures |= closure_figures(case_runs(*about))
        return figures

    return found.rows, comparison.tables(found.rows), draw


def _compare_closures(
    setup: ComparisonSetup,
    candidates: list[comparison.Candidate],
    references: list[comparison.Reference],
    stored: list[comparison.StoredResult],
    engine: Engine,
) -> _Compared:
    """Compare closures on large-eddy simulations."""
    # Slow imports, only where needed.
    from ..plotting import closure_figures, closures_of, plot_cost

    compared = computed(setup, candidates, references, stored, engine)
    chosen, step = setup.config.shown
    resolution = comparison.resolution_in_words(chosen)

    def draw() -> dict[str, Any]:
        echo("drawing figures ...")
        figures = {}
        for shown in compared.shown:
            figures |= closure_figures(closures_of(shown))
        if setup.config.n_timings:
            shown = [row for row in compared.rows if (row.resolution, row.time_step) == (resolution, step)]
            figures["cost"] = plot_cost(shown)
        return figures

    parts = comparison.summaries(compared.rows, resolution=resolution, time_step=step)
    return compared.rows, parts, draw


def names_in(text: str) -> list[str]:
    """The names of an option such as `--cases NAME,NAME`."""
    return [name.strip() for name in text.split(",") if name.strip()]


def computed(
    setup: ComparisonSetup,
    candidates: list[comparison.Candidate],
    references: list[comparison.Reference],
    stored: list[comparison.StoredResult],
    engine: Engine,
) -> comparison.Compared:
    """`compare_closures` as configured, with its progress on the screen."""
    config = setup.config
    n_together = len(references) * len(config.time_steps)
    n_rows = len(candidates) * len(config.sizes) * n_together
    rows: list[comparison.ComparisonRow] = []
    echo(f"{len(candidates)} closures, {len(references)} cases, {n_rows} rows")
    clock = time.perf_counter()
    with open_engine(*engine) as opened, fraction_of("comparison") as show:

        def add(row: comparison.ComparisonRow) -> None:
            """Show each closure at each resolution when it is done."""
            rows.append(row)
            if len(rows) % n_together == 0:
                show(len(rows) / n_rows, f"{row.closure}, {row.resolution}")

        compared = comparison.compare_closures(
            candidates,
            references,
            n_cells=config.sizes,
            time_steps=config.time_steps,
            how=comparison.Judging(config.start, config.temperature_difference, config.averaging),
            shown=config.shown,
            n_timings=config.n_timings,
            with_persistence=config.persistence,
            stored=stored,
            engine=opened,
            report=add,
        )
    echo(f"computed in {time.perf_counter() - clock:.0f} s, compilation included")
    return compared
