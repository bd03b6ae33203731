"""What the commands do with an assimilation: run it, and say what they would do."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...cli import session
from ...cli.application import Answer
from ...cli.check import Page, describe_model, describe_times
from ...cli.progress import fraction_of
from ...cli.terminal import echo
from ...config import ConfigError, Loaded
from ...config.case import Run
from ...io.provenance import Provenance
from ...io.writing import check_outputs
from .cycles import Assimilation, Records
from .results import write_records
from .sections import AssimilationConfig, assimilation_of, build_run_of, load_assimilation, text_of

FIGURES = "innovations", "increments", "corrections"


def assimilate(
    config: Path,
    settings: Sequence[str],
    output: Path,
    parameters: Path | None,
    figures: Path | None,
    *,
    overwrite: bool,
) -> None:
    """See `commands.assimilate`."""
    if output.suffix != ".nc":
        raise ConfigError(f"--output {output}: expected a file name that ends in .nc, for example OUT.nc.")
    loaded = load_assimilation(config, settings)
    with session.precision(loaded):
        values = session.parameters_for(parameters, loaded.closure_class.__name__)
        run = build_run_of(loaded, values)
        made = assimilation_of(loaded, run)
        session.say_notes(made.notes())
        about = _provenance(loaded, run)
        drawn = [] if figures is None else [figures / f"{name}.png" for name in FIGURES]
        check_outputs([output, *drawn], overwrite=overwrite, inputs=session.inputs_of(loaded, parameters))
        records = _run(made)
        write_records(output, made, records, about)
        _say(made, records)
        if figures is not None:
            from .figures import draw  # slow import

            drawn = draw(output, figures)
        session.report_written([output, *drawn])


def _provenance(loaded: Loaded[AssimilationConfig], run: Run) -> Provenance:
    about = session.provenance(loaded, run.case.name, run.model.closure)
    return dataclasses.replace(about, config=text_of(loaded))


def _run(made: Assimilation) -> Records:
    n_cycles, clock = made.cycles.n_cycles, time.perf_counter()
    number = f"{made.method.n_members} member{'s' * (made.method.n_members > 1)}"
    length = made.cycles.whole_length / 86400.0
    echo(f"{n_cycles} cycles of {length:g} days, {number}, {type(made.method).__name__}")
    with fraction_of("assimilation") as show:
        records = made.run(lambda cycle: show(cycle / n_cycles, f"cycle {cycle} of {n_cycles}"))
    _check_finite(made, records)
    echo(f"computed in {time.perf_counter() - clock:.1f} s, compilation included")
    return records


def _check_finite(made: Assimilation, records: Records) -> None:
    wrong = np.flatnonzero(~np.isfinite(records.every.analysis).all(axis=1))
    if wrong.size:
        raise FloatingPointError(
            f"expected finite water, got other values at {made.cycles.analysis_time[wrong[0]]:g} s (cycle "
            f"{wrong[0] + 1}); try a shorter time step, or smaller standard deviations in uncertainty."
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
    for (variable, withheld), columns in groups.items():
        if len(columns) > 1:
            kind = "withheld" if withheld else "assimilated"
            _say_skill(records, f"{variable}, all that is {kind}", columns)


def _say_skill(records: Records, name: str, columns: Sequence[int]) -> None:
    """Print what forecasts of some streams together are worth, by lead."""
    for place, lead in enumerate(records.cycles.leads):
        if (found := records.skill(place, columns)) is not None:
            known = np.isfinite(found.lower)
            interval = f" ({found.lower:.3f} to {found.upper:.3f})" if known else ""
            days = f"{lead / 86400.0:g} day{'' if lead == 86400.0 else 's'}"
            echo(
                f"  {name}, {days} ahead: rms {found.rms:.3f}{interval}, mean {found.mean:+.3f} of "
                f"{found.number} differences from observations"
            )


def check(loaded: Loaded[AssimilationConfig], parameters: Mapping[str, float] | None, page: Page) -> Answer:
    """Print what `tunax-lite assimilate` would do."""
    run = build_run_of(loaded, parameters)
    made = assimilation_of(loaded, run)
    model, n_values = describe_model(made.system.model), sum(each.time.size for each in made.streams)
    answer = page.of(run.case, run.observations)
    times = describe_times(made.cycles.end, run.dt, made.cycles.interval)
    echo(
        f"assimilation: {n_values} observations in {len(made.streams)} streams, {made.cycles.n_cycles} "
        f"cycles, {made.method.n_members} members, {type(made.method).__name__}"
    )
    notes = made.notes()
    session.say_notes(notes)
    found = {"kind": "assimilation", "model": model, "time": times, "notes": notes}
    return found | {"cycles": made.cycles.n_cycles, "observations": n_values} | answer
