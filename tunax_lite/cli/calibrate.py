"""`tunax-lite calibrate`, `cross-validate` and `posterior`."""

import contextlib
import dataclasses
import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..calibration import (
    CalibrationResult,
    parameter_rows,
    validation,
    with_parameters,
    write_results,
)
from ..calibration import calibrate as run_calibration
from ..calibration.calibrate import Iteration
from ..calibration.posterior import draws_of, infer, intervals, start_from
from ..calibration.posterior.infer import POSTERIOR_NAME, paths_as_in_prior, write_summary
from ..calibration.results import (
    CHECKPOINT_NAME,
    CROSS_VALIDATION_NAME,
    PARAMETERS_NAME,
    RESULTS,
)
from ..config import Calibration, CalibrationConfig, ConfigError, Loaded, build_calibration, load_calibration
from ..config.load import kind_in
from ..io.writing import check_outputs
from ..io.yaml_file import read_document
from ..plausibility.water_limits import Extreme, extremes_of
from ..runtime.engine import open_engine
from ..runtime.interrupts import Interrupted, finishing
from . import session
from .progress import fraction_of
from .terminal import echo, print_table

if TYPE_CHECKING:
    import xarray as xr

_ADVICE = "use --resume to continue, --overwrite to start anew, or choose another output"


def calibrate(
    config: Path,
    settings: Sequence[str] = (),
    output: Path | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
) -> None:
    """See `commands.calibrate`."""
    kind = kind_in(read_document(config).data)  # a kind of configuration of an extension, such as a map
    of_extension = None if kind is None or not kind.module else getattr(kind.commands, "calibrate", None)
    if of_extension is not None:
        engine = {"workers": workers, "scheduler": scheduler}
        of_extension(config, settings, output, resume=resume, overwrite=overwrite, **engine)
        return
    loaded = load_calibration(config, settings)
    folder = session.results_folder(loaded, output)
    with session.precision(loaded):
        setup = build_calibration(loaded)
        outputs = _calibration_outputs(folder, setup, figures=loaded.config.output.figures)
        inputs = session.inputs_of(loaded)
        check_outputs(outputs, overwrite=overwrite or resume, inputs=inputs, advice=_ADVICE)
        session.say_rejected(setup.targets)
        names = ", ".join(target.case.name for target in setup.targets)
        echo(f"calibrating {len(setup.free_parameters.paths)} parameters on {names}")
        arguments = vars(setup) | {"folder": folder, "resume": resume, "overwrite": overwrite}
        try:
            with (
                open_engine(workers, scheduler, n_threads=loaded.config.n_threads) as engine,
                fraction_of("calibration", "compiling, then iterating") as show,
                finishing("this iteration") as may_end,
            ):

                def report(iteration: Iteration) -> None:
                    done, n = iteration.number + 1, setup.n_iterations
                    loss = f"loss {iteration.loss:.4g}, best {iteration.best_loss:.4g}"
                    show(done / n, f"iteration {done} of {n}, {loss}")
                    may_end()

                with _options_named("--resume, --overwrite, --output DIR"):
                    result = run_calibration(**arguments, engine=engine, report=report)
        except Interrupted:
            echo(_write_interrupted(setup, loaded, folder), err=True)
            raise
        written, extremes = _write(result, setup, loaded, folder)
        _summarise(result)
        _say_errors(result, setup)
    session.report_written(written)
    session.judge_water(extremes)


@contextlib.contextmanager
def _options_named(options: str) -> Iterator[None]:
    """Append the names of options to error messages that name arguments of a function."""
    try:
        yield
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{error} (options: {options})") from error


def _calibration_outputs(folder: Path, setup: Calibration, *, figures: bool) -> list[Path]:
    """Paths of the files that a calibration writes or removes."""
    from ..report import FIGURES  # slow import: figures

    series = [f"series_{target.case.name}" for target in setup.targets]
    drawn = (*FIGURES, "series", *series) if figures else ()
    return [folder / name for name in (CHECKPOINT_NAME, *RESULTS, *(f"{name}.png" for name in drawn))]


def _write_interrupted(setup: Calibration, loaded: Loaded[CalibrationConfig], folder: Path) -> str:
    """Write parameters and history of an interrupted calibration; return a message about them."""
    # The checkpoint has at least one iteration: with a limit of one, it is read and nothing is computed.
    one_iteration = vars(dataclasses.replace(setup, n_iterations=1))
    result = run_calibration(**one_iteration, folder=folder, resume=True)
    done = f"{result.history.n_iterations} of {setup.n_iterations} iterations"
    result = dataclasses.replace(result, stop_reason=f"interrupted after {done}")
    (folder / CROSS_VALIDATION_NAME).unlink(missing_ok=True)  # based on fewer iterations
    write_results(result, folder, session.origin_of(loaded, result.case_names, result.closure))
    return f"The best of {done} is in {folder / PARAMETERS_NAME}; tunax-lite report {folder} shows it."


def _write(
    result: CalibrationResult, setup: Calibration, loaded: Loaded[CalibrationConfig], folder: Path
) -> tuple[list[Path], list[Extreme]]:
    """Write the files of a calibration; return their paths, and implausible water in the calibrated runs."""
    origin = session.origin_of(loaded, result.case_names, result.closure)
    written = list(write_results(result, folder, origin))
    with_figures = loaded.config.output.figures
    echo("running the best parameters" + (", and drawing figures ..." if with_figures else " ..."))
    pairs = validation.with_values(setup.model, setup.targets, result.best)
    runs = [validation.run_to_the_end(model, target) for model, target in pairs]
    extremes = [
        extreme._replace(place=f"{target.case.name} with the calibrated parameters, ")
        for target, run in zip(setup.targets, runs, strict=True)
        for extreme in extremes_of(run, has_ice=target.case.ice is not None)
    ]
    if with_figures:
        # Slow imports, only where needed.
        from ..calibration.results import history_dataset
        from ..plotting import calibration_figures, history_figures, save_figures

        figures = history_figures(history_dataset(result))
        figures |= calibration_figures(setup.model, setup.targets, runs)
        written += save_figures(figures, folder)
    return written, extremes


def _summarise(result: CalibrationResult) -> None:
    echo(f"{result.stop_reason}; the best is iteration {result.history.best_iteration + 1}")
    echo(f"loss: {float(result.history.loss[0]):.5g} at the start, {result.best_loss:.5g} at the best")
    print_table(("parameter", "start", "best", "unit", "remark"), parameter_rows(result))
    if result.n_non_finite:
        echo(f"{result.n_non_finite} evaluations were not finite; no step started from them")
    if result.n_failed:
        echo(f"{result.n_failed} members of the ensemble failed in total; they were redrawn")


def _say_errors(result: CalibrationResult, setup: Calibration) -> None:
    """Print the errors of start, best iteration and persistence, as means over the cases."""
    first, best = result.history.errors[[0, result.history.best_iteration]]
    persistence = [validation.persistence_errors(target.comparison) for target in setup.targets]
    rows = []
    for place, name in enumerate(result.variables):
        unchanged = [errors[name].root_mean_square for errors in persistence if name in errors]
        by_run = first[:, place], best[:, place], np.array(unchanged)
        finite = [errors[np.isfinite(errors)] for errors in by_run]
        means = [float(errors.mean()) if errors.size else math.nan for errors in finite]
        worse = "worse than persistence" if means[1] > means[2] else ""
        rows.append((name, *(f"{mean:.4g}" for mean in means), result.units_of_errors[name], worse))
    columns = ("variable", "start", "best", "persistence", "unit", "remark")
    print_table(columns, rows, "root mean square errors, mean over the cases")


def cross_validate(
    config: Path,
    settings: Sequence[str],
    output: Path | None,
    *,
    overwrite: bool,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """See `commands.cross_validate`."""
    loaded = load_calibration(config, settings)
    folder = session.results_folder(loaded, output)
    with session.precision(loaded):
        setup = build_calibration(loaded)
        names = [target.case.name for target in setup.targets]
        # Unfinished calibrations are continued; the table is written last, when all are finished.
        outputs = _calibration_outputs(folder, setup, figures=loaded.config.output.figures)
        check_outputs(outputs, overwrite=True, inputs=session.inputs_of(loaded))
        check_outputs([folder / CROSS_VALIDATION_NAME], overwrite=overwrite)
        groups = {target.case.name: target.group for target in setup.targets if target.weight > 0.0}
        total = setup.n_iterations * (1 + len(validation.left_out_together(groups)))
        done, reporting = dict[str | None, int](), threading.Lock()
        with (
            open_engine(workers, scheduler, n_threads=loaded.config.n_threads) as engine,
            fraction_of("cross-validation") as show,
        ):

            def begin(left_out: str | None):
                where = "all cases" if left_out is None else f"without {left_out}"

                def report(iteration: Iteration) -> None:
                    with reporting:  # calibrations report from their threads
                        done[left_out] = iteration.number + 1
                        state = f"iteration {done[left_out]}, best {iteration.best_loss:.5g}"
                        show(sum(done.values()) / total, f"{where}: {state}")

                return report

            with _options_named("--overwrite, --output DIR"):
                validated = validation.cross_validate(
                    **vars(setup),
                    folder=folder,
                    overwrite=overwrite,
                    attributes=session.origin_of(loaded, names, setup.model.closure),
                    begin=begin,
                    engine=engine,
                )
        written, extremes = _write(validated.calibrated, setup, loaded, folder)
        written.append(folder / CROSS_VALIDATION_NAME)
        validation.write_table(written[-1], validated.rows)
    columns = ("persistence", "uncalibrated", "calibrated", "left_out")
    cells = [
        (row.case, row.variable, *(f"{getattr(row, name):.5f}" for name in columns), row.unit)
        + ("yes" if row.better else "no",)
        for row in validated.rows
    ]
    titles = ("left out", "variable", "persistence", "uncalibrated", "on all", "without", "unit", "better")
    print_table(titles, cells, "root mean square errors on the case left out of the calibration")
    session.report_written(written)
    session.judge_water(extremes)


_LEVEL = 0.9  # probability of the printed intervals


def posterior(
    config: Path,
    settings: Sequence[str],
    method: str | None,
    parameters: Path | None,
    output: Path | None,
    *,
    resume: bool,
    overwrite: bool,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """See `commands.posterior`."""
    # Slow imports: figures.
    from ..io.dataset import write_dataset
    from ..plotting import posterior_figures, save_figures
    from ..report import POSTERIOR_FIGURES

    chosen = [] if method is None else [f"posterior.method={method}"]
    loaded = load_calibration(config, [*settings, *chosen])
    section, with_figures = loaded.config.posterior, loaded.config.output.figures
    folder = session.results_folder(loaded, output)
    calibrated = folder / PARAMETERS_NAME
    parameters = parameters or (calibrated if calibrated.is_file() else None)
    values = session.parameters_for(parameters, loaded.closure_class.__name__)
    with session.precision(loaded):
        setup = build_calibration(loaded, values)
        free, names = setup.free_parameters, [target.case.name for target in setup.targets]
        written = [folder / name for name in (POSTERIOR_NAME, "posterior.yaml")]
        drawn = [folder / f"{name}.png" for name in (POSTERIOR_FIGURES if with_figures else ())]
        inputs = session.inputs_of(loaded, parameters)
        check_outputs([*written, *drawn], overwrite=overwrite or resume, inputs=inputs, advice=_ADVICE)
        sampler = section.method.build()
        echo(f"posterior of {len(free.paths)} parameters on {', '.join(names)}")
        with (
            open_engine(workers, scheduler, n_threads=loaded.config.n_threads) as engine,
            fraction_of("posterior", "compiling, then the best fit") as show,
            _options_named("--resume, --overwrite, --output DIR, --method"),
        ):
            inferred = infer(
                setup.model,
                free,
                setup.targets,
                sampler,
                likelihood=section.likelihood(),
                start=None if values is None else start_from(free, values),
                n_iterations=section.n_iterations,
                folder=folder,
                resume=resume,
                overwrite=overwrite,
                engine=engine,
                report=show,
                announce=echo,
            )
        _summarise_posterior(inferred)
        best = {path: draws.most_probable for path, draws in draws_of(inferred).items()}
        origin = session.origin_of(loaded, names, with_parameters(setup.model.closure, best))
        write_dataset(inferred.assign_attrs(origin), written[0])
        write_summary(written[1], inferred, _LEVEL, origin)
        if with_figures:
            written += save_figures(posterior_figures(inferred), folder)
    session.report_written(written)


def _summarise_posterior(inferred: "xr.Dataset") -> None:
    draws, as_in_prior, rows = draws_of(inferred), paths_as_in_prior(inferred), []
    for path, (low, high) in intervals(inferred, _LEVEL).items():
        remark = "as in its prior: the observations do not constrain it" if path in as_in_prior else ""
        numbers = (f"{number:.6g}" for number in (draws[path].most_probable, low, high))
        rows.append((path, *numbers, draws[path].units, remark))
    columns = ("parameter", "most probable", "from", "to", "unit", "remark")
    print_table(columns, rows, f"most probable values and {100 * _LEVEL:.0f} % intervals")
    # The information of the prior is 1 in every direction.
    information = np.linalg.eigvalsh(inferred["information"].values)
    constrained = f"{(information > 1.0).sum()} of {len(information)} combinations of parameters"
    echo(f"{constrained} are constrained more by the observations than by the priors")
    if "r_hat" in inferred:
        sizes = inferred["effective_size"].values
        echo(
            f"effective sample size {sizes.min():.0f} to {sizes.max():.0f}, "
            f"R-hat up to {inferred['r_hat'].values.max():.3f}; {inferred.n_divergent} trajectories diverged"
        )
