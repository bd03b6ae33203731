"""A board as JSON and Markdown."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import __version__
from ...calibration.comparison import Summary, number, write_markdown
from ...cli.application import of_json
from ...io.writing import write_text
from .scores import LEVEL, Row, Score
from .sections import BoardConfig, SimulationSection

FILES = "board.json", "board.md"


@dataclasses.dataclass(frozen=True)
class Board:
    """Ranked closures, and the simulations that they were judged on.

    Args:
        config: configuration of the board.
        simulations: SHA-256 of the file of each judged simulation, by name; empty without a file.
        missing: why simulations are missing, by name.
        rows: rows from best to worst.
        origin: attributes of result files: version, date, command line and others.
    """

    config: BoardConfig
    simulations: Mapping[str, str]
    missing: Mapping[str, str]
    rows: Sequence[Row]
    origin: Mapping[str, str]

    @property
    def reference(self) -> Row:
        """The row that errors are divided by."""
        return next(row for row in self.rows if row.label == self.config.protocol.reference)

    def unseen(self, row: Row) -> Score | None:
        """Score on the simulations that the constants did not see; `None` without any, or if unknown."""
        return None if row.saw is None else row.score(self.reference, row.unseen)


def write(board: Board, folder: Path) -> list[Path]:
    """Write the files of a board, each atomically."""
    paths = [folder / name for name in FILES]
    write_text(paths[0], json.dumps(as_json(board), indent=1, allow_nan=False))
    title = f"Board {board.config.protocol.version}"
    write_markdown(paths[1], title, tables(board), {}, board.origin["tunax_lite_command"])
    return paths


def as_json(board: Board) -> dict[str, Any]:
    """Return the data of `board.json`; numbers that are not finite are null."""
    rows = []
    for row in board.rows:
        scores = {"temperature": row.score(board.reference), "unseen": board.unseen(row)}
        entry = dataclasses.asdict(row) | {"unseen_simulations": sorted(row.unseen)}
        rows.append(entry | {name: score and dataclasses.asdict(score) for name, score in scores.items()})
    entries = {
        "version": __version__,
        "origin": board.origin,
        "protocol": board.config.protocol.model_dump(),
        "sources": {name: source.model_dump() for name, source in board.config.sources.items()},
        "simulations": board.simulations,
        "missing": board.missing,
        "rows": rows,
    }
    return of_json(entries)


def tables(board: Board) -> list[Summary]:
    """Tables of scores, errors, constants, simulations, missing simulations and failures, unless empty."""
    names, config, p = list(board.simulations), board.config, board.config.protocol
    ranked = Summary(
        "Rows",
        f"Protocol {p.version}: {len(names)} of {len(config.simulations)} simulations, cells of "
        f"{p.cell_thickness:g} m, steps of {p.dt:g} s, errors from {p.start:g} s on. Computed with "
        f"tunax_lite {__version__} on {board.origin['tunax_lite_date']}. Root mean square errors of "
        f"temperature: mean over the simulations with its {100.0 * LEVEL:g} % interval, largest error, and "
        f"ratio of the mean to that of {p.reference}. The unseen columns repeat mean and ratio for the "
        "simulations that the constants did not see (? if unknown). Last: mean errors of velocity and of "
        "the mixed layer depth.",
        ("row", "mean [mK]", "worst", "ratio", "unseen [mK]", "number", "ratio")
        + ("velocity [mm/s]", "mixed layer [m]"),
        tuple(_ranked(board, row) for row in board.rows),
    )
    errors = Summary(
        "Errors by simulation",
        "Root mean square errors of temperature [mK]; in brackets if the constants saw the simulation.",
        ("row", *(name.replace("_", " ") for name in names)),
        tuple((row.label, *(_error(row, name) for name in names)) for row in board.rows),
    )
    origins = Summary(
        "Constants",
        "Origin of the constants, and data that they saw. The option `--rows ROW` computes one row again.",
        ("row", "constants", "saw"),
        tuple((row.label, row.constants_from, _saw(row)) for row in board.rows),
    )
    simulations = Summary(
        "Simulations",
        "Sources of the files.",
        ("simulation", "source", "from", "licence", "SHA-256"),
        tuple((one.name, *_source(board, one)) for one in config.simulations if one.name in names),
    )
    failed = dict.fromkeys(
        (row.label, error.case, error.note) for row in board.rows for error in row.results if error.note
    )
    lacking = (
        Summary("Missing", "Left out of all scores.", ("simulation", "why"), tuple(board.missing.items())),
        Summary("Failures and unlikely water", "By run.", ("row", "simulation", "why"), tuple(failed)),
    )
    parts = ranked, errors, origins, simulations, *lacking
    return [part for part in parts if part.rows]


def _ranked(board: Board, row: Row) -> tuple[str, ...]:
    score, unseen = row.score(board.reference), board.unseen(row)
    assert score is not None
    on_unseen = ("?",) * 3 if row.saw is None else ("–", "0", "–")
    if unseen is not None:
        on_unseen = _interval(unseen), str(unseen.n), number(unseen.ratio, 2)
    return (
        row.label,
        _interval(score),
        number(1e3 * score.worst, 1),
        f"{score.ratio:.2f} ({score.ratio_lower:.2f} to {score.ratio_upper:.2f})"
        if math.isfinite(score.ratio_lower)
        else number(score.ratio, 2),
        *on_unseen,
        number(1e3 * row.mean("u", "v"), 1),
        number(row.mean(board.config.protocol.mixed_layer_depth), 1),
    )


def _error(row: Row, name: str) -> str:
    errors = row.errors("temperature")
    text = number(1e3 * errors[name], 1) if name in errors else ""
    return text if row.saw is None or name in row.unseen or not text else f"({text})"


def _saw(row: Row) -> str:
    return "unknown" if row.saw is None else ", ".join(row.saw) or "none"


def _source(board: Board, simulation: SimulationSection) -> tuple[str, str, str, str]:
    source, digest = board.config.sources[simulation.source], board.simulations[simulation.name]
    return simulation.source, source.url or source.title, source.licence, digest and f"`{digest}`"


def _interval(score: Score) -> str:
    """Mean with its interval [mK]."""
    text, ends = number(1e3 * score.mean, 1), f" ({1e3 * score.lower:.1f} to {1e3 * score.upper:.1f})"
    return text + ends if math.isfinite(score.lower) else text
