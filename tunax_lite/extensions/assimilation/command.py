"""What the commands do with an assimilation: run it, and say what they would do."""

import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...cli import session
from ...cli.application import Answer
from ...cli.check import Page, describe_model, describe_times
from ...cli.options import HERE, Engine
from ...cli.outputs import seen_from
from ...cli.progress import fraction_of
from ...cli.terminal import echo
from ...config import ConfigError, Loaded
from ...config.build import data_files
from ...config.case import Run
from ...io.protection import (
    Provenance,
    check_outputs,
    check_removable,
    make_folder,
    product_of_run,
    remove,
    remove_file,
)
from ...io.writing import claimed
from ...runtime.engine import open_engine
from ...runtime.interrupts import advise, ordered_end
from .columns import ColumnsAssimilation, Found, columns_assimilation, write_columns
from .cycles import Assimilation, Record, Records
from .results import fingerprint, kept_path, monthly_means, restore, store, write_records
from .sections import AssimilationConfig, assimilation_of, build_run_of, load_assimilation, text_of

_BETWEEN = 10.0
"""Seconds after which complete cycles are stored."""


def assimilate(
    config: Path,
    settings: Sequence[str],
    output: Path,
    parameters: Path | None,
    figures: Path | None,
    report: Path | None,
    engine: Engine,
    *,
    resume: bool,
    overwrite: bool,
) -> None:
    """See `commands.assimilate`."""
    if resume and overwrite:
        raise ConfigError("expected either --resume or --overwrite, got both; choose one.")
    if output.suffix != ".nc":
        raise ConfigError(f"--output {output}: expected a file name that ends in .nc, for example OUT.nc.")
    loaded = load_assimilation(config, settings)
    _check_options(loaded, engine, parameters, figures, report)
    if loaded.config.columns is not None:
        return _assimilate_columns(loaded, output, engine, resume, overwrite)
    with session.precision(loaded):
        values = session.parameters_for(parameters, loaded.closure_class.__name__)
        run = build_run_of(loaded, values)
        session.say_notes(run.notes)
        made = assimilation_of(loaded, run)
        session.say_notes(made.notes())
        about = _provenance(loaded, run)
        kept = kept_path(output)
        check_outputs([output], overwrite=overwrite, product=product_of_run(about))
        check_outputs([kept], overwrite=True)
        _check_drawings(output, figures, report, overwrite)
        mark = fingerprint(about.config, about.parameters, about.data, str(loaded.config.precision))
        with claimed(output):
            records = _run(made, kept, mark, resume=resume)
            write_records(output, made, records, about)
            remove_file(kept)
        _say(made, records)
        drawn = []
        if figures is not None or report is not None:
            from .figures import draw, write_page  # slow import

            drawn = [] if figures is None else draw(output, figures)
            drawn += [] if report is None else [write_page(output, report)]
        session.report_written([output, *drawn])


def _check_options(loaded: Loaded[AssimilationConfig], engine: Engine, *of_one_column: Path | None) -> None:
    names = "--parameters", "--figures", "--report"
    if loaded.config.columns is None and engine != HERE:
        raise ConfigError(
            f"{loaded.path}: expected `columns` of a map for workers, got one column, whose members run in "
            "one program; leave --workers and --scheduler out."
        )
    for name, given in zip(names, of_one_column, strict=True):
        if loaded.config.columns is not None and given is not None:
            raise ConfigError(f"{name}: expected one column, got the columns of a map; leave it out.")


def _assimilate_columns(
    loaded: Loaded[AssimilationConfig], output: Path, engine: Engine, resume: bool, overwrite: bool
) -> None:
    folder = output.with_name(f"{output.name}.columns")
    with session.precision(loaded):
        made = columns_assimilation(loaded, folder)
        session.say_notes(made.columns.notes)
        about = session.provenance(loaded, loaded.path.stem, made.model.closure)
        about = dataclasses.replace(about, config=text_of(loaded))
        check_outputs([output], overwrite=overwrite, product=product_of_run(about))
        check_removable(folder)
        with claimed(output):
            if not (resume and folder.is_dir()):
                make_folder(folder)
            found = _computed(made, engine)
            write_columns(output, made, found, about)
            remove(folder)
    _say_columns(made, found)
    session.report_written([output])


def _computed(made: ColumnsAssimilation, engine: Engine) -> list[Found]:
    """What all columns gave; those that are complete are read."""
    clock = time.perf_counter()
    kept = [made.kept(number) for number in range(made.n_columns)]
    missing = [number for number, each in enumerate(kept) if each is None]
    method = type(made.method).__name__
    echo(
        f"{made.n_columns} columns, {made.cycles.n_cycles} cycles, {made.method.n_members} members, {method}"
    )
    if len(missing) < made.n_columns:
        echo(f"{made.folder}: {made.n_columns - len(missing)} of {made.n_columns} columns are complete")
    advise("Columns that are complete are kept: continue with --resume.")
    done = made.n_columns - len(missing)
    with open_engine(*engine) as opened, fraction_of("assimilation") as show:

        def note(number: int, found: Found) -> None:
            nonlocal done
            done += 1
            show(done / made.n_columns, f"column {done} of {made.n_columns}")

        for number, found in zip(missing, opened.map(made, missing, note), strict=True):
            kept[number] = found
    echo(f"computed in {time.perf_counter() - clock:.1f} s, compilation included")
    return [each for each in kept if each is not None]


def _say_columns(made: ColumnsAssimilation, found: list[Found]) -> None:
    """Print what the forecasts of all columns together are worth, by lead."""
    judged = made.times >= made.cycles.judged_from
    values = np.stack([each.innovation[judged] for each in found])
    for place, lead in enumerate(made.cycles.leads):
        own = values[..., place][np.isfinite(values[..., place])]
        if own.size:
            rms, mean = np.sqrt(np.mean(own**2)), np.mean(own)
            echo(
                f"  sea_surface_temperature, {lead / 86400.0:g} days ahead: rms {rms:.3f}, mean "
                f"{mean:+.3f} of {own.size} differences from observations"
            )
    lost = [number for number, each in enumerate(found) if not np.isfinite(each.analysis).all()]
    if lost:
        echo(f"{len(lost)} of {made.n_columns} columns have no observations, or water that is not finite")


def _check_drawings(output: Path, figures: Path | None, report: Path | None, overwrite: bool) -> None:
    """Refuse files of others before anything is computed."""
    if figures is not None:
        from .figures import CAPTIONS  # slow import

        for path in (figures / f"{name}.png" for name in CAPTIONS):
            check_outputs([path], overwrite=overwrite, product=f"figures of {seen_from(path, output)}")
    if report is not None:
        check_outputs([report], overwrite=overwrite, product=f"report of {seen_from(report, output)}")


def _provenance(loaded: Loaded[AssimilationConfig], run: Run) -> Provenance:
    about = session.provenance(loaded, run.case.name, run.model.closure)
    data = json.dumps(data_files(loaded))
    return dataclasses.replace(about, config=text_of(loaded), data=data)


def _run(made: Assimilation, kept: Path, mark: str, *, resume: bool) -> Records:
    n_cycles, clock = made.cycles.n_cycles, time.perf_counter()
    number = f"{made.method.n_members} member{'s' * (made.method.n_members > 1)}"
    length = made.cycles.whole_length / 86400.0
    echo(f"{n_cycles} cycles of {length:g} days, {number}, {type(made.method).__name__}")
    begin, done = made.begin(), list[Record]()
    if resume and kept.exists():
        begin, done = restore(kept, mark, begin)
        echo(f"{kept}: {len(done)} of {n_cycles} cycles are complete")
    with fraction_of("assimilation") as show, ordered_end("the cycle that is computed now") as safe_point:
        stored = time.perf_counter()
        for progress, record in made.steps_of(begin):
            done.append(record)
            show(len(done) / n_cycles, f"cycle {len(done)} of {n_cycles}")
            if time.perf_counter() - stored > _BETWEEN:
                store(kept, mark, progress, done)
                advise(f"{len(done)} cycles are complete: continue with --resume.")
                stored = time.perf_counter()
            safe_point()
    _check_finite(made, done)
    echo(f"computed in {time.perf_counter() - clock:.1f} s, compilation included")
    return Records.of(made, done)


def _check_finite(made: Assimilation, done: Sequence[Record]) -> None:
    for cycle, record in enumerate(done):
        if not np.isfinite(record.analysis).all():
            when = made.cycles.start + made.cycles.whole_length + cycle * made.cycles.interval
            raise FloatingPointError(
                f"expected finite water, got other values at {when:g} s (cycle {cycle + 1}); try a shorter "
                "time step, or smaller standard deviations in uncertainty."
            )


def _say(made: Assimilation, records: Records) -> None:
    """Print what the forecasts are worth, by lead, and what of the observations was used."""
    used, known = records.observed("used"), np.isfinite(records.observed("values"))
    withheld = int(known[:, [each.withheld for each in made.streams]].sum())
    judging = f"; {withheld} are withheld and only judge forecasts" if withheld else ""
    echo(f"{int(used.sum())} of {int(known.sum())} observations were used{judging}")
    groups = {(one.operator.variable, one.withheld): list[int]() for one in made.streams}
    for column, stream in enumerate(made.streams):
        groups[stream.operator.variable, stream.withheld].append(column)
        _say_skill(records, stream.operator.label, [column])
        if (fit := records.consistency(column)) is not None:
            echo(
                f"  {stream.operator.label}, consistency: innovation {fit.innovation:.3f}, expected "
                f"{fit.expected:.3f}; error of observations {fit.observation_error:.3f}, given "
                f"{fit.given_error:.3f}; of the background {fit.background_error:.3f}, spread "
                f"{fit.spread:.3f}"
            )
    for (variable, withheld), columns in groups.items():
        if len(columns) > 1:
            kind = "withheld" if withheld else "assimilated"
            _say_skill(records, f"{variable}, all that is {kind}", columns)
    if made.system.case.start_time is not None:
        _say_corrections(made, records, made.system.case.start_time)


def _say_skill(records: Records, name: str, columns: Sequence[int]) -> None:
    """Print what forecasts of some streams together are worth, by lead."""
    for place, lead in enumerate(records.cycles.leads):
        if (found := records.skill(place, columns)) is not None:
            known = np.isfinite(found.lower)
            interval = f" ({found.lower:.3f} to {found.upper:.3f})" if known else ""
            days = f"{lead / 86400.0:g} day{'' if lead == 86400.0 else 's'}"
            echo(
                f"  {name}, {days} ahead: rms {found.rms:.3f}{interval}, mean {found.mean:+.3f}, crps "
                f"{found.crps:.3f} of {found.number} differences from observations"
            )


def _say_corrections(made: Assimilation, records: Records, start: str) -> None:
    """Print the mean of each process by month, over what is judged."""
    time, values = records.analysis_time, records.every.processes
    judged = time >= made.cycles.judged_from
    months, means = monthly_means(start, time[judged], values[judged])
    for process, column in zip(made.system.processes, means.T, strict=True):
        listed = ", ".join(f"{mean:.3g}" for mean in column)
        unit = made.system.unit_of(process)
        echo(f"  {process.label} [{unit}], means by month, {months[0]} to {months[-1]}: {listed}")


def check(loaded: Loaded[AssimilationConfig], parameters: Mapping[str, float] | None, page: Page) -> Answer:
    """Print what `tunax-lite assimilate` would do."""
    if loaded.config.columns is not None:
        return _check_columns(loaded)
    run = build_run_of(loaded, parameters)
    made = assimilation_of(loaded, run)
    model, n_values = describe_model(made.system.model), sum(each.time.size for each in made.streams)
    answer = page.of(run.case, run.observations)
    times = describe_times(made.cycles.end, run.dt, made.cycles.interval)
    echo(
        f"assimilation: {n_values} observations in {len(made.streams)} streams, {made.cycles.n_cycles} "
        f"cycles, {made.method.n_members} members, {type(made.method).__name__}"
    )
    notes = [*run.notes, *made.notes()]
    session.say_notes(notes)
    found = {"kind": "assimilation", "model": model, "time": times, "notes": notes}
    return found | {"cycles": made.cycles.n_cycles, "observations": n_values} | answer


def _check_columns(loaded: Loaded[AssimilationConfig]) -> Answer:
    made = columns_assimilation(loaded, Path())
    session.say_notes(made.columns.notes)
    method = type(made.method).__name__
    echo(
        f"assimilation: {made.n_columns} columns, {made.cycles.n_cycles} cycles, "
        f"{made.method.n_members} members, {method}"
    )
    return {"kind": "assimilation", "columns": made.n_columns, "cycles": made.cycles.n_cycles}
