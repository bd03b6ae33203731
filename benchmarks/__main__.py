"""Measure the model on one pinned core, print and store tables: `python -m benchmarks`, or `make bench`."""

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tunax_lite.runtime import machine

from .harness import Row, Setting, measure_ceilings, pin_to_one_core

STORED = Path("results/benchmarks.json")
QUICK = ("forward", "gradient", "jacobian", "devices")
"""The tables that hold ten figures."""
HISTORY = ("forward", "gradient")
"""Those of a line of the history."""


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    from .report import BASELINE, DEFAULT, TABLES, title

    names = "\n".join(f"  {name:<12}{'' if name in DEFAULT else '* '}{title(name)}" for name in TABLES)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"names (* only on request):\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add, path = parser.add_argument, {"type": Path, "metavar": "FILE"}
    add("--only", nargs="+", choices=TABLES, metavar="NAME", help="measure these tables")
    add("--quick", action="store_true", help="short: the ten figures, or of --only")
    add("--history", action="store_true", help="short: a line in history.csv, beside GOTM and Tunax")
    add("--json", **path, help=f"of the report, {STORED}; with --quick of the figures alone, one flat object")
    add("--update-baseline", action="store_true", help="later runs compare with these tables")
    add("--figures", type=Path, metavar="FOLDER", help="measure nothing: draw a stored report")
    add("--from", dest="source", default=BASELINE, **path, help="of --figures")
    parsed = parser.parse_args(arguments)
    if parsed.quick and parsed.update_baseline:
        parser.error("--update-baseline stores whole tables: leave out --quick")
    if parsed.history and (parsed.only or parsed.update_baseline):
        parser.error("--history measures its own figures: leave out --only and --update-baseline")
    return parsed


def about(command: str, cores: Sequence[int]) -> Row:
    """Machine, date, versions and command of a run."""
    return {
        "machine": f"{machine.processor()}, {platform.system()}",
        "n_cores": len(cores) or os.cpu_count(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "versions": machine.versions(("tunax_lite", "jax", "jaxlib", "equinox", "numpy")),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def measure(names: Sequence[str], quick: bool, cores: tuple[int, ...]) -> dict[str, Any]:
    """Ceilings and the named tables."""
    import jax

    from tunax_lite.runtime import configure

    from .report import TABLES

    configure(cache_folder=None)  # a program from the cache would seem to compile in no time
    jax.config.update("jax_platforms", "cpu")  # only the processes of `gpu` take the GPU
    ceilings = measure_ceilings(rounds=7 if quick else 15)
    return {"ceilings": ceilings, "tables": {name: TABLES[name](Setting(quick, cores)) for name in names}}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, compare, store."""
    cores = pin_to_one_core()  # before JAX starts its threads
    from . import report

    options = parse(arguments)
    if options.figures:
        for path in report.draw(report.read_report(options.source), options.figures):
            print(path)
        return
    quick = options.quick or options.history
    names = HISTORY if options.history else QUICK if quick else tuple(report.DEFAULT)
    measured = measure(options.only or names, quick, cores)
    given = sys.argv[1:] if arguments is None else arguments
    measured["about"] = about(" ".join(["python -m benchmarks", *given]), cores)
    if options.history:
        from . import history

        print(history.append(measured))
        return
    baseline = report.read_report(report.BASELINE) if report.BASELINE.is_file() else None
    print(report.text(measured, report.worsened(measured, baseline) if baseline else {}))
    if not options.quick:
        report.write_json(measured, options.json or STORED)
    elif options.json:
        report.write_json(report.figures_of(measured), options.json)
    if options.update_baseline:
        kept = baseline["tables"] if baseline and options.only else {}
        report.write_json(measured | {"tables": kept | measured["tables"]}, report.BASELINE)


if __name__ == "__main__":
    main()
