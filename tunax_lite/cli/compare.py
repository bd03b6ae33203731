"""`tunax-lite compare`: closures side by side on the same large-eddy simulations."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import jax
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..comparison import (
    Candidate,
    Compared,
    ComparisonRow,
    Reference,
    StoredResult,
    Summary,
    compare_closures,
    summaries,
    write_markdown,
    write_rows,
)
from ..config import ComparisonSetup, load_comparison
from ..io.writing import claimed, file_name
from . import session
from .outputs import check_comparison_outputs
from .progress import ProgressReport, fraction_of

_WIDTH_OF_FILES = 160


@session.command()
def compare(
    config: session.Config,
    output: session.Folder = None,
    closures: Annotated[str, typer.Option(metavar="NAME,NAME", help="Only these, by label.")] = "",
    cases: Annotated[str, typer.Option(metavar="NAME,NAME", help="Only these, by name.")] = "",
    settings: session.Settings = None,
    overwrite: session.Overwrite = False,
) -> None:
    """Compare closures: errors against large-eddy simulations, and time per step.

    Writes comparison.csv with a row for each closure, case, resolution and time step; comparison.md with
    means; and figures of profiles and of sections for each case.
    """
    setup = load_comparison(config, settings or [])
    folder = output or Path("results") / setup.path.stem
    with jax.enable_x64(setup.config.precision == "float64"):
        candidates, references = setup.candidates(_names(closures)), setup.references(_names(cases))
        stored = setup.stored(references)
        names = _files([one.case.name for one in references])
        compared_here = [setup.config.model_dump_json(), *(one.label for one in candidates), *names]
        check_comparison_outputs(folder, names, "\n".join(compared_here), overwrite)
        with claimed(folder, folder=True):
            compared = _compare(setup, candidates, references, stored)
            written = _write(compared, setup, folder)
    session.report_written(written)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _files(cases: list[str]) -> list[str]:
    """Names of all that is written."""
    figures = [f"{kind}_{file_name(case)}.png" for case in cases for kind in ("profiles", "sections")]
    return ["comparison.csv", "comparison.md", "cost.png", *figures]


def _compare(
    setup: ComparisonSetup,
    candidates: list[Candidate],
    references: list[Reference],
    stored: list[StoredResult],
) -> Compared:
    config = setup.config
    n_rows = len(candidates) * len(references) * len(config.n_cells) * len(config.time_steps)
    typer.echo(f"{len(candidates)} closures, {len(references)} cases, {n_rows} rows")
    clock = time.perf_counter()
    with fraction_of("comparison", n_lines=n_rows) as show:
        compared = compare_closures(
            candidates,
            references,
            n_cells=config.n_cells,
            time_steps=config.time_steps,
            start=config.start,
            temperature_difference=config.temperature_difference,
            shown=(config.figures.n_cells, config.figures.time_step),
            n_timings=config.n_timings,
            with_persistence=config.persistence,
            stored=stored,
            report=_progress(n_rows, len(references) * len(config.time_steps), show),
        )
    typer.echo(f"computed in {time.perf_counter() - clock:.0f} s, compilation included")
    return compared


def _progress(n_rows: int, n_together: int, show: ProgressReport) -> Callable[[ComparisonRow], None]:
    """Show how each closure did at each resolution."""
    rows: list[ComparisonRow] = []

    def add(row: ComparisonRow) -> None:
        rows.append(row)
        if len(rows) % n_together:
            return
        failed = sum(not one.finite for one in rows[-n_together:])
        state = "all finite" if not failed else f"{failed} of {n_together} not finite"
        show(len(rows) / n_rows, f"{row.closure}, {row.n_cells} cells: {state}")

    return add


def _write(compared: Compared, setup: ComparisonSetup, folder: Path) -> list[Path]:
    # What takes long to import, where it is needed.
    from ..plotting import in_words, plot_closure_profiles, plot_closure_sections, plot_cost, save_figures

    chosen = setup.config.figures
    table, text = folder / "comparison.csv", folder / "comparison.md"
    write_rows(table, compared.rows)
    figures = {}
    for shown in compared.shown:
        figures[f"profiles_{shown.name}"] = plot_closure_profiles(shown)
        figures[f"sections_{shown.name}"] = plot_closure_sections(shown)
    if setup.config.n_timings:
        shown = chosen.n_cells, chosen.time_step
        figures["cost"] = plot_cost([row for row in compared.rows if (row.n_cells, row.time_step) == shown])
    drawn = save_figures({file_name(name): figure for name, figure in figures.items()}, folder)
    parts = summaries(compared.rows, n_cells=chosen.n_cells, time_step=chosen.time_step)
    for part in parts:
        _print(part)
    links = {in_words(name): f"{file_name(name)}.png" for name in figures}
    write_markdown(text, f"Comparison {setup.path.stem}", parts, links, session.command_line())
    return [table, *drawn, text]


def _print(part: Summary) -> None:
    # As text: square brackets are units here, not markup.
    title, caption = Text(part.title), Text(part.explanation)
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    for number, name in enumerate(part.header):
        table.add_column(Text(name), justify="right" if number else "left", no_wrap=number == 0, min_width=6)
    for row in part.rows:
        table.add_row(*map(Text, row))
    console.print(table)
