"""Measure the model on one pinned core, print and store tables: `python -m benchmarks`, or `make bench`."""

import argparse
import sys
from pathlib import Path

from tunax_lite.runtime import configure

from . import figures, report, suite
from .baseline import BASELINE, compare, read_report, write_json
from .timing import pin_to_one_core

STORED = Path("results/benchmarks.json")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the ten figures with targets")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=f"store the report here (by default {STORED}); with --quick the figures alone, one flat object",
    )
    parser.add_argument(
        "--update-baseline",
        action="store_true",
        help="later runs compare with this one",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="FOLDER",
        help="measure nothing: draw a stored report",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        default=BASELINE,
        metavar="FILE",
        help="what --figures draws",
    )
    parsed = parser.parse_args(arguments)
    if parsed.quick and parsed.update_baseline:
        parser.error("--update-baseline stores the whole report: leave out --quick")
    return parsed


def draw(source: Path, folder: Path) -> None:
    """Figures and tables of a stored report."""
    stored = read_report(source)
    for path in figures.write_figures(stored, folder):
        print(path)
    path = folder / "performance_tables.md"
    path.write_text(report.markdown(stored))
    print(path)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, compare, store."""
    options = parse(arguments)
    if options.figures:
        draw(options.source, options.figures)
        return
    cores = pin_to_one_core()  # before JAX starts its threads
    configure(cache_folder=None)  # a program from the cache would seem to compile in no time
    command = " ".join(["python -m benchmarks", *(sys.argv[1:] if arguments is None else arguments)])
    measured = suite.measure_quick(cores) if options.quick else suite.measure_suite(cores)
    measured["about"] = suite.about(command, cores)
    changes = compare(measured, read_report(BASELINE)) if BASELINE.is_file() else []
    print(report.text(measured, changes))
    if options.quick:
        if options.json:
            write_json(measured["figures"], options.json)
        return
    write_json(measured, options.json or STORED)
    if options.update_baseline:
        write_json(measured, BASELINE)


if __name__ == "__main__":
    main()
