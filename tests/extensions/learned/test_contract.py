"""The closures that others have learned keep the contract of all closures."""

import jax.numpy as jnp
import pytest

from tests import test_closure_contract as contract
from tests.extensions.learned.nori_numpy import random_networks, write_jld2
from tunax_lite.closures import EPBL
from tunax_lite.extensions.learned import DiscoveredProfile, NORi, VelocityByDepth

pytestmark = pytest.mark.long

# Its tests and fixtures, except those about closures of its own, that of signs, because fluxes have both, and
# that of rounding, which networks amplify.
_OTHERS = {
    "closure",
    "test_batch_equals_single_columns",
    "test_optimised_program_equals_one_without_optimisation",
    "test_turbulence_is_not_negative",
}
_FIXTURES = {"counting", "derivatives", "many_columns", "trajectories"}
globals().update(
    {
        name: each
        for name, each in vars(contract).items()
        if (name.startswith("test_") or name in _FIXTURES) and name not in _OTHERS
    }
)


@pytest.fixture(scope="module", params=["NORi", "EPBL"])
def closure(request, tmp_path_factory):
    """Each closure in turn."""
    if request.param == "EPBL":
        return EPBL.as_in_om4(profile=DiscoveredProfile(velocity=VelocityByDepth()))
    path = tmp_path_factory.mktemp("nori") / "networks.jld2"
    return NORi(networks=str(write_jld2(path, random_networks(0))))


def test_batch_equals_single_columns_but_for_rounding(closure, many_columns, trajectories):
    batch = many_columns.values(many_columns.both)[1]
    contract.assert_single_columns(closure, trajectories, batch, contract.COMPARED, rtol=1e-7)


def test_coefficients_are_not_negative(trajectories):
    for run in trajectories.values():
        for coefficient in (run.clo_state.eddy_viscosity, run.clo_state.eddy_diffusivity):
            assert float(jnp.min(coefficient)) >= 0.0
