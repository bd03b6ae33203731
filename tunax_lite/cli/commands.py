"""Arguments, options and help of all commands; the work is done elsewhere, see `application.command`."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from ..registry import modules
from . import options
from .application import Answer, command
from .application import app as app


@command("Core", "The same command with --overwrite starts anew.", module="demo")
def demo(
    output: Annotated[Path, options.output("DIR", "Folder for the results.")] = Path("results/demo"),
    overwrite: options.Anew = False,
) -> None:
    """Calibrate k-epsilon on observations that come with the package, and run it; takes a minute or two."""


@command("Core", module="check")
def check(
    config: options.Config,
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
    output: Annotated[
        Path | None,
        options.output("FILE.yaml", "For a set-up of another model: the equivalent configuration."),
    ] = None,
    figures: options.Figures = None,
    overwrite: options.Overwrite = False,
) -> Answer:
    """Check a configuration and its files, and print what it would do: inputs, budgets, notes.

    For a set-up of another model, report on every setting.
    """
    ...


@command("Core", "Nothing was written.", module="run")
def run(
    config: options.Config,
    output: Annotated[
        Path | None,
        options.output(
            "OUT.nc", "File for the results, without figures; by default a file and figures in output.folder."
        ),
    ] = None,
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
    restart: Annotated[
        Path | None, Option(metavar="FILE.nc", help="Continue from a frame of an earlier run.")
    ] = None,
    frame: Annotated[int, Option(help="Frame to continue from; -1 is the last.")] = -1,
    overwrite: options.Overwrite = False,
    draws: Annotated[
        int,
        Option(help="Run so many draws of --posterior, too, and write their quantiles to OUT_draws.nc."),
    ] = 0,
    posterior: Annotated[
        Path | None,
        Option(metavar="FILE.nc", help="File of `tunax-lite posterior` with the draws."),
    ] = None,
) -> None:
    """Run a model on a case; write the trajectory as NetCDF, and figures.

    CONFIG is a configuration of the package, or a set-up of another model that an extension reads. Of a
    set-up of GOTM, `--set ignore_unsupported=true` runs without settings that are not supported.
    """


@command("Core", module="evaluate")
def plot(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...",
            help="Run, history or posterior of a calibration, or assimilation; or several runs and "
            "observations.",
        ),
    ],
    output: Annotated[
        Path | None, options.output("DIR", "Folder for the figures; by default that of the file.")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Draw the figures of an output: sections and profiles, or loss and parameters.

    Several files are drawn together: runs of this package and of GOTM, and observations of one mooring.
    """


@command("Core", module="evaluate")
def report(
    results: Annotated[
        Path,
        Argument(metavar="DIR", help="Folder that `tunax-lite calibrate` wrote."),
    ],
    output: Annotated[
        Path | None,
        options.output("FILE.html", "The page; by default report.html in the folder."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write one self-contained HTML page about a calibration and its posterior.

    Figures of a run, a posterior or an assimilation alone are drawn by `tunax-lite plot`.
    """


@command("Core", module="budget")
def budget(
    file: Annotated[Path, Argument(metavar="OUT.nc", help="Results of a run with output.budgets.")],
) -> Answer:
    """Print the budgets of heat, salt, tracers and kinetic energy of a run: each term, and the residual.

    Rates are means over the output interval, and over the whole run; what enters the column is positive.
    """
    ...


@command("Core", module="check")
def describe(
    name: Annotated[
        str, Argument(help="A closure, a part of one, a term, a method …, or package.module:Class.")
    ],
) -> None:
    """Explain a name used in configurations: parameters with unit, range, default, meaning; pools."""


@command("Core", module="check")
def schema(
    kind: Annotated[
        str, Argument(help="Kind of configuration: run, calibration, comparison, or one of an extension.")
    ] = "run",
) -> None:
    """Print the JSON Schema of a kind of configuration, for editors that complete and check it."""


@command("Core", module="doctor")
def doctor() -> Answer:
    """Show versions, devices, precision and cache, and time one step of the model.

    The exit code is 1 if something is wrong.
    """
    ...


@command("Calibration", "Finished work is saved: continue with --resume.", module="calibrate")
def calibrate(
    config: options.Config,
    output: options.Folder = None,
    resume: options.Resume = False,
    overwrite: options.Anew = False,
    settings: options.Settings = options.NONE,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Calibrate a closure on all cases; write parameters.yaml, history.nc and figures.

    For a map, find a correction of the heat flux for every column, and parameters that all columns share.
    After any interruption, --resume continues with the same iterates.
    """


@command("Calibration", "Finished work is saved: continue with --resume.", module="calibrate")
def posterior(
    config: options.Config,
    method: Annotated[
        Literal["laplace", "nuts", "smc"] | None,
        Option(help="Method with its default settings; by default that of the configuration."),
    ] = None,
    parameters: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Parameters to start from; by default parameters.yaml of the output folder, if it exists.",
        ),
    ] = None,
    output: options.Folder = None,
    resume: options.Resume = False,
    overwrite: options.Anew = False,
    settings: options.Settings = options.NONE,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Compute the distribution of the free parameters; write posterior.nc, posterior.yaml and figures.

    CONFIG is that of the calibration; its section `posterior` sets the method. --resume continues
    interrupted chains of NUTS with the same draws; other methods start again.
    """


@command("Calibration", "Finished work is saved: repeat the command to continue.", module="calibrate")
def cross_validate(
    config: options.Config,
    output: options.Folder = None,
    overwrite: options.Anew = False,
    settings: options.Settings = options.NONE,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Calibrate on all cases, and without each in turn; print the errors on the case left out.

    CONFIG is that of a calibration. After any interruption, the same command continues; finished
    calibrations are reused, including that of `tunax-lite calibrate` in the same folder.
    """


@command("Calibration", module="evaluate")
def evaluate(
    config: options.Config,
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
) -> Answer:
    """Print root mean square and mean errors, over all levels and the times of `evaluation` (after 2 h).

    CONFIG is that of a run, or of a calibration: then all its cases are compared. With --parameters the
    errors of the configuration and of the given parameters stand side by side.
    """
    ...


@command("Calibration", module="evaluate")
def compare(
    config: options.Config,
    output: options.Folder = None,
    closures: Annotated[str, Option(metavar="NAME,NAME", help="Only these, by label.")] = "",
    cases: Annotated[str, Option(metavar="NAME,NAME", help="Only these, by name.")] = "",
    settings: options.Settings = options.NONE,
    overwrite: options.Overwrite = False,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> Answer:
    """Compare closures: errors against large-eddy simulations or any other observations.

    Writes comparison.csv with a row for each closure, grid, case, time step and variable; comparison.md with
    a table for each variable and means; and figures of profiles, sections of errors and series for each case.
    """
    ...


modules("commands")  # of extensions
