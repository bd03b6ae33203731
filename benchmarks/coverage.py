"""How well bands of a posterior cover sources that it has not seen: `python -m benchmarks.coverage CONFIG`.

CONFIG is a calibration such as `configs/calibrations/les_generic_length_scale.yaml`. Members are drawn from
the priors and run once on all cases. Rejection sampling keeps each with the probability of its likelihood
over the largest: exact draws of the posterior, by another method than `tunax-lite posterior`. With each
source left out in turn, members weighted by the likelihood of the others give 90 % bands of temperature, with
and without the error that the likelihood assumes, and the fraction of the values of that source in them,
where the water or any member changes by more than 2 % of the largest change.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.calibration.posterior import Likelihood
from tunax_lite.calibration.problem import CaseProgram, Problem
from tunax_lite.calibration.target import MeanSquare, Target, modelled_by_states, residuals
from tunax_lite.config import build_calibration, load_calibration

ERRORS = np.array([-1.593, -0.967, -0.589, -0.282, 0.0, 0.282, 0.589, 0.967, 1.593])
"""Equally likely errors of a standard normal distribution."""
LEVEL, ACTIVE, N_DRAWS = 0.9, 0.02, 64


class Case(NamedTuple):
    """Differences and changes since the start in the unit of the misfit, `(time, level, *member)`."""

    name: str
    source: str
    loss: np.ndarray  # (member,)
    error: np.ndarray
    change: np.ndarray  # of the observations
    counts: np.ndarray  # (time, level)


def run(problem: Problem, targets: Sequence[Target], x: np.ndarray) -> list[Case]:
    """All cases with members of unconstrained numbers `(n_parameters, n_members)`."""

    of_case, cases = CaseProgram(problem, lambda model, comparison: residuals(model, comparison)[0]), []
    for index, target in enumerate(targets):
        found = np.asarray(of_case((index, x))["temperature"], float)
        comparison = problem.comparisons[index]
        at_start = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], comparison.case.start_state)
        begin = np.asarray(modelled_by_states(comparison, at_start)["temperature"])[0]
        factor = np.sqrt(float(comparison.variables["temperature"].factor))
        change = factor * (np.asarray(comparison.variables["temperature"].observed) - begin)
        counts = np.asarray(comparison.variables["temperature"].shares) > 0.0
        scale = np.sqrt(np.where(counts, comparison.variables["temperature"].shares, 1.0))[..., None]
        loss, name = np.square(found).sum(axis=(0, 1)), target.case.name
        cases.append(Case(name, target.group or name, loss, found / scale, change, counts))
        print(f"{name}: least loss {loss.min():.3g}", flush=True)
    return cases


def weights(cases: list[Case], n_observations: float) -> tuple[np.ndarray, float]:
    """Likelihood of members over the largest, and the noise of the best one."""
    losses = np.mean([case.loss for case in cases], axis=0)
    likelihood = Likelihood(float(np.sqrt(losses.min())), n_observations)
    density = -losses / likelihood.prior_weight
    return np.exp(density - density.max()), likelihood.noise


def covered(case: Case, members: np.ndarray, noise: float) -> float:
    """Fraction of the values in the bands of some members."""
    errors = case.error[..., members]
    own = errors + case.change[..., None]
    size = np.sqrt(np.mean(np.square(own[case.counts]), axis=0))
    spread = errors[..., None] + noise * size[:, None] * ERRORS
    ends = 0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL
    low, high = np.quantile(spread.reshape(*errors.shape[:2], -1), ends, axis=-1)
    largest = ACTIVE * np.abs(case.change[case.counts]).max()
    active = case.counts & ((np.abs(case.change) > largest) | (np.abs(own).max(axis=-1) > largest))
    return float(((low <= 0.0) & (high >= 0.0))[active].mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--members", type=int, default=384, metavar="N")
    parser.add_argument("--observations", type=float, default=10.6, help="independent ones, of the posterior")
    options = parser.parse_args()
    tl.configure()
    setup = build_calibration(load_calibration(options.config, options.settings))
    free = setup.free_parameters
    problem = Problem(setup.model, free, setup.targets, MeanSquare(), None, 0.0)
    random = np.random.default_rng(7)
    x = random.standard_normal((len(free.paths), options.members))
    cases = run(problem, setup.targets, x)
    likely, _ = weights(cases, options.observations)
    kept = random.random(options.members) < likely
    values = np.asarray(jax.vmap(free.to_physical)(jnp.asarray(x.T)))[kept]
    print(f"rejection: {kept.sum()} of {options.members} members")
    for number, path in enumerate(free.paths):
        told = f"{values[:, number].mean():.3f} ± {values[:, number].std():.3f}"
        print(f"{path}: {told}, over the prior's {x[number, kept].std():.2f}")
    print("| source | noise | effective draws | with the error | least of a simulation | without |")
    everything = []
    for source in dict.fromkeys(case.source for case in cases):
        others = [case for case in cases if case.source != source]
        likely, noise = weights(others, options.observations * len(others) / len(cases))
        chance = likely / likely.sum()
        members = random.choice(options.members, N_DRAWS, p=chance)
        own = [case for case in cases if case.source == source]
        found = np.array([[covered(case, members, each) for each in (noise, 0.0)] for case in own])
        everything.extend(found)
        (share, alone), least = found.mean(axis=0), int(np.argmin(found[:, 0]))
        told = f"{share:.2f} | {found[least, 0]:.2f} ({own[least].name}) | {alone:.2f}"
        print(f"| {source} | {noise:.3f} | {1.0 / np.sum(chance**2):.0f} | {told} |")
    print("all cases:", np.mean(everything, axis=0).round(3))


if __name__ == "__main__":
    main()
