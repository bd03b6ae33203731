"""YAML read and written: duplicate keys, documents that expand, values that round-trip."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import error_naming
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


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_what_is_written_is_read_again(value):
    again = parse_yaml(yaml_text({"value": value}))["value"]
    assert again == value and repr(again) == repr(value)  # 1, 1.0 and true are equal


def test_numbers_are_written_so_that_older_readers_see_numbers():
    assert yaml_text({"a": 1e-6, "b": 1e22, "c": 0.5}) == "a: 1.0e-06\nb: 1.0e+22\nc: 0.5\n"
    assert math.isnan(parse_yaml(yaml_text([math.nan]))[0])


BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))
CHAIN = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 5000))
REFUSED = [
    ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "5 b.c c 3"),
    ("a:\n  - {b: 1, b: 2}\n", "2 a.0.b b"),
    ("a: 1\n---\nb: 2\n", "2 document"),
    ("a: *b\n", "1 alias"),
    ("? [a]\n: 1\n", "1 key"),
    ("a: !!python/name:os.system x\n", "1 tag python/name:os.system"),
    ("a: &a [1, *a]\n", "1 100"),
    ("a: " + "[" * 200 + "]" * 200, "100"),
    ("a: " + "[" * 50_000, "1 nesting"),
    (CHAIN, "100"),
    ("a: " + "9" * 10_000, "1 10000"),
]


def test_what_is_refused_is_named_with_its_line_or_size():
    for text, message in REFUSED:
        with error_naming(ConfigError, message):
            parse_yaml(text)
    few = "a: &a [1]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(3))
    assert parse_yaml(few)["b2"] == [[1], [1]]


@pytest.mark.long  # a million values
def test_a_document_that_expands_is_refused():
    with error_naming(ConfigError, "1000000"):
        parse_yaml(BOMB)


def test_a_key_that_stands_twice_in_a_parameter_file(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text("parameters:\n  c_mu: 0.09\n  c_mu: 0.1\n")
    with error_naming(ValueError, "parameters.yaml 3 parameters.c_mu 2"):
        read_parameters(path)


def test_lines_of_keys_items_and_what_aliases_repeat(tmp_path):
    path = tmp_path / "lines.yaml"
    path.write_text("a: &x\n  b: 1\nc:\n  - 2\n  - d: 3\ne: *x\n")
    document = read_document(path)
    assert document.data == {"a": {"b": 1}, "c": [2, {"d": 3}], "e": {"b": 1}}
    assert document.origins[("e", "b")] == "line 2" and document.origins[("e",)] == "line 6"
    assert document.origins[("c", "1", "d")] == document.origins[("c", "1")] == "line 5"
    assert document.data["a"] is not document.data["e"]
