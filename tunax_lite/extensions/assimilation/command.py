"""Commands for an assimilation: run it, or check it."""

import dataclasses
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...cli import session
from ...cli.application import Answer
from ...cli.check import InputFigures, describe_model, describe_times
from ...cli.progress import fraction_of
from ...cli.terminal import echo
from ...config import ConfigError, Loaded
from ...io.dataset import write_dataset
from ...io.writing import check_outputs
from .cycles import Assimilation, Records
from .results import to_dataset
from .sections import AssimilationConfig, build_assimilation, load_assimilation, run_of, text_of

FIGURES = "innovations", "increments"


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
        assimilation = _built(loaded, parameters)
        system = assimilation.system
        about = session.provenance(loaded, system.case.name, system.model.closure)
        about = dataclasses.replace(about, config=text_of(loaded))
        figure_files = [] if figures is None else [figures / f"{name}.png" for name in FIGURES]
        check_outputs(
            [output, *figure_files], overwrite=overwrite, inputs=session.inputs_of(loaded, parameters)
        )
        records = _run(assimilation)
        write_dataset(to_dataset(assimilation, records, about), output)
        _print_summary(assimilation, records)
        if figures is not None:
            from ...plotting.style import save_figures  # slow imports
            from .figures import assimilation_figures

            save_figures(assimilation_figures(output), figures)
        session.report_written([output, *figure_files])


def _built(loaded: Loaded[AssimilationConfig], parameters: Path | None) -> Assimilation:
    """Build an assimilation with the values of a parameter file, for the closure of its run."""
    run = session.build_with_parameters(run_of(loaded), parameters)
    return build_assimilation(loaded, run)


def _run(assimilation: Assimilation) -> Records:
    n_cycles, clock = assimilation.cycles.n_cycles, time.perf_counter()
    number = f"{assimilation.method.n_members} member{'s' * (assimilation.method.n_members > 1)}"
    length = assimilation.cycles.window_length / 86400.0
    echo(f"{n_cycles} cycles of {length:g} days, {number}, {type(assimilation.method).__name__}")
    with fraction_of("assimilation") as show:
        records = assimilation.run(lambda cycle: show(cycle / n_cycles, f"cycle {cycle} of {n_cycles}"))
    _check_finite(assimilation, records)
    echo(f"computed in {time.perf_counter() - clock:.1f} s, compilation included")
    return records


def _check_finite(assimilation: Assimilation, records: Records) -> None:
    broken = np.flatnonzero(~np.isfinite(records.by_cycle.analysis).all(axis=1))
    if broken.size:
        raise FloatingPointError(
            "temperature: expected finite values, got others at "
            f"{assimilation.cycles.analysis_time[broken[0]]:g} s (cycle {broken[0] + 1}); "
            "try a shorter time step, or smaller standard deviations in uncertainty."
        )


def _print_summary(assimilation: Assimilation, records: Records) -> None:
    """Print the skill of the forecasts by lead, and how many observations were used."""
    used, known = records.observed("used"), np.isfinite(records.observed("values"))
    withheld = int(known[:, [each.withheld for each in assimilation.streams]].sum())
    judging = f"; {withheld} are withheld and only judge forecasts" if withheld else ""
    echo(f"{int(used.sum())} of {int(known.sum())} observations were used{judging}")
    leads = list(enumerate(records.cycles.leads))
    for (column, stream), (index, lead) in itertools.product(enumerate(assimilation.streams), leads):
        if (skill := records.skill(index, column)) is not None:
            has_interval = np.isfinite(skill.lower)
            interval = f" ({skill.lower:.3f} to {skill.upper:.3f})" if has_interval else ""
            days = f"{lead / 86400.0:g} day{'' if lead == 86400.0 else 's'}"
            echo(
                f"  {stream.operator.label}, {days} ahead: rms {skill.rms:.3f}{interval}, mean of "
                f"observation minus forecast {skill.mean:+.3f} ({skill.number} observations)"
            )


def check(loaded: Loaded[AssimilationConfig], parameters: Path | None, figures: InputFigures) -> Answer:
    """Print the model, the times, and the numbers of observations, cycles and members."""
    assimilation = _built(loaded, parameters)
    system, cycles, method = assimilation.system, assimilation.cycles, assimilation.method
    model, n_values = describe_model(system.model), sum(each.time.size for each in assimilation.streams)
    figures.draw(system.case)
    times = describe_times(cycles.end, system.dt, cycles.interval)
    echo(
        f"assimilation: {n_values} observations in {len(assimilation.streams)} streams, "
        f"{cycles.n_cycles} cycles, {method.n_members} members, {type(method).__name__}"
    )
    report = {"kind": "assimilation", "model": model, "time": times}
    return report | {"cycles": cycles.n_cycles, "observations": n_values}
