"""Twins with noise, for posteriors: what a model with parameters from their priors gave, measured badly."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tests.calibration.twins import CHEAP_FREE, make_case, observe
from tunax_lite.calibration import Target, with_parameters
from tunax_lite.calibration.posterior import Likelihood

NOISE = 0.01  # [K]
FREE = CHEAP_FREE.resolve(tl.PacanowskiPhilander())


@dataclasses.dataclass(frozen=True)
class NoisyTwin:
    """A case, its parameters, and temperatures with noise."""

    truth: np.ndarray  # unconstrained
    target: Target
    likelihood: Likelihood


@functools.cache
def noisy_twin(seed: int) -> NoisyTwin:
    """A day of wind and cooling over 16 cells, in steps of ten minutes."""
    random = np.random.default_rng(seed)
    truth = random.standard_normal(len(FREE.paths))
    physical = np.asarray(FREE.to_physical(jnp.asarray(truth))).tolist()
    values = dict(zip(FREE.paths, physical, strict=True))
    model = tl.Model(with_parameters(tl.PacanowskiPhilander(), values))
    case = make_case(0.1, -100.0, n_cells=16, hours=24.0)
    exact = observe(model, case, dt=600.0, interval=7200.0)
    temperature = np.asarray(exact.profiles["temperature"])[1:]
    noisy = temperature + NOISE * random.standard_normal(temperature.shape)
    observed = tl.Observations(exact.time[1:], exact.z, {"temperature": jnp.asarray(noisy)}, name=case.name)
    target = Target(case, observed, {"temperature": 1.0}, dt=600.0)
    return NoisyTwin(truth, target, Likelihood(NOISE, float(noisy.size)))
