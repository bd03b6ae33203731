"""Arguments, options and help of all commands; other modules do the work, see `application.command`."""

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
        options.output("FILE.yaml", "For a set-up of another model: write the equivalent configuration."),
    ] = None,
    figures: options.Figures = None,
    overwrite: options.Overwrite = False,
) -> Answer:
    """Check a configuration and its files; print its cases, model and times, and notes on doubtful inputs.

    For a set-up of GOTM, list settings that differ, have no effect or are not supported.
    """
    ...


@command("Core", "Nothing was written.", module="run")
def run(
    config: options.Config,
    output: Annotated[
        Path | None,
        options.output(
            "OUT.nc",
            "File for the results; no figures are drawn. By default a file and figures in output.folder.",
        ),
    ] = None,
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
    restart: Annotated[
        Path | None, Option(metavar="FILE.nc", help="Results of an earlier run to continue.")
    ] = None,
    frame: Annotated[
        int, Option(help="Frame of --restart to start from, counted from 0; -1 is the last.")
    ] = -1,
    overwrite: options.Overwrite = False,
    draws: Annotated[
        int,
        Option(help="Number of draws of --posterior to run, too; their quantiles are in OUT_draws.nc."),
    ] = 0,
    posterior: Annotated[
        Path | None,
        Option(metavar="FILE.nc", help="Draws of parameters, posterior.nc of `tunax-lite posterior`."),
    ] = None,
) -> None:
    """Run a model on a case; write the trajectory as NetCDF, and figures.

    CONFIG is a configuration of the package or a set-up of GOTM (gotm.yaml). With `--set
    ignore_unsupported=true`, a set-up of GOTM runs without its unsupported settings.
    """


@command("Core", module="evaluate")
def plot(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...",
            help="Results of a run, calibration (history.nc), posterior or assimilation; or several files "
            "to draw together.",
        ),
    ],
    output: Annotated[
        Path | None, options.output("DIR", "Folder for the figures; by default that of the file.")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Draw the figures of a file of results: sections and profiles, or loss and parameters.

    Files to draw together are runs of this package and of GOTM, and observations of one mooring.
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

    For figures of a run, a posterior or an assimilation alone, use `tunax-lite plot`.
    """


@command("Core", module="budget")
def budget(
    file: Annotated[Path, Argument(metavar="OUT.nc", help="Results of a run with output.budgets.")],
) -> Answer:
    """Print the budgets of heat, salt, tracers and kinetic energy of a run: each term, and the residual.

    Terms are means over the run, positive if they increase the content of the column. A budget is closed if
    rounding explains the residual of every output interval.
    """
    ...


@command("Core", module="check")
def describe(
    name: Annotated[
        str, Argument(help="Name of a closure, part of a closure, term or method, or package.module:Class.")
    ],
) -> None:
    """Explain a name used in configurations: meaning, default, unit and range of its parameters."""


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
    output: options.CalibrationFolder = None,
    resume: options.Resume = False,
    overwrite: options.Anew = False,
    settings: options.Settings = options.NONE,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Calibrate a closure on all cases; write parameters.yaml, history.nc and figures.

    For a map, estimate a correction of the heat flux for every column, and parameters that all columns share.
    An interrupted calibration continues with --resume and has the same results as an uninterrupted one.
    """


@command("Calibration", "Finished draws of NUTS are saved: continue with --resume.", module="calibrate")
def posterior(
    config: options.Config,
    method: Annotated[
        Literal["laplace", "nuts", "smc"] | None,
        Option(help="Method, with its default settings; by default the configured one."),
    ] = None,
    parameters: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Parameters to start from; by default parameters.yaml of the output folder, if it exists.",
        ),
    ] = None,
    output: options.CalibrationFolder = None,
    resume: options.Resume = False,
    overwrite: options.Anew = False,
    settings: options.Settings = options.NONE,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Compute the distribution of the free parameters; write posterior.nc, posterior.yaml and figures.

    CONFIG configures the calibration; its section `posterior` sets the method. --resume continues interrupted
    chains of NUTS with the same draws; other methods start again.
    """


@command("Calibration", "Finished work is saved: repeat the command to continue.", module="calibrate")
def cross_validate(
    config: options.Config,
    output: options.CalibrationFolder = None,
    overwrite: options.Anew = False,
    settings: options.Settings = options.NONE,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Calibrate on all cases, and without each in turn; print the errors on the case left out.

    CONFIG configures a calibration. After an interruption, repeat the command to continue. Finished
    calibrations are reused, including the one of `tunax-lite calibrate` in the same folder.
    """


@command("Calibration", module="evaluate")
def evaluate(
    config: options.Config,
    parameters: options.Parameters = None,
    settings: options.Settings = options.NONE,
) -> Answer:
    """Print root mean square and mean errors against the observations, over all observed levels.

    CONFIG configures a run, whose section `evaluation` selects the times (by default after 2 h), or a
    calibration, whose cases are all evaluated at the times of `misfit`. --parameters adds a column of errors
    with these parameters.
    """
    ...


@command("Calibration", module="evaluate")
def compare(
    config: options.Config,
    output: options.Folder = None,
    closures: Annotated[str, Option(metavar="NAME,NAME", help="Labels of closures; by default all.")] = "",
    cases: Annotated[str, Option(metavar="NAME,NAME", help="Names of cases; by default all.")] = "",
    settings: options.Settings = options.NONE,
    overwrite: options.Overwrite = False,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
) -> Answer:
    """Compare closures by their errors against large-eddy simulations or any other observations.

    Writes comparison.csv with a row for each closure, grid, case, time step and variable; comparison.md with
    a table for each variable; and figures of profiles, sections of errors and series for each case.
    """
    ...


modules("commands")  # of extensions
