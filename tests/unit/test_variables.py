"""The table of variables."""

from tunax_lite.variables import VARIABLES


def test_names_are_unique_and_long_names_have_no_symbols():
    for name, variable in VARIABLES.items():
        assert name == variable.name
        assert name.isidentifier()
        assert variable.long_name.isascii()
        assert variable.unit


def test_standard_names_are_unique():
    standard_names = [v.standard_name for v in VARIABLES.values() if v.standard_name is not None]
    assert len(standard_names) == len(set(standard_names))
    assert all(name == name.lower().replace(" ", "_") for name in standard_names)
