"""YAML read and written: duplicate keys, documents that expand, values that round-trip."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunax_lite.calibration import read_parameters
from tunax_lite.io.yaml_file import ConfigError, parse_yaml, read_document, yaml_text

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t"))
WORDS = st.sampled_from(
    ["no", "on", "1e-6", "1_000", "0x1F", "2020-01-01", "12:30", "~", "", ".inf", "null", "="]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | WORDS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS | WORDS, below, max_size=4),
)


@given(VALUES)
def test_what_is_written_is_read_again(value):
    again = parse_yaml(yaml_text({"value": value}))["value"]
    assert again == value and repr(again) == repr(value)  # 1, 1.0 and true are equal


@pytest.mark.parametrize(
    "first, message",
    [
        (b"CDF\x01", "got a NetCDF file; .*tunax-lite plot"),
        (b"\x89HDF\r\n", "got a NetCDF or HDF5 file; a configuration names observations by `path`"),
        (b"HDF5-based Julia Data Format", "got a JLD2 file"),
        (b"PK\x03\x04", "got a zip archive; unpack it"),
    ],
)
def test_other_files_than_yaml_are_known_by_their_first_bytes(tmp_path, first, message):
    (tmp_path / "file").write_bytes(first + bytes(100))
    with pytest.raises(ConfigError, match=f"file: expected a YAML file, {message}"):
        read_document(tmp_path / "file")


def test_a_zarr_store_is_no_configuration(tmp_path):
    (tmp_path / "zarr.json").write_text("{}")
    with pytest.raises(ConfigError, match="expected a YAML file, got a Zarr store; `tunax-lite plot`"):
        read_document(tmp_path)


def test_numbers_are_written_so_that_older_readers_see_numbers():
    assert yaml_text({"a": 1e-6, "b": 1e22, "c": 0.5}) == "a: 1.0e-06\nb: 1.0e+22\nc: 0.5\n"
    assert math.isnan(parse_yaml(yaml_text([math.nan]))[0])


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", r"line 5: b\.c: .* got 'c' again \(first on line 3\)"),
        ("a:\n  - {b: 1, b: 2}\n", r"line 2: a\.0\.b: expected every key once"),
        ("a: 1\n---\nb: 2\n", "line 3: expected one document, got a second one"),
        ("a: *b\n", "line 1: expected values, got an alias of nothing above it"),
        ("? [a]\n: 1\n", "line 1: expected a word as key"),
        ("a: !!python/name:os.system x\n", "line 1: expected a plain value, got one with the tag python"),
        ("a: [1\nb: 2\n", "line 2, column 2: expected YAML"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_yaml(text)


def test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for():
    text = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 5000))
    with pytest.raises(ConfigError, match="at most 100 levels"):
        parse_yaml(text)


def test_a_key_that_stands_twice_in_a_parameter_file_is_an_error_with_file_and_both_lines(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text("closure: KEpsilon\nparameters:\n  c_mu: 0.09\n  c_eps_1: 1.44\n  c_mu: 0.1\n")
    with pytest.raises(ValueError, match=r"parameters\.yaml: .*line 5: parameters\.c_mu: .*first on line 3"):
        read_parameters(path)


def test_lines_of_keys_items_and_what_aliases_repeat(tmp_path):
    path = tmp_path / "lines.yaml"
    path.write_text("a: &x\n  b: 1\nc:\n  - 2\n  - d: 3\ne: *x\n")
    document = read_document(path)
    assert document.data == {"a": {"b": 1}, "c": [2, {"d": 3}], "e": {"b": 1}}
    assert document.origins[("e", "b")] == "line 2" and document.origins[("e",)] == "line 6"
    assert document.origins[("c", "1", "d")] == document.origins[("c", "1")] == "line 5"
    assert document.data["a"] is not document.data["e"]
