"""What compiling alone says of memory holds the results."""

import equinox as eqx
import jax.numpy as jnp
import pytest

from tests.errors import error_naming
from tests.helpers import cooled_case
from tests.networks import Learned
from tunax_lite import Model, PacanowskiPhilander
from tunax_lite.column.planning import estimate_memory

CASE = cooled_case(duration=12000.0)
MODEL = Model(PacanowskiPhilander())
N_FRAMES = 21  # of 10 steps, with the start
FRAMES = N_FRAMES * 8 * (4 * 8 + 2 * 9)  # [bytes] four variables at 8 centers, two coefficients at 9 faces


@pytest.mark.long
def test_a_run_needs_its_frames_and_a_jacobian_its_matrix():
    one, many = estimate_memory(MODEL, CASE), estimate_memory(MODEL, CASE, n_columns=50)
    # Times, steps and the grid come on top.
    assert FRAMES <= one.outputs <= 1.15 * FRAMES
    assert 50 * FRAMES <= many.outputs <= 1.05 * 50 * FRAMES
    assert one.peak == one.arguments + one.outputs + one.temporary + one.code
    assert one.trace_seconds > 0.0 and one.compile_seconds > 0.0
    assert str(one.peak) in str(one)
    gradient = estimate_memory(MODEL, CASE, what="gradient", parameters=["alpha"])
    assert gradient.temporary > one.temporary
    found = estimate_memory(MODEL, CASE, what="jacobian", parameters=["alpha", "exponent"], chunk_size=1)
    matrix = 8 * (N_FRAMES * 3 * 8) * 3  # with the residuals
    assert matrix <= found.outputs <= 1.05 * matrix


@pytest.mark.long
def test_ensembles_and_the_weights_of_networks_are_estimated():
    ensemble = Model(PacanowskiPhilander(alpha=jnp.linspace(4.0, 6.0, 3)))
    assert estimate_memory(ensemble, CASE, what="gradient").what == "gradient of 3 columns"
    residuals = N_FRAMES * 3 * 8
    for parameters, n in ((["net.*"], 17), (None, 18)):  # 4 hidden units of 2 inputs and 1 output; `largest`
        options = {"what": "jacobian", "parameters": parameters, "chunk_size": 1}
        found = estimate_memory(Model(Learned()), CASE, **options).outputs
        assert found == pytest.approx(8 * residuals * (n + 1), rel=0.02)


def estimate(case=CASE, **options):
    return lambda: estimate_memory(MODEL, case, **options)


def test_requests_without_meaning_are_refused():
    batch = eqx.tree_at(lambda case: case.coriolis_parameter, CASE, jnp.zeros(3))
    for make, error, message in (
        (estimate(n_columns=0), ValueError, "n_columns 1 0"),
        (estimate(what="gradient", parameters=["alfa"]), ValueError, "parameters alpha alfa"),
        (estimate(what="jacobian", parameters=[]), ValueError, "parameters none"),
        (estimate(duration=1234.0), ValueError, "multiple"),
        (estimate(batch, n_columns=4), ValueError, "column 4 (3,)"),
        (estimate(what="gradient", parameters=["net.*"]), ValueError, "parameters net.*"),
    ):
        with error_naming(error, message):
            make()
