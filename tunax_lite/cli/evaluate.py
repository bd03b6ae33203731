"""`tunax-lite evaluate`, `compare`, `plot` and `report`: results as errors, figures and a page."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jax
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..calibration import Target, comparison
from ..calibration.results import PARAMETERS_NAME
from ..calibration.validation import (
    ErrorRow,
    ModelOnTarget,
    errors_by_label,
    folder_without,
    left_out_together,
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
from . import session
from .application import Answer
from .calibrate import say_checks
from .options import Engine
from .progress import fraction_of
from .terminal import echo

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
        session.say_accounts(targets, notes=True)
        beyond: list[Extreme] = []
        with fraction_of("evaluation") as show:
            rows, checked = errors_by_label(candidates, show, beyond.extend), []
        echo(_table(rows, list(candidates)))
        if values is not None and isinstance(loaded.config, CalibrationConfig):
            checks, notes = build_checks(loaded.config.checks, loaded.place)
            session.say_notes(notes)
            if checks:
                after = candidates["parameters"][0][0].closure
                with fraction_of("checks") as show:
                    checked = run_checks(checks, model.closure, after, values, show)
                say_checks(checked)
    _write_errors(output, rows)
    session.judge_water(beyond)
    errors = [row._asdict() for row in rows]
    return {"errors": errors, "checks": [dataclasses.asdict(row) for row in checked]}


def _left_out(
    model: Model, targets: Sequence[Target], folder: Path, closure: str
) -> dict[str, list[ModelOnTarget]]:
    """Each source with the parameters of the calibration that left it out."""
    together = left_out_together({target.case.name: target.group for target in targets})
    plain, calibrated = list[ModelOnTarget](), list[ModelOnTarget]()
    for name, cases in together.items():
        place = folder / folder_without(name, list(together)) / PARAMETERS_NAME
        values = session.parameters_for(place, closure) or {}
        own = [target for target in targets if target.case.name in cases]
        plain += [(model, target) for target in own]
        calibrated += with_values(model, own, values)
    return {"configuration": plain, "left out": calibrated}


def _write_errors(path: Path | None, rows: Sequence[ErrorRow]) -> None:
    if path is not None:
        labels = list(rows[0].errors)
        lines = ([row.case, row.variable, row.unit, *map(row.errors.get, labels)] for row in rows)
        write_csv(path, ["case", "variable", "unit", *labels], lines)
        session.report_written([path])


def _number(error: float, sign: str = "") -> str:
    """Five decimals, or scientific notation where these are not enough."""
    return f"{error:{sign}.5f}" if error == 0.0 or 1e-4 <= abs(error) < 1e7 else f"{error:{sign}.4e}"


def _table(rows: Sequence[ErrorRow], labels: Sequence[str]) -> str:
    widths = max(len("case"), *(len(row.case) for row in rows)), max(12, *(len(row.variable) for row in rows))

    def line(case: str, variable: str, numbers: Iterable[str], unit: str) -> str:
        together = "".join(f"{number:>15}" for number in numbers)
        return f"{case:{widths[0]}}  {variable:{widths[1]}}{together}  {unit}"

    lines = ["root mean square errors", line("case", "variable", labels, "unit")]
    for row in rows:
        numbers = (_number(row.errors[label]) for label in labels)
        lines.append(line(row.case, row.variable, numbers, row.unit))
    temperature = [row for row in rows if row.variable == "temperature"]
    if len(temperature) > 1:
        means = (sum(row.errors[label] for row in temperature) / len(temperature) for label in labels)
        lines.append(line("mean", "temperature", map(_number, means), "K"))
        worst = (max(row.errors[label] for row in temperature) for label in labels)
        lines.append(line("worst", "temperature", map(_number, worst), "K"))
    lines.append("mean errors, model minus observed")
    for row in rows:
        numbers = (_number(row.means[label], "+") for label in labels)
        lines.append(line(row.case, row.variable, numbers, row.unit))
    return "\n".join(lines)


def plot(
    files: Sequence[Path],
    output: Path | None,
    point: Sequence[str],
    config: Path | None,
    *,
    overwrite: bool,
) -> None:
    """See `commands.plot`."""
    if point and (len(files) > 1 or not files[0].is_dir()):
        got = "several files" if len(files) > 1 else str(files[0])
        raise ConfigError(f"--point: expected the store of a map, got {got}; leave the option out.")
    file = files[0]
    folder = file.parent if output is None else output
    if config is None and (own := _of_extension(file)) is not None:
        return _draw(own(files), files, folder, overwrite, together=len(files) > 1)
    if len(files) > 1 or config is not None:
        return _plot_together(files, output, config, overwrite)
    # Slow imports, only where needed.
    from ..plotting import file_figures

    folders = additions("outputs", "FOLDERS") if file.is_dir() else ()
    draw = next((draw for _, recognises, draw in folders if recognises(file)), None)
    if draw is None and file.is_dir():
        expected = " or ".join(["a file", *(name for name, *_ in folders)])
        raise FileFormatError(file, "folder", expected, "another folder", "name one of these")
    if draw is not None:
        figures = draw(file, [_point(text) for text in point])
    else:
        figures = file_figures(file)
    _draw(figures, files, folder, overwrite, together=False)


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


def _point(text: str) -> tuple[float, float]:
    try:
        latitude, longitude = map(float, text.split(","))
    except ValueError:
        latitude = longitude = math.nan
    if not (abs(latitude) <= 90.0 and abs(longitude) <= 360.0):
        raise ConfigError(f"--point {text}: expected latitude and longitude [degrees], for example 50,-145.")
    return latitude, longitude


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
    if setup.config.observed is not None:
        return _compare_observed(setup, folder, names_in(closures), names_in(cases), overwrite)
    with jax.enable_x64(setup.config.precision == "float64"):
        candidates, references = setup.candidates(names_in(closures)), setup.references(names_in(cases))
        stored = setup.stored(references)
        session.say_notes(setup.notes(references))
        cases_here = [file_name(one.case.name) for one in references]
        names = ["comparison.csv", "comparison.md", "cost.png"]
        names += [f"{kind}_{case}.png" for case in cases_here for kind in ("profiles", "sections")]
        inputs = session.inputs_of(setup)
        check_outputs([folder / name for name in names], overwrite=overwrite, inputs=inputs)
        compared = computed(setup, candidates, references, stored, engine)
        written = _write_comparison(compared, setup, folder)
    session.report_written(written)
    rows = [dataclasses.asdict(row) for row in compared.rows]
    return {"rows": rows, "written": [str(path) for path in written]}


def _compare_observed(
    setup: ComparisonSetup, folder: Path, closures: list[str], cases: list[str], overwrite: bool
) -> Answer:
    """Closures on any observations."""
    with jax.enable_x64(setup.config.precision == "float64"):
        candidates, targets = setup.candidates(closures), setup.targets(cases)
        stored = setup.stored(targets)
        session.say_notes(setup.notes(targets))
        session.say_accounts(targets)
        names = ["comparison.csv", "comparison.md", "comparison.png"]
        inputs = session.inputs_of(setup)
        check_outputs([folder / name for name in names], overwrite=overwrite, inputs=inputs)
        with fraction_of("comparison") as show, setup.place.naming("stored"):
            found = comparison.compare_observed(candidates, targets, show, stored)
        written = _write_observed(found, setup, folder)
    session.report_written(written)
    rows = [dataclasses.asdict(row) for row in found.rows]
    return {"rows": rows, "written": [str(path) for path in written]}


def _write_observed(found: comparison.ObservedComparison, setup: ComparisonSetup, folder: Path) -> list[Path]:
    # Slow imports, only where needed.
    from ..plotting import plot_closures_and_cases, save_figures

    table, text = folder / "comparison.csv", folder / "comparison.md"
    write_rows(table, comparison.ObservedRow, found.rows, ".6g")
    drawn = save_figures({"comparison": plot_closures_and_cases(found)}, folder)
    parts = comparison.tables(found.rows)
    for part in parts:
        print_summary(part)
    title, links = f"Comparison {setup.path.stem}", {"closures and cases": "comparison.png"}
    comparison.write_markdown(text, title, parts, links, session.command_line())
    return [table, *drawn, text]


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


def _write_comparison(compared: comparison.Compared, setup: ComparisonSetup, folder: Path) -> list[Path]:
    # Slow imports, only where needed.
    from ..plotting import in_words, plot_closure_profiles, plot_closure_sections, plot_cost, save_figures

    chosen, step = setup.config.shown
    resolution = comparison.resolution_in_words(chosen)
    table, text = folder / "comparison.csv", folder / "comparison.md"
    write_rows(table, comparison.ComparisonRow, compared.rows, ".6g")
    echo("drawing figures ...")
    figures = {}
    for shown in compared.shown:
        figures[f"profiles_{shown.name}"] = plot_closure_profiles(shown)
        figures[f"sections_{shown.name}"] = plot_closure_sections(shown)
    if setup.config.n_timings:
        shown = [row for row in compared.rows if (row.resolution, row.time_step) == (resolution, step)]
        figures["cost"] = plot_cost(shown)
    drawn = save_figures({file_name(name): figure for name, figure in figures.items()}, folder)
    parts = comparison.summaries(compared.rows, resolution=resolution, time_step=step)
    for part in parts:
        print_summary(part)
    links = {in_words(name): f"{file_name(name)}.png" for name in figures}
    comparison.write_markdown(text, f"Comparison {setup.path.stem}", parts, links, session.command_line())
    return [table, *drawn, text]


def print_summary(part: comparison.Summary) -> None:
    """Print a table."""
    # As plain text: square brackets are units here, not markup.
    title, caption = Text(part.title), Text(part.explanation)
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    for number, name in enumerate(part.header):
        table.add_column(Text(name), justify="right" if number else "left", no_wrap=number == 0, min_width=6)
    for row in part.rows:
        table.add_row(*map(Text, row))
    console.print(table)
