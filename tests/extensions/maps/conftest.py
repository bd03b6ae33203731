"""The synthetic map, cut and run once; JAX starts with its first number, which a fixture makes."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def plan():
    from tests.extensions.maps.synthetic import RUN
    from tunax_lite.extensions.maps.plan import planned

    return planned(RUN)


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory) -> Path:
    from tests.extensions.maps.synthetic import RUN, SMALL
    from tunax_lite.extensions.maps import create_store, run_map
    from tunax_lite.runtime.engine import ThisProcess

    path = tmp_path_factory.mktemp("whole") / "map.zarr"
    run_map(RUN, create_store(path, RUN, plan._replace(layout=SMALL)), ThisProcess())
    return path
