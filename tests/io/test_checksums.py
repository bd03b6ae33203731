"""Files that changed since they were read or written."""

import hashlib
import os
import random

import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.io import checksums
from tunax_lite.io.checksums import Digests, digest_of, digest_of_tree, sealing, unsealed
from tunax_lite.io.errors import FileFormatError


def test_digests_are_those_of_other_tools_and_change_with_every_byte_and_name(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    assert digest_of(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    folder = tmp_path / "folder"
    (folder / "c").mkdir(parents=True)
    (folder / "c" / "0").write_bytes(b"x")
    seen = {digest_of(folder)}
    (folder / "c" / "0").write_bytes(b"y")
    seen.add(digest_of(folder))
    (folder / "c" / "0").rename(folder / "c" / "1")
    seen.add(digest_of(folder))
    (folder / "c" / "0").write_bytes(b"")
    seen.add(digest_of(folder))
    assert len(seen) == 4
    (folder / "up").symlink_to(folder)  # without an end
    assert len(checksums.digests_below(folder)) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
def test_what_is_no_regular_file_is_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for path in tmp_path.iterdir():
        with error_naming(FileFormatError, str(path)):
            digest_of(path)
        with error_naming(FileFormatError, str(path)):
            unsealed(path, "checkpoint", "remove it")
    with error_naming(FileFormatError, str(tmp_path)):
        digest_of(tmp_path)


def test_a_digest_is_kept_until_the_file_changes(tmp_path, monkeypatch):
    path, kept, computed = tmp_path / "input.nc", tmp_path / "run" / "inputs.json", []
    plain = checksums.sha256_of

    def counted(path):
        computed.append(path)
        return plain(path)

    monkeypatch.setattr(checksums, "sha256_of", counted)

    def found() -> str:
        digests = Digests(kept)
        (digest,) = digests.of([path]).values()
        digests.save()
        return digest

    path.write_bytes(bytes(5_000_000))
    first = found()
    assert first == found() == hashlib.sha256(bytes(5_000_000)).hexdigest() and len(computed) == 1
    before = path.stat()
    with path.open("r+b") as file:  # in its middle, and with its time set back
        file.seek(2_500_000)
        file.write(b"\1")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert found() != first and len(computed) == 2
    kept.write_text("{")
    assert found() != first and len(computed) == 3


def test_every_flipped_bit_and_every_cut_of_a_sealed_file_is_named(tmp_path):
    path, chance = tmp_path / "checkpoint.eqx", random.Random(1)
    with sealing(path) as file:
        file.write(b"{}\n")
        np.savez(file, a=np.arange(5.0))
    whole = path.read_bytes()
    with unsealed(path, "checkpoint", "remove it") as file:
        assert file.readline() == b"{}\n"
    for _ in range(50):
        at = chance.randrange(len(whole))
        flipped = whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :]
        for damaged in (flipped, whole[:at]):
            path.write_bytes(damaged)
            with error_naming(FileFormatError, "checkpoint.eqx SHA-256"):
                unsealed(path, "checkpoint", "remove it")


def test_trees_differ_in_numbers_shapes_types_and_whatever_else_is_told():
    leaves = (np.zeros(4), np.zeros((2, 2)), np.zeros(4, np.float32), np.zeros(4, np.int64), None)
    trees = [*(({"a": leaf},) for leaf in leaves), ({"b": np.zeros(4)},), ({"a": np.zeros(4)}, "other")]
    assert len({digest_of_tree(*each) for each in trees}) == len(trees)
    # The address of a function is another one in every process.
    assert digest_of_tree({"f": lambda: 1}) == digest_of_tree({"f": lambda: 1})
