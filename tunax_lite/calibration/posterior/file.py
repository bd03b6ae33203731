"""The file of a posterior, `posterior.nc`, written atomically."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import xarray as xr

from ...io.dataset import described, titled, variable_name, write_dataset
from ...io.writing import replacing
from ...io.yaml_file import yaml_text
from .result import Posterior, Sampling, Weighting


def write_posterior(
    path: str | Path, posterior: Posterior, attributes: Mapping[str, str] | None = None
) -> None:
    """Write draws, moments and information as NetCDF; attributes record the origin of the numbers."""
    write_dataset(posterior_dataset(posterior, attributes), path)


def posterior_dataset(posterior: Posterior, attributes: Mapping[str, str] | None = None) -> xr.Dataset:
    """All of a posterior with units and long names; a dot in the path of a parameter becomes an underscore.

    Parameters are variables by draw; variables along the axis `parameter` refer to the unconstrained numbers,
    whose prior is the standard normal distribution.
    """
    across, each, diverged = ("parameter", "parameter_2"), ("chain", "draw"), posterior.is_divergent
    fisher = "Fisher information of the observations over that of the prior"
    data: dict[str, tuple] = {
        "x": described((*each, "parameter"), posterior.draws, "unconstrained numbers"),
        "mode": described("parameter", posterior.mode, "most probable unconstrained numbers"),
        "mean": described("parameter", posterior.mean, "mean of the unconstrained numbers"),
        "covariance": described(across, posterior.covariance, "covariance of the unconstrained numbers"),
        "information": described(across, posterior.information, fisher),
        "log_density": described(each, posterior.log_density, "logarithm of the density but for a constant"),
        "divergent": described(each, diverged.astype(np.int8), "whether the trajectory diverged"),
    }
    title: dict[str, object] = {
        **titled("Posterior", posterior.closure),
        "method": posterior.method,
        **dataclasses.asdict(posterior.likelihood),
    }
    sampling = posterior.sampling
    sizes = posterior.effective_sizes
    if sizes is not None:
        data["effective_size"] = described("parameter", sizes, "effective sample size")
    if isinstance(sampling, Weighting):
        title |= {"n_runs": sampling.n_runs, "n_failed": sampling.n_failed}
    elif sampling is not None:
        data["r_hat"] = described("parameter", sampling.r_hat, "split potential scale reduction")
        data["step_size"] = described("chain", sampling.step_sizes, "step size of the integrator")
        counts = ("n_divergent", "n_divergent_in_warmup", "n_gradients", "acceptance")
        title |= {name: getattr(sampling, name) for name in counts}
    best = posterior.best
    priors = {free.path: free.distribution for free in posterior.free_parameters.numbers}
    for path, values in posterior.values().items():
        about: dict[str, object] = {"most_probable": best[path]}
        if path in priors:
            # Physical values at three quantiles of the prior.
            ends = jnp.asarray([-1.6448536269514722, 0.0, 1.6448536269514722])
            quantiles = np.asarray(priors[path].to_physical(ends), float).tolist()
            names = "prior_5_percent", "prior_median", "prior_95_percent"
            about |= {"prior": repr(priors[path]), **dict(zip(names, quantiles, strict=True))}
        unit = posterior.units[path]
        data[variable_name(path)] = described(each, values, f"parameter {path}", unit, **about)
    names = np.array(posterior.paths, dtype=object)
    long_name = {"long_name": "path of the parameter"}
    coords = {name: (name, names, long_name) for name in across}
    return xr.Dataset(data, coords, {**title, **(attributes or {})})


def write_summary(
    path: str | Path, posterior: Posterior, level: float = 0.9, attributes: Mapping[str, str] | None = None
) -> None:
    """Write most probable values, credible intervals and the method; attributes as above."""
    best, sampling, sizes = posterior.best, posterior.sampling, posterior.effective_sizes
    free = {number.path: (i, number) for i, number in enumerate(posterior.free_parameters.numbers)}
    parameters: dict[str, dict] = {}
    for name, interval in posterior.intervals(level).items():
        parameters[name] = {"value": best[name], "unit": posterior.units[name], "interval": list(interval)}
        if name in free:
            i, number = free[name]
            parameters[name]["prior"] = repr(number.distribution)
            # Of the unconstrained number: 1 means that nothing was learnt.
            parameters[name]["deviation_over_prior"] = float(posterior.standard_deviation[i])
            if sizes is not None:
                parameters[name]["effective_sample_size"] = float(sizes[i])
            if isinstance(sampling, Sampling):
                parameters[name]["r_hat"] = float(sampling.r_hat[i])
    about: dict[str, object] = {
        "method": posterior.method,
        "level": level,
        **dataclasses.asdict(posterior.likelihood),
        "n_constrained_combinations": posterior.spectrum.n_constrained,
        "n_draws": int(posterior.log_density.size),
    }
    if isinstance(sampling, Weighting):
        about |= {"n_runs": sampling.n_runs, "n_failed": sampling.n_failed}
    elif sampling is not None:
        about |= {"n_divergent": sampling.n_divergent, "n_gradients": sampling.n_gradients}
    content = {"closure": posterior.closure, "base": posterior.base.content, "parameters": parameters}
    content["posterior"] = about
    content["provenance"] = dict(attributes or {})
    with replacing(path) as temporary:
        temporary.write_text(yaml_text(content), encoding="utf-8")
