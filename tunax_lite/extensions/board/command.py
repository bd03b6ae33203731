"""What `tunax-lite board` does: find the simulations, run closures, read results, judge, write the page."""

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import equinox as eqx

from ...calibration.comparison import PERSISTENCE, Candidate, ComparisonRow, Reference
from ...calibration.validation import AbstractCheck
from ...cli import session
from ...cli.application import Answer
from ...cli.check import Page
from ...cli.evaluate import computed, names_in, print_summary
from ...cli.options import Engine
from ...cli.progress import fraction_of
from ...cli.terminal import echo
from ...config import ComparisonSetup, ConfigError, build_checks
from ...config.load import Loaded, validated
from ...config.section import Section, closest, key
from ...io.checksums import sha256_of
from ...io.errors import FileFormatError
from ...io.writing import check_outputs, file_name
from ...io.yaml_file import Document
from .page import FILES, Board, as_json, tables, write
from .scores import Row, ordered
from .sections import BoardConfig, RowSection, load_board
from .submissions import Submission, read_submission

About = dict[str, str]
"""SHA-256 of the file of a simulation, and its start."""


class _Entered(Section):
    """Closures of the command line."""

    rows: list[RowSection] = key("closures")


def board(
    config: Path,
    output: Path | None,
    rows: str,
    enter: Sequence[str],
    cases: str,
    settings: Sequence[str],
    engine: Engine,
    *,
    overwrite: bool,
) -> Answer:
    """See `commands.board`."""
    loaded = load_board(config, settings)
    folder = output or Path("results") / loaded.name
    with session.precision(loaded):
        references, abouts, missing = present(loaded, names_in(cases))
        session.say_notes(f"{name} is left out: {why}" for name, why in missing.items())
        sections, submissions, entered = _rows(loaded, references, enter, names_in(rows))
        inputs = session.inputs_of(loaded)
        check_outputs([folder / name for name in FILES], overwrite=overwrite, inputs=inputs)
        setup = ComparisonSetup(loaded.config.comparison(sections), loaded.path)
        candidates, given = setup.candidates(), list(references.values())
        stored = [result for one in submissions for result in one.results]
        compared = computed(setup, candidates, given, stored, engine)
        checks, notes = build_checks(loaded.config.checks, loaded.place)
        session.say_notes(notes)
        checked = _checked(checks, candidates)
        words = [str(config), *(word for one in settings for word in ("--set", one))]
        words += ["--cases", cases] if cases else []
        found = _made(loaded.config, sections, submissions, compared.rows, words, entered)
        made = Board(
            config=loaded.config,
            simulations=abouts,
            missing=missing | {f"check {number}": note for number, note in enumerate(notes, 1)},
            rows=ordered([dataclasses.replace(row, checks=checked.get(row.label, {})) for row in found]),
            origin=_origin(loaded, candidates, abouts, submissions),
        )
        written = write(made, folder)
    print_summary(tables(made)[0])
    session.report_written(written)
    return as_json(made) | {"written": [str(path) for path in written]}


def _check_chosen(option: str, chosen: Sequence[str], known: list[str]) -> None:
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"{option} {name}: expected a name of the board, got another; {closest(name, known)}."
            )


def present(
    loaded: Loaded[BoardConfig], chosen: Sequence[str] = ()
) -> tuple[dict[str, Reference], dict[str, About], dict[str, str]]:
    """The simulations whose files are here, all or those chosen, what is known of them, and what is missing.

    Raises:
        ConfigError: an unknown name, or no simulation that is here.
        FileFormatError: a file with another SHA-256, or that cannot be read.
    """
    config = loaded.config
    _check_chosen("--cases", chosen, [one.name for one in config.simulations])
    setup = ComparisonSetup(config.comparison(config.rows), loaded.path)
    references, abouts, missing = dict[str, Reference](), dict[str, About](), dict[str, str]()
    for index, one in enumerate(config.simulations):
        if chosen and one.name not in chosen:
            continue
        digest, path = "", getattr(one.case, "path", None)
        try:
            if path is not None:
                file = loaded.place.file(path, "simulations", str(index), "case", "path")
                digest = checked_digest(file, one.sha256)
            reference = setup.reference(index)
        except FileNotFoundError as error:
            missing[one.name] = str(error)
            continue
        abouts[one.name] = {"sha256": digest, "start": reference.case.start_time or ""}
        case = dataclasses.replace(reference.case, name=one.name)
        references[one.name] = dataclasses.replace(reference, case=case)
    if not references:
        why = next(iter(missing.values()))
        raise ConfigError(f"{loaded.path}: expected at least one simulation of the board, got none: {why}")
    return references, abouts, missing


def checked_digest(path: Path, expected: str | None) -> str:
    """SHA-256 of a file; raises `FileFormatError` if it is not that on the board."""
    found = sha256_of(path)
    if found != (expected or found):
        advice = "copy the file again, or set `sha256: null` for one of your own making"
        raise FileFormatError(path, "SHA-256", f"{expected} as on the board", found, advice)
    return found


def _rows(
    loaded: Loaded[BoardConfig],
    references: Mapping[str, Reference],
    enter: Sequence[str],
    chosen: Sequence[str],
) -> tuple[list[RowSection], list[Submission], dict[str, str]]:
    """Closures and results, all or those chosen, always the references, and what `--enter` gave by label."""
    board, folders = loaded.config, [what for what in enter if Path(what).is_dir()]
    given = [{"name": what, "constants_from": "defaults"} for what in enter if what not in folders]
    more = validated(Document({"rows": given}, {}, "--enter"), _Entered).rows
    paths = [loaded.path.parent / name for name in board.submissions] + [Path(name) for name in folders]
    submissions = [read_submission(path, references, board) for path in paths]
    sections = [*board.rows, *more]
    labels = [one.title for one in sections] + [one.config.label for one in submissions]
    for label in labels:
        if labels.count(label) > 1 or label == PERSISTENCE:
            raise ConfigError(f"board: expected rows of different labels, got '{label}' again; rename one.")
    _check_chosen("--rows", chosen, labels)
    always = board.protocol.reference, board.protocol.cost_reference
    wanted = {*chosen, *always} if chosen else set(labels)
    entered = {one.title: one.name for one in more}
    entered |= {one.config.label: str(one.folder) for one in submissions if str(one.folder) in folders}
    return (
        [one for one in sections if one.title in wanted],
        [one for one in submissions if one.config.label in wanted],
        entered,
    )


def _made(
    board: BoardConfig,
    sections: Sequence[RowSection],
    submissions: Sequence[Submission],
    compared: Sequence[ComparisonRow],
    words: Sequence[str],
    entered: Mapping[str, str],
) -> list[Row]:
    """All rows, without errors on checks."""

    def row(label: str, kind: str, constants_from: str, saw: Sequence[str] | None, **others) -> Row:
        own = tuple(each for each in compared if each.closure == label)
        again = ["tunax-lite", "board", *words, "--rows", label]
        again += ["--enter", entered[label]] if label in entered else []
        command = shlex.join([*again, "--output", f"results/{file_name(label)}"])
        seen = board.seen(saw or ())
        unseen = frozenset(each.case for each in own if saw is not None and each.case not in seen)
        known = None if saw is None else tuple(saw)
        return Row(label, kind, constants_from, known, others.pop("command", command), own, unseen, **others)

    rows = [row(one.title, "closure", one.constants_from, one.saw) for one in sections]
    for one in submissions:
        own, how = one.config, f"{one.config.model}: {one.config.command}"
        rows.append(row(own.label, "results", own.constants_from, own.saw, made_by=how, notes=one.notes))
    return [*rows, row(PERSISTENCE, PERSISTENCE, "the initial profile kept", (), command="")]


def _checked(checks: Sequence[AbstractCheck], candidates: Sequence[Candidate]) -> dict[str, dict[str, float]]:
    """Errors of closures on laws and moorings, by label and name."""
    found: dict[str, dict[str, float]] = {}
    with fraction_of("laws and moorings") as show:
        for number, candidate in enumerate(candidates, 1):
            own = found.setdefault(candidate.label, {})
            for check in checks:
                own |= _errors(check, candidate)
            show(number / len(candidates), candidate.label)
    return found


def _errors(check: AbstractCheck, candidate: Candidate) -> dict[str, float]:
    model = eqx.tree_at(lambda model: model.closure, check.model, candidate.model.closure)
    try:
        errors = check.errors(model)
    # Whatever a closure raises, continue with the others.
    except Exception as error:
        echo(f"{candidate.label} on {check.name}: {' '.join(str(error).split())[:200]}", err=True)
        return {}
    return {f"{check.name}: {name.replace('_', ' ')} [{unit}]": error for name, unit, error in errors}


def _origin(
    loaded: Loaded[BoardConfig],
    candidates: Sequence[Candidate],
    abouts: Mapping[str, About],
    submissions: Sequence[Submission],
) -> dict[str, str]:
    """Attributes as those of a file, with the SHA-256 of all that was read."""
    data = {name: about["sha256"] for name, about in abouts.items() if about["sha256"]}
    data |= {path: digest for one in submissions for path, digest in one.digests.items()}
    closure = candidates[0].model.closure
    about = session.provenance(loaded, loaded.config.protocol.version, closure)
    known = dataclasses.asdict(about) | {"data": json.dumps(data), "parameters": "", "closure": ""}
    return {f"tunax_lite_{name}": value for name, value in known.items() if value}


def check(loaded: Loaded[BoardConfig], parameters: Mapping[str, float] | None, page: Page) -> Answer:
    """Print which simulations of a board are here, and the number of its rows."""
    references, _, missing = present(loaded)
    config = loaded.config
    echo(f"board: {len(references)} of {len(config.simulations)} simulations, {len(config.rows)} closures")
    session.say_notes(f"{name} is left out: {why}" for name, why in missing.items())
    return {"kind": "board", "simulations": list(references), "missing": missing}
