import numpy as np

from tunax_lite.numerics.regridding import regrid


def test_means_over_cells_conserve_and_are_exact_for_a_linear_profile():
    random = np.random.default_rng(3)
    fine, coarse = (np.append(-100.0, np.append(np.sort(-100.0 * random.random(n)), 0.0)) for n in (40, 7))
    centers = [0.5 * (faces[1:] + faces[:-1]) for faces in (fine, coarse)]
    np.testing.assert_allclose(
        regrid(3.0 + 0.2 * centers[0], fine, coarse), 3.0 + 0.2 * centers[1], rtol=1e-12
    )
    np.testing.assert_allclose(
        regrid(3.0 + 0.2 * centers[1], coarse, fine), 3.0 + 0.2 * centers[0], rtol=1e-12
    )
    values = random.standard_normal((41, 3))
    for source, target, given in ((fine, coarse, values), (coarse, fine, values[:8])):
        means = regrid(given, source, target)
        np.testing.assert_allclose(np.diff(target) @ means, np.diff(source) @ given, rtol=1e-12)
    values[20] = np.nan
    covered = regrid(values[:, 0], fine, coarse)
    hidden = np.searchsorted(coarse, fine[20], side="right") - 1
    assert np.isnan(covered[hidden]) and np.isfinite(covered).sum() >= 5
