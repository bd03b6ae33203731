"""`tunax-lite posterior`: what the observations tell about the parameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..calibration import with_parameters
from ..calibration.posterior import (
    Posterior,
    Sampling,
    Weighting,
    infer,
    influences,
    predictive_bands,
    start_from,
    write_influences,
)
from ..calibration.results import PARAMETERS_NAME
from ..config import Calibration, CalibrationConfig, ConfigError, Loaded, build_calibration, load_calibration
from ..io.writing import claimed
from ..runtime.engine import open_engine
from . import session
from .options import Engine
from .outputs import check_posterior_outputs
from .progress import fraction_of
from .terminal import echo

_MOST_FRAMES = 24
_LEVEL = 0.9
_UNCHANGED = 0.9  # ratio of posterior to prior standard deviation above which nothing was learnt


def posterior(
    config: Path,
    settings: Sequence[str],
    parameters: Path | None,
    output: Path | None,
    engine: Engine,
    *,
    method: str | None,
    resume: bool,
    overwrite: bool,
) -> None:
    """See `commands.posterior`."""
    chosen = [] if method is None else [f"posterior.method={method}"]
    loaded = load_calibration(config, [*settings, *chosen])
    folder = session.results_folder(loaded, output, resume=resume, overwrite=overwrite)
    beside = folder / PARAMETERS_NAME
    parameters = parameters or (beside if beside.is_file() else None)
    values = session.parameters_for(parameters, loaded.closure_class.__name__)
    with session.precision(loaded):
        setup = build_calibration(loaded, values)
        check_posterior_outputs(folder, overwrite, figures=loaded.config.output.figures)
        with claimed(folder, folder=True):
            found = _infer(setup, loaded, values, folder, resume, overwrite, engine)
            _summarise(found)
            written = _write(found, setup, loaded, folder)
    session.report_written(written)


def _infer(
    setup: Calibration,
    loaded: Loaded[CalibrationConfig],
    values: Mapping[str, float] | None,
    folder: Path,
    resume: bool,
    overwrite: bool,
    engine: Engine,
) -> Posterior:
    section = loaded.config.posterior
    method, free = section.build(), setup.free_parameters
    names = ", ".join(target.case.name for target in setup.targets)
    echo(f"posterior of {len(free.paths)} parameters on {names}")
    opening = open_engine(*engine, n_threads=setup.n_threads)
    with opening as opened, fraction_of("posterior", "compiling, then the best fit") as show:
        try:
            return infer(
                setup.model,
                free,
                setup.targets,
                method,
                likelihood=section.likelihood(),
                start=None if values is None else start_from(free, values),
                n_iterations=section.n_iterations,
                folder=folder,
                resume=resume,
                overwrite=overwrite,
                engine=opened,
                report=show,
                announce=echo,
            )
        except (ValueError, ImportError) as error:
            raise ConfigError(f"{error} (options: --resume, --overwrite, --output DIR, --method)") from error


def _summarise(found: Posterior) -> None:
    width = max(len(path) for path in found.free_parameters.changed_paths)
    best, spread = found.best, dict(zip(found.paths, found.standard_deviation, strict=True))
    echo(f"{'':{width}}  most probable   {100 * _LEVEL:.0f} % interval")
    for path, (low, high) in found.intervals(_LEVEL).items():
        said = "  as unsure as in its prior" if spread.get(path, 0.0) > _UNCHANGED else ""
        echo(f"{path:{width}}  {best[path]:13.6g}   {low:.6g} to {high:.6g}  [{found.units[path]}]{said}")
    constrained = f"{found.spectrum.n_constrained} of {len(found.spectrum.information)} combinations"
    echo(f"{constrained} are constrained more by the observations than by the priors")
    sampling = found.sampling
    if isinstance(sampling, Weighting):
        echo(
            f"effective sample size {sampling.effective_size:.0f} of {sampling.n_runs} runs of each case, of "
            f"which {sampling.n_failed} failed"
        )
    if isinstance(sampling, Sampling):
        sizes = sampling.effective_sizes
        echo(
            f"effective sample size {sizes.min():.0f} to {sizes.max():.0f}, "
            f"R-hat up to {sampling.r_hat.max():.3f}; {sampling.n_divergent} trajectories diverged "
            f"({sampling.n_divergent_in_warmup} more in the warm-up), {sampling.n_gradients} gradients"
        )


def _write(
    found: Posterior, setup: Calibration, loaded: Loaded[CalibrationConfig], folder: Path
) -> list[Path]:
    # Slow imports, only where needed.
    from ..calibration.posterior.infer import posterior_dataset, write_posterior, write_summary

    closure = with_parameters(setup.model.closure, found.best)
    attributes = session.origin_of(loaded, [target.case.name for target in setup.targets], closure)
    written = [folder / name for name in ("posterior.nc", "posterior.yaml", "influences.csv")]
    write_posterior(written[0], found, attributes)
    write_summary(written[1], found, _LEVEL, attributes)
    echo("computing how far each parameter moves the runs ...")
    model, free = setup.model, found.free_parameters
    about, rows = (found.mode, found.standard_deviation), []
    for target in setup.targets:
        times = target.times_of_run()
        rows += influences(model, free, target.case, *about, dt=times["dt"], duration=times["duration"])
    write_influences(written[2], rows)
    if not loaded.config.output.figures:
        return written
    from ..plotting import plot_bands, posterior_figures, save_figures

    echo("running draws of the posterior, for the figures ...")
    draws = found.subset(loaded.config.posterior.n_members)
    bands = [
        predictive_bands(model, free, target.case, draws, **target.times_of_run(_MOST_FRAMES))
        for target in setup.targets
    ]
    observed = [target.observations for target in setup.targets]
    figures = posterior_figures(posterior_dataset(found)) | {"posterior_bands": plot_bands(bands, observed)}
    return written + save_figures(figures, folder)
