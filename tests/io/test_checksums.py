"""Files that changed since they were read or written."""

import os
import random

import numpy as np

from tests.errors import error_naming
from tunax_lite.io.checksums import digest_of_tree, sealing, stamp_of, unsealed
from tunax_lite.io.errors import FileFormatError


def test_a_stamp_changes_with_size_and_time(tmp_path):
    for path in (tmp_path / "file", tmp_path / "store" / "c" / "0"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"abc")
    for path, inner in ((tmp_path / "file",) * 2, (tmp_path / "store", tmp_path / "store" / "c" / "0")):
        seen = {stamp_of(path)}
        os.utime(inner, (0, 0))
        seen.add(stamp_of(path))
        inner.write_bytes(b"abcd")
        os.utime(inner, (0, 0))
        assert len(seen | {stamp_of(path)}) == 3 and stamp_of(path) == "4 bytes, 1970-01-01T00:00:00+00:00"


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
