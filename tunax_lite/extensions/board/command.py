"""`tunax-lite board`: find the simulations, run and rank closures, write the page."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from ...calibration import Target
from ...calibration.comparison import PERSISTENCE
from ...calibration.validation import ErrorRow
from ...cli import session
from ...cli.application import Answer
from ...cli.check import InputFigures
from ...cli.evaluate import names_in, run_comparison
from ...cli.terminal import echo, print_table
from ...config import ConfigError
from ...config.build import candidates_of, case_on_grids, check_chosen
from ...config.load import Loaded, validated
from ...config.section import Section, key
from ...io.checksums import sha256_of
from ...io.errors import FileFormatError
from ...io.writing import check_outputs
from ...io.yaml_file import Document
from .page import FILES, Board, as_json, tables, write
from .scores import Row, ordered
from .sections import BoardConfig, RowSection, load_board


class _Entered(Section):
    """Rows of the option `--enter`."""

    rows: list[RowSection] = key("closures")


def board(
    config: Path,
    output: Path | None,
    rows: str,
    enter: Sequence[str],
    cases: str,
    settings: Sequence[str],
    *,
    overwrite: bool,
    workers: int | None,
    scheduler: str | None,
) -> Answer:
    """See `commands.board`."""
    loaded = load_board(config, settings)
    configured = loaded.config
    folder = output or Path("results") / loaded.name
    with session.precision(loaded):
        targets, digests, missing = available(loaded, names_in(cases))
        session.say_notes(f"{name} is left out: {why}" for name, why in missing.items())
        sections = _closures(configured, enter, names_in(rows))
        inputs = session.inputs_of(loaded)
        check_outputs([folder / name for name in FILES], overwrite=overwrite, inputs=inputs)
        setup = Loaded(configured.comparison(sections), loaded.place)
        candidates, protocol = candidates_of(setup), configured.protocol
        on_grid = {f"cells of {protocol.cell_thickness:g} m": list(targets.values())}
        compared = run_comparison(setup, candidates, on_grid, workers, scheduler).rows
        board_rows = [_row(configured, PERSISTENCE, "the initial profile kept", (), compared)]
        for each in sections:
            board_rows.append(_row(configured, each.title, each.constants_from, each.saw, compared))
        # Provenance describes one closure; a board has many, so that its entries are removed.
        closure = next(iter(candidates.values())).closure
        origin = session.provenance(loaded, protocol.version, closure)
        origin = dataclasses.replace(origin, data=json.dumps(digests), parameters="", closure="")
        judged = Board(
            config=configured,
            simulations=digests,
            missing=missing,
            rows=ordered(board_rows),
            origin={name: text for name, text in origin.attributes.items() if text},
        )
        written = write(judged, folder)
    table = tables(judged)[0]
    print_table(table.header, table.rows, table.title, table.explanation)
    session.report_written(written)
    return as_json(judged) | {"written": [str(path) for path in written]}


def available(
    loaded: Loaded[BoardConfig], chosen: Sequence[str] = ()
) -> tuple[dict[str, Target], dict[str, str], dict[str, str]]:
    """Available simulations, the SHA-256 of their files, and reasons for missing ones, by name.

    `chosen` selects some; the SHA-256 is empty without a file.

    Raises:
        ConfigError: an unknown name, or no available simulation.
        FileFormatError: a file with a wrong SHA-256, or that cannot be read.
    """
    config = loaded.config
    check_chosen("cases", chosen, [simulation.name for simulation in config.simulations])
    setup = Loaded(config.comparison(config.rows), loaded.place)
    targets, digests, missing = dict[str, Target](), dict[str, str](), dict[str, str]()
    for index, simulation in enumerate(config.simulations):
        name = simulation.name
        if chosen and name not in chosen:
            continue
        digest, path = "", getattr(simulation.case, "path", None)
        try:
            if path is not None:
                file = loaded.place.file(path, "simulations", str(index), "case", "path")
                digest = checked_digest(file, simulation.sha256)
            ((target,),) = case_on_grids(setup, index).values()
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        case = dataclasses.replace(target.case, name=name)
        targets[name], digests[name] = dataclasses.replace(target, case=case), digest
    if not targets:
        why = next(iter(missing.values()))
        raise ConfigError(f"{loaded.path}: expected at least one simulation of the board, got none: {why}")
    return targets, digests, missing


def checked_digest(path: Path, expected: str | None) -> str:
    """SHA-256 of a file; raises `FileFormatError` if it differs from the one on the board."""
    digest = sha256_of(path)
    if expected is not None and digest != expected:
        advice = "copy the file again, or set `sha256: null` for a file of your own"
        raise FileFormatError(path, "SHA-256", f"{expected} as on the board", digest, advice)
    return digest


def _closures(board: BoardConfig, enter: Sequence[str], chosen: Sequence[str]) -> list[RowSection]:
    """Rows of the board and of `--enter`: all or the chosen ones, and always the reference."""
    entered = [{"name": name, "constants_from": "defaults"} for name in enter]
    sections = [*board.rows, *validated(Document({"rows": entered}, {}, "--enter"), _Entered).rows]
    labels = [section.title for section in sections]
    for label in labels:
        if labels.count(label) > 1 or label == PERSISTENCE:
            raise ConfigError(f"board: expected rows of different labels, got '{label}' again; rename one.")
    check_chosen("rows", chosen, labels)
    wanted = {*(chosen or labels), board.protocol.reference}
    return [section for section in sections if section.title in wanted]


def _row(
    board: BoardConfig,
    label: str,
    constants_from: str,
    saw: Sequence[str] | None,
    compared: Sequence[ErrorRow],
) -> Row:
    """Build a row from the errors of its label; `saw` is `None` if unknown."""
    results = tuple(each for each in compared if each.closure == label)
    seen = board.seen(saw or ())
    unseen = frozenset(each.case for each in results if saw is not None and each.case not in seen)
    return Row(label, constants_from, None if saw is None else tuple(saw), results, unseen)


def check(loaded: Loaded[BoardConfig], parameters: Path | None, figures: InputFigures) -> Answer:
    """Print which simulations of a board are available, and the number of its rows."""
    targets, _, missing = available(loaded)
    config = loaded.config
    echo(f"board: {len(targets)} of {len(config.simulations)} simulations, {len(config.rows)} closures")
    session.say_notes(f"{name} is left out: {why}" for name, why in missing.items())
    return {"kind": "board", "simulations": list(targets), "missing": missing}
