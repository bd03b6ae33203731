"""The folder of compiled programs: what others could have written is not run, what is damaged not read."""

import os
import stat
import zlib

import pytest

from tests.errors import error_naming
from tunax_lite.runtime.cache import cache_folder_for

ENTRY = zlib.compress(os.urandom(10000))
posix = pytest.mark.skipif(os.name != "posix", reason="there are no owners and permissions of this kind")


def refused(folder, because_of: object) -> None:
    """The message names the folder, and the file or folder that others can change."""
    with error_naming(PermissionError, f"{folder} {because_of}"):
        cache_folder_for(folder)


@posix
def test_new_folders_are_private_whatever_the_umask(tmp_path):
    for umask in (0o000, 0o777):
        before = os.umask(umask)
        try:
            made = cache_folder_for(tmp_path / oct(umask) / "b")
        finally:
            os.umask(before)
        assert [stat.S_IMODE(path.stat().st_mode) for path in (made, made.parent)] == [0o700, 0o700]


@posix
def test_entries_that_others_can_write_or_that_are_no_plain_files_are_refused(tmp_path):
    folder = cache_folder_for(tmp_path / "cache")
    entry, elsewhere = folder / "jit_f-1-cache", tmp_path / "elsewhere"
    entry.write_bytes(ENTRY)
    entry.chmod(0o666)
    assert cache_folder_for(folder) == folder  # they cannot reach it
    folder.chmod(0o755)
    refused(folder, entry.name)
    folder.chmod(0o700)
    entry.unlink()
    elsewhere.write_bytes(ENTRY)
    # To read the first would wait for ever.
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(elsewhere, path)):
        make(entry)
        refused(folder, entry.name)
        entry.rmdir() if make is os.mkdir else entry.unlink()


@posix
def test_a_folder_or_a_path_that_others_can_write_is_refused(tmp_path):
    inner = cache_folder_for(tmp_path / "shared" / "mine")
    for mode in (0o777, 0o770, 0o757, 0o1777):
        inner.chmod(mode)
        refused(inner, inner)
    inner.chmod(0o700)
    inner.parent.chmod(0o777)
    refused(inner, inner.parent)
    refused(inner.parent / "new", inner.parent)
    inner.parent.chmod(0o1777)  # as /tmp: nobody can rename what is not theirs
    assert cache_folder_for(inner) == inner
    link = tmp_path / "link"
    link.symlink_to(inner)
    assert cache_folder_for(link) == inner  # JAX is given what was looked at, not the link


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_others_is_refused(tmp_path):
    folder = cache_folder_for(tmp_path / "cache")
    (folder / "jit_f-1-cache").write_bytes(ENTRY)
    os.chown(folder / "jit_f-1-cache", 12345, 12345)
    refused(folder, "jit_f-1-cache")
    (folder / "jit_f-1-cache").unlink()
    os.chown(folder, 12345, 12345)
    refused(folder, folder)


def test_damaged_entries_go_and_complete_ones_stay(tmp_path):
    folder = cache_folder_for(tmp_path / "cache")
    flipped = bytearray(ENTRY)
    flipped[len(ENTRY) // 2] ^= 1
    complete = {"whole": ENTRY, "of_zstandard": b"\x28\xb5\x2f\xfd and more"}
    damaged = {"truncated": ENTRY[:-100], "flipped": bytes(flipped), "longer": ENTRY + b"more", "empty": b""}
    for name, content in (complete | damaged).items():
        (folder / f"jit_{name}-1-cache").write_bytes(content)
    cache_folder_for(folder)
    assert {path.name for path in folder.glob("*-cache")} == {"jit_whole-1-cache", "jit_of_zstandard-1-cache"}


def test_addresses_and_rings_of_links_are_refused(tmp_path):
    with error_naming(PermissionError, "address"):
        cache_folder_for("gs://bucket/cache")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    with error_naming(OSError, "folder"):
        cache_folder_for(tmp_path / "ring")
