"""How the synthetic map is cut; JAX starts with its first number, which a fixture makes."""

import pytest


@pytest.fixture(scope="session")
def plan():
    from tests.extensions.maps.test_run import RUN
    from tunax_lite.extensions.maps.plan import planned

    return planned(RUN, 2**31)
