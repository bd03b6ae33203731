"""A folder of data; what it holds is imported once JAX is set up."""

import pytest


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    from tests.extensions.sites.material import write_data

    return write_data(tmp_path_factory.mktemp("data"))
