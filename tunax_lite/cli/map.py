"""`tunax-lite map`: columns on a map, on one process or many."""

import dataclasses
import functools
import re
import time
from collections.abc import Sequence
from pathlib import Path

from typer import Exit, echo

from ..config import ConfigError, build_map, load_map
from ..engine import AbstractEngine, open_engine
from ..interrupts import advise
from ..io.writing import claimed
from ..maps import store as stores
from ..maps.plan import planned
from ..maps.run import Broken, MapReport, run_map
from ..maps.setup import MapRun
from ..maps.store import MapStore
from ..runtime.memory import check_disk
from . import session
from .options import Engine
from .progress import fraction_of

_NAMED = 10  # columns that broke down
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def map_columns(
    config: Path,
    settings: Sequence[str],
    output: Path,
    parameters: Path | None,
    memory: str,
    engine: Engine,
    *,
    resume: bool,
    overwrite: bool,
) -> None:
    """As `commands.map_columns` says."""
    if resume and overwrite:
        raise ConfigError("expected either --resume or --overwrite, got both; choose one.")
    loaded, budget = load_map(config, settings), bytes_of(memory)
    with session.precision(loaded), claimed(output):
        values = session.parameters_for(parameters, loaded.closure_class.__name__)
        run = build_map(loaded, values)
        session.say_notes(run.columns.notes)
        about = session.provenance(loaded, loaded.name, run.model.closure)
        run = dataclasses.replace(run, about=about)
        store = stores.prepare(output, run.fingerprint, resume=resume, overwrite=overwrite)
        if store is not None and store.is_complete:
            echo(f"{output}: complete; nothing to do")
            return
        with open_engine(*engine) as opened:
            report = _run(run, output, store, opened, budget, engine.workers)
    _say_broken(report.broken, run)
    session.report_written([output])
    if report.broken:
        raise Exit(session.FAILED)


def _run(
    run: MapRun,
    output: Path,
    store: MapStore | None,
    engine: AbstractEngine,
    memory: int,
    n_processes: int | None,
) -> MapReport:
    columns, clock = run.columns, time.perf_counter()
    shape = " x ".join(str(n) for n in columns.shape)
    echo(
        f"{columns.n_columns} columns of {shape} points, {run.duration / run.dt:.0f} steps of {run.dt:g} s, "
        f"{run.n_frames} frames, {type(run.model.closure).__name__}"
    )
    variables = ()
    if store is None:
        (plan,) = engine.map(functools.partial(planned, memory=memory), [run])
        layout, variables = plan.layout, plan.variables
        check_disk(output.absolute().parent, plan.results, "the results of the map")
        echo(f"results: {_size(plan.results)} before they are compressed")
    else:
        layout = store.layout
        if layout.memory > memory:
            raise ConfigError(
                f"--memory: expected at least {_size(layout.memory)}, for which the store was begun, got "
                f"{_size(memory)}; give more, or start anew with --overwrite."
            )
    processes = (
        "" if n_processes is None else f", {_size(n_processes * layout.memory)} for {n_processes} of them"
    )
    echo(
        f"{len(run.tiles(layout))} tiles of at most {layout.width} columns, pieces of {layout.n_frames} "
        f"frames; at most {_size(layout.memory)} of memory for a process{processes}"
    )
    advise(f"What is complete is in {output}: go on with --resume.")
    with fraction_of("map") as show:
        report = run_map(run, output, layout, variables, engine, store=store, report=show)
    echo(
        f"computed in {time.perf_counter() - clock:.1f} s, compilation included; at most "
        f"{_size(report.peak_memory)} of memory for a process"
    )
    return report


def _say_broken(broken: Sequence[Broken], run: MapRun) -> None:
    if not broken:
        return
    first = sorted(broken, key=lambda one: one.time)[:_NAMED]
    named = "; ".join(one.described(run.columns.epoch) for one in first)
    more = f"; and {len(broken) - len(first)} more" if len(broken) > len(first) else ""
    echo(
        f"tunax-lite: error: expected finite values, got others in {len(broken)} of {run.columns.n_columns} "
        f"columns: {named}{more}. Their values are missing from then on, the other columns are complete; "
        "try a shorter time step, or look at what is given there.",
        err=True,
    )


def bytes_of(text: str) -> int:
    """Bytes of a size such as `2GiB`, `500 MB`, or a number."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].upper() not in _UNITS:
        raise ConfigError(f"--memory {text}: expected a size such as 2GiB or 500MB; correct it.")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
