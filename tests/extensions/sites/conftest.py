"""A folder of data and a local server; what they hold is imported once JAX is set up."""

import pytest


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    from tests.extensions.sites.material import write_data

    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server that is asked again at once, and a cache of its own."""
    from tests.extensions.sites.material import Server
    from tunax_lite.extensions.sites import downloads

    monkeypatch.setattr(downloads, "PAUSES", (0.0, 0.0))
    monkeypatch.setenv("TUNAX_LITE_DOWNLOADS", str(tmp_path / "downloads"))
    found = Server()
    yield found
    found.http.shutdown()
    found.http.server_close()
