"""How BFM17 is estimated: numbers in their ranges, the misfit, and the search, on a linear column."""

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import bats, bfm17
from benchmarks.bats import NUMBERS, WEIGHTS, CoarseSearch, Columns, Misfit, Programs, Search

RANDOM = np.random.default_rng(3)
N = len(NUMBERS.names)
SEEN = RANDOM.normal(size=(5, 12, 150))


def test_the_misfit_is_difference_and_correlation():
    fields = SEEN + 0.5 * RANDOM.normal(size=SEEN.shape) + 0.1
    rest = np.asarray(Misfit(SEEN, WEIGHTS)(fields))
    expected = 0.0
    for made, seen, (of_difference, of_pattern) in zip(fields, SEEN, WEIGHTS.values(), strict=True):
        correlation = np.corrcoef(made.ravel(), seen.ravel())[0, 1]
        expected += of_difference * np.mean((made - seen) ** 2) / np.var(seen)
        expected += of_pattern * 2.0 * (1.0 - correlation)
    # A thousandth of the spread is added where a field is scaled, so that a constant one is finite.
    assert abs(rest @ rest / expected - 1.0) < 2e-3
    assert np.isfinite(np.asarray(Misfit(SEEN, WEIGHTS)(np.ones_like(SEEN)))).all()


def test_derivatives_of_the_misfit():
    misfit, fields, tangent = Misfit(SEEN, WEIGHTS), SEEN + 0.3, RANDOM.normal(size=SEEN.shape)
    along = misfit.along(fields, tangent[..., None])[:, 0]
    step = 1e-5
    higher, lower = (np.asarray(misfit(fields + sign * step * tangent)) for sign in (1, -1))
    np.testing.assert_allclose(along, (higher - lower) / (2 * step), atol=1e-8)
    moved = misfit.moved(fields, tangent[..., None])[:, 0]
    for i, of in enumerate(moved):
        ends = ((fields + sign * step * tangent)[i].ravel() for sign in (1, -1))
        higher, lower = (np.corrcoef(end, SEEN[i].ravel())[0, 1] for end in ends)
        np.testing.assert_allclose(of, (higher - lower) / (2 * step), atol=1e-8)


@pytest.fixture
def observe(monkeypatch):
    """Put fields in the place of the observations."""

    def observe(seen) -> None:
        observed = {name: np.asarray(seen[i]).T for i, name in enumerate(bfm17.FIELDS)}
        monkeypatch.setattr(bfm17, "observed", lambda site: observed)

    return observe


@pytest.fixture
def linear(observe):
    """A column linear in the unbounded numbers, and observations of it with other numbers."""
    matrix = jnp.asarray(RANDOM.normal(size=(5, 12, 150, N)))
    span = jnp.asarray(NUMBERS.high - NUMBERS.low)

    def run(values, case):
        place = (values.T - NUMBERS.low) / span
        return jnp.einsum("fmzn,...n->fmz...", matrix, jnp.log(place / (1.0 - place)))

    def pushed(values, directions, case):
        place = (values - NUMBERS.low) / span
        return jnp.einsum("fmzn,nk->fmzk", matrix, directions / (span * place * (1.0 - place))[:, None])

    truth = NUMBERS.free(NUMBERS.first) + 0.3 * RANDOM.normal(size=N)
    observe(run(jnp.asarray(NUMBERS.values(truth)), None))
    return Programs(run, run, pushed), truth


@pytest.mark.long
def test_the_search_finds_the_numbers_of_a_linear_column(linear):
    """The fields are linear, the residuals are not."""
    programs, truth = linear
    search = Search("bats", "both", programs, None)  # pyright: ignore[reportArgumentType]
    start = search.found.history[0]
    for _ in range(2):
        search.iterate()
    assert search.found.history[-1] < 0.1 * start
    np.testing.assert_allclose(search.found.free, truth, atol=0.05)  # the prior draws towards the first guess
    assert search.found.n_jacobians == 2 and search.found.n_runs >= 2 * bats.N_SIDE_BY_SIDE


@pytest.mark.long  # the search by itself: above
def test_the_coarse_search_finds_the_numbers_of_the_finer_column(observe):
    """Two columns, quadratic and linear in the numbers, of which the estimate belongs to the finer one."""
    random = np.random.default_rng(5)
    matrix, more = random.normal(size=(2, 5, 12, 150, N))
    first = NUMBERS.free(NUMBERS.first)
    base = 5.0 * random.normal(size=SEEN.shape)

    def run(free):
        change = free - first
        return base + (matrix + 0.05 * more) @ change + 0.1 * (more @ change) ** 2 / N

    truth = first + 0.3 * random.normal(size=N)
    columns = Columns(run, lambda free: base + matrix @ (free - first) + 1.0, ratio=0.25)
    observe(run(truth))
    search = CoarseSearch(columns, run(truth), lambda line: None)
    search.until(150.0)
    total, free, fields = search.best
    np.testing.assert_allclose(free, truth, atol=0.05)  # the prior draws towards the first guess
    assert total == search.sum_of_squares(run(free), free) and np.array_equal(fields, run(free))
    assert search.cost == search.n_runs + 0.25 * search.n_coarse <= 150.0


def test_what_observations_determine(linear):
    """A Jacobian that knows one number well, and two others only as their sum."""
    programs, _ = linear
    search = Search("bats", "water", programs, None)  # pyright: ignore[reportArgumentType]
    found = search.found
    found.jacobian = np.array([[10.0, 0.0, 0.0, 0.0], [0.0, 10.0, 10.0, 0.0]])
    found.history = [float(bats.N_INDEPENDENT)]  # errors of one
    after = bats.ratios(found, "water")
    prior = 1.0 / bats.OF_RANGE**2
    assert next(iter(after)) == "water.background"
    np.testing.assert_allclose(after["water.background"], np.sqrt(prior / (100.0 + prior)))
    np.testing.assert_allclose(after["water.stress"], np.sqrt((1.0 + prior / (200.0 + prior)) / 2.0))
    np.testing.assert_allclose(after["water.eddies"], 1.0)
    assert bats.n_combinations(found) == 2
