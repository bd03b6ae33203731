"""A full disk, a quota, limits of memory: one message, and nothing half-written."""

import errno
import subprocess

import numpy as np
import pytest
import typer
import xarray as xr

from tests.errors import error_naming
from tunax_lite.cli.session import errors_as_messages
from tunax_lite.io import replacing, write_dataset


def noise() -> xr.Dataset:
    """400 kB that cannot be compressed."""
    return xr.Dataset({"noise": ("x", np.random.default_rng(1).standard_normal(50_000))})


@pytest.fixture
def small_disk(tmp_path):
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"a small file system cannot be mounted: {error}")
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_a_full_disk_is_named_with_the_file(small_disk):
    with error_naming(OSError, "out.nc disk"):
        write_dataset(noise(), small_disk / "out.nc")
    with error_naming(OSError, "text disk"), replacing(small_disk / "text") as temporary:
        temporary.write_bytes(bytes(400_000))
    assert not list(small_disk.iterdir())


def test_a_quota_is_named_and_other_errors_stay_as_they_are(tmp_path):
    with error_naming(OSError, "text quota"), replacing(tmp_path / "text"):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    with error_naming(OSError, "text quota"), replacing(tmp_path / "text"):
        raise RuntimeError("NetCDF: HDF error")  # as the library reports an exceeded quota
    for error in (RuntimeError("invalid argument"), OSError(errno.EIO, "Input/output error")):
        with pytest.raises(type(error)) as caught, replacing(tmp_path / "text"):
            raise error
        assert caught.value is error
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_free_space_hides_no_other_reason():
    with error_naming(OSError, "No such file"), replacing("/proc/out.nc") as temporary:
        temporary.write_bytes(b"")


def test_what_lacks_is_said(capsys):
    for error, fragment in (
        (MemoryError("std::bad_alloc"), "std::bad_alloc"),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 80000000000 bytes."), "ulimit -v"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left"),
    ):
        with pytest.raises(typer.Exit) as ended, errors_as_messages(debug=False):
            raise error
        said = capsys.readouterr().err
        assert ended.value.exit_code == 1 and fragment in said and "unexpected" not in said
