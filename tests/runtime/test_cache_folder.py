"""The folder of compiled programs."""

import os
import stat

import pytest

from tests.errors import error_naming
from tunax_lite.runtime.cache import cache_folder_for


@pytest.mark.skipif(os.name != "posix", reason="there are no permissions of this kind")
def test_a_new_folder_is_private(tmp_path):
    made = cache_folder_for(tmp_path / "a" / "b")
    assert made.is_dir() and stat.S_IMODE(made.stat().st_mode) == 0o700


def test_addresses_and_rings_of_links_are_refused(tmp_path):
    with error_naming(PermissionError, "address"):
        cache_folder_for("gs://bucket/cache")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    with error_naming(OSError, "folder"):
        cache_folder_for(tmp_path / "ring")
