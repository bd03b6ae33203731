"""All commands: arguments, options, and the functions that they call.

Each command imports what it needs when it runs: see `application`.
"""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from ..registry import modules
from . import options
from .application import Answer, command
from .application import app as app


@command("The same command with --overwrite starts anew.")
def demo(
    output: Annotated[Path, Option(metavar="DIR", help="Folder for the results.")] = Path("results/demo"),
    show: Annotated[bool, Option("--open", help="Open the figures when they are drawn.")] = False,
    overwrite: options.Anew = False,
) -> None:
    """Calibrate k-epsilon on observations that come with the package, and run it; takes a minute or two."""
    from .demo import demo

    demo(output, show=show, overwrite=overwrite)


@command("Nothing was written.")
def run(
    config: options.Config,
    output: Annotated[
        Path | None,
        Option(
            metavar="OUT.nc",
            help="File for the results, without figures; by default results and figures in its folder.",
        ),
    ] = None,
    parameters: options.Parameters = None,
    settings: options.Settings = None,
    variables: Annotated[
        str | None,
        Option(
            metavar="NAME,NAME",
            help="Write only these variables, by our names or GOTM's; like output.variables.",
        ),
    ] = None,
    restart: Annotated[
        Path | None, Option(metavar="FILE.nc", help="Continue from a frame of an earlier run.")
    ] = None,
    frame: Annotated[int, Option(help="Frame to continue from; -1 is the last.")] = -1,
    ignore_unsupported: Annotated[
        bool,
        Option(
            "--ignore-unsupported",
            help="Run a case of GOTM and ignore unsupported settings.",
        ),
    ] = False,
    strict: options.Strict = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Run a model on a case; write the trajectory as NetCDF, and figures.

    CONFIG is a configuration of the package, or one of GOTM (version 5, 6 or 7) with its files.
    """
    from .run import run

    run(
        config,
        settings or [],
        output=output,
        parameters=parameters,
        variables=variables,
        restart=restart,
        frame=frame,
        ignore_unsupported=ignore_unsupported,
        strict=strict,
        overwrite=overwrite,
    )


@command("Finished work is saved: continue with --resume.")
def calibrate(
    config: options.Config,
    output: options.Folder = None,
    resume: options.Resume = False,
    overwrite: options.Anew = False,
    settings: options.Settings = None,
    engine: options.Engine = options.HERE,
) -> None:
    """Calibrate a closure on all cases; write parameters.yaml, history.nc and figures.

    For a map, find a correction of the heat flux for every column, and parameters that all columns share.
    After any interruption, --resume continues with the same iterates.
    """
    from .calibrate import calibrate

    calibrate(config, settings or [], output, engine, resume=resume, overwrite=overwrite)


@command("Finished work is saved: continue with --resume.")
def posterior(
    config: options.Config,
    method: Annotated[
        Literal["laplace", "nuts", "importance"] | None, Option(help="By default that of the configuration.")
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
    settings: options.Settings = None,
    engine: options.Engine = options.HERE,
) -> None:
    """Compute the distribution of the free parameters; write posterior.nc, posterior.yaml and figures.

    CONFIG is that of the calibration; its section `posterior` sets the method. After any interruption,
    --resume continues with the same draws.
    """
    from .posterior import posterior

    settings = [*(settings or []), *([] if method is None else [f"posterior.method={method}"])]
    posterior(config, settings, parameters, output, engine, resume=resume, overwrite=overwrite)


@command()
def report(
    results: Annotated[
        Path, Argument(metavar="DIR|FILE.nc", help="Folder of a calibration, or file of a run.")
    ],
    output: Annotated[
        Path | None,
        Option(
            metavar="FILE.html", help="By default report.html in the folder, or FILE.html beside the file."
        ),
    ] = None,
    trust: Annotated[
        bool, Option("--trust", help="Import the module of the closure, if the results name one.")
    ] = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Write one self-contained HTML page about a calibration, or about a run with a slider of time."""
    from .evaluate import report

    report(results, output, trust=trust, overwrite=overwrite)


@command()
def evaluate(
    config: options.Config,
    parameters: options.Parameters = None,
    settings: options.Settings = None,
    output: Annotated[Path | None, Option(metavar="FILE.csv", help="Also write the table to a file.")] = None,
    overwrite: options.Overwrite = False,
) -> Answer:
    """Print root mean square and mean errors, over all levels and the times of `evaluation` (after 2 h).

    CONFIG is that of a run, or of a calibration: then all its cases are compared. With --parameters the
    errors of the configuration and of the given parameters stand side by side, and the checks of a
    calibration are run with both. If FILE is the folder of a cross-validation, each case has the parameters
    of the calibration that left it out.
    """
    from .evaluate import evaluate

    return evaluate(config, settings or [], parameters, output, overwrite=overwrite)


@command()
def compare(
    config: options.Config,
    output: options.Folder = None,
    closures: Annotated[str, Option(metavar="NAME,NAME", help="Only these, by label.")] = "",
    cases: Annotated[str, Option(metavar="NAME,NAME", help="Only these, by name.")] = "",
    settings: options.Settings = None,
    overwrite: options.Overwrite = False,
    engine: options.Engine = options.HERE,
) -> Answer:
    """Compare closures: errors against large-eddy simulations, and time per step.

    Writes comparison.csv with a row for each closure, case, resolution and time step; comparison.md with
    means; and figures of profiles and of sections for each case.
    """
    from .evaluate import compare

    return compare(config, settings or [], output, closures, cases, engine, overwrite=overwrite)


@command()
def plot(
    file: Annotated[
        Path,
        Argument(metavar="FILE", help="Run, history or posterior of a calibration, or store of a map."),
    ],
    output: Annotated[
        Path | None, Option(metavar="DIR", help="Folder for the figures; by default that of the file.")
    ] = None,
    point: Annotated[
        list[str] | None,
        Option(metavar="LAT,LON", help="For a map: draw sections at this point. May be repeated."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Draw the figures of an output: sections and profiles, loss and parameters, or maps.

    Of a run that was interrupted, FILE is the name of its output, and the figures show what there is, as
    they do of a map that is not complete.
    """
    from .evaluate import plot

    plot(file, file.parent if output is None else output, point or [], overwrite=overwrite)


@command()
def check(
    config: options.Config,
    parameters: options.Parameters = None,
    settings: options.Settings = None,
    write_config: Annotated[
        Path | None,
        Option(
            metavar="FILE.yaml",
            help="For a case of GOTM: write the equivalent configuration of the package.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        Option(metavar="FILE.png", help="Draw the forcing and the first profile; of several cases, each."),
    ] = None,
    strict: options.Strict = False,
    overwrite: options.Overwrite = False,
) -> Answer:
    """Check a configuration and its files, and print what it would do: inputs, budgets, notes.

    For a configuration of GOTM, report on every setting.
    """
    from .check import check

    more = {"strict": strict, "overwrite": overwrite}
    return check(config, settings or [], parameters, write_config, figure=figure, **more)


@command()
def schema(
    kind: Annotated[
        str, Argument(help="Kind of configuration: run, calibration, comparison, or one of an extension.")
    ] = "run",
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE.json", help="File to write; by default the screen."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the JSON Schema of a kind of configuration, for editors that complete and check it."""
    from .check import schema

    schema(kind, output, overwrite=overwrite)


@command()
def doctor(
    configs: Annotated[
        list[Path] | None,
        Argument(metavar="[CONFIG]...", help="Check these configurations, too, as `check` does."),
    ] = None,
    seconds: Annotated[
        float,
        Option(metavar="S", min=0.0, help="Approximate time limit of the self-test; 60 for all checks."),
    ] = 10.0,
) -> Answer:
    """Show devices, memory, cache and versions, and test the results and the speed of the model.

    The exit code is 1 if something is wrong, an error of a configuration or its files included.
    """
    from .doctor import doctor

    return doctor(seconds, configs or [])


@command("Finished work is saved: repeat the command to continue.")
def cross_validate(
    config: options.Config,
    output: options.Folder = None,
    overwrite: options.Anew = False,
    settings: options.Settings = None,
    engine: options.Engine = options.HERE,
) -> None:
    """Calibrate on all cases, and without each in turn; print the errors on the case left out.

    CONFIG is that of a calibration. After any interruption, the same command continues; finished
    calibrations are reused, including that of `tunax-lite calibrate` in the same folder.
    """
    from .calibrate import cross_validate

    cross_validate(config, settings or [], output, engine, overwrite=overwrite)


@command()
def describe(
    name: Annotated[str, Argument(help="A closure, a part of one, a bulk formula, a water type, a method …")],
) -> None:
    """Explain a name used in configurations: parameters with unit, range, default and meaning."""
    from .check import describe

    describe(name)


modules("commands")  # of extensions
