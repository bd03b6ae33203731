"""The closures that others have learned keep the contract of all closures."""

import numpy as np
import pytest

from tests import test_closure_contract as contract
from tests.extensions.learned.nori_numpy import random_networks, write_jld2
from tests.test_closure_contract import (  # noqa: F401
    run,
    test_columns_are_alone_and_have_no_preferred_direction,
    test_gradient_equals_central_differences,
    test_gradient_is_finite_at_the_bounds_of_every_parameter,
)
from tunax_lite.closures import EPBL
from tunax_lite.extensions.learned import DiscoveredProfile, NORi, VelocityByDepth

CLOSURES = {
    "NORi with networks": NORi,
    "EPBL by rotation": lambda: EPBL(profile=DiscoveredProfile()),
    "epbl_om4 by depth": lambda: EPBL.as_in_om4(profile=DiscoveredProfile(velocity=VelocityByDepth())),
}


pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=CLOSURES)
def closure(request, tmp_path_factory):
    if request.param == "NORi with networks":
        path = tmp_path_factory.mktemp("nori") / "networks.jld2"
        return NORi(networks=str(write_jld2(path, random_networks(0))))
    return CLOSURES[request.param]()


def test_states_are_sound(run):  # noqa: F811
    contract.assert_sound(run)
    for coefficient in (run.result[1][1].eddy_viscosity, run.result[1][1].eddy_diffusivity):
        assert np.min(coefficient) >= 0.0
