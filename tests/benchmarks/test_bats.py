"""The misfit by which BFM17 is estimated, and its derivatives."""

import numpy as np

from benchmarks.bats import WEIGHTS, Misfit

RANDOM = np.random.default_rng(3)
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
