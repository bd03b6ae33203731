"""A posterior in few numbers, `posterior.yaml`; a run takes the most probable values from it."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from ...io.atomic import replacing
from .result import Posterior


def write_summary(
    path: str | Path, posterior: Posterior, level: float = 0.9, attributes: Mapping[str, str] | None = None
) -> None:
    """Write most probable values, intervals and how they were found.

    Args:
        path: replaced when the new file is complete.
        posterior: of any method.
        level: probability of the intervals.
        attributes: where the numbers come from (version, command, ...).
    """
    best, sampling = posterior.best, posterior.sampling
    free = {each.path: i for i, each in enumerate(posterior.free_parameters.numbers)}
    parameters: dict[str, dict] = {}
    for name, interval in posterior.intervals(level).items():
        parameters[name] = {"value": best[name], "unit": posterior.units[name], "interval": list(interval)}
        if name in free:
            prior = posterior.free_parameters.numbers[free[name]].distribution
            parameters[name]["prior"] = repr(prior)
            # Of the unconstrained number: 1 for a parameter of which nothing was learnt.
            parameters[name]["deviation_over_prior"] = float(posterior.standard_deviation[free[name]])
            if sampling is not None:
                parameters[name]["effective_sample_size"] = float(sampling.effective_sizes[free[name]])
                parameters[name]["r_hat"] = float(sampling.r_hat[free[name]])
    about: dict[str, object] = {
        "method": posterior.method,
        "level": level,
        "noise": posterior.likelihood.noise,
        "n_observations": posterior.likelihood.n_observations,
        "n_constrained_combinations": posterior.spectrum.n_constrained,
        "n_draws": int(posterior.log_density.size),
    }
    if sampling is not None:
        about |= {"n_divergent": sampling.n_divergent, "n_gradients": sampling.n_gradients}
    content = {
        "closure": posterior.closure,
        "parameters": parameters,
        "posterior": about,
        "provenance": dict(attributes or {}),
    }
    with replacing(path) as temporary:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        temporary.write_text(text, encoding="utf-8")
