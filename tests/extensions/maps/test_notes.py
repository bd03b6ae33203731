"""Notes on the model of a map."""

import dataclasses
from pathlib import Path

import tunax_lite as tl
from tests.extensions.maps.synthetic import SyntheticMap
from tests.extensions.maps.test_run import RUN
from tunax_lite import KEpsilon
from tunax_lite.closures import recommended_sets
from tunax_lite.extensions.maps.command import recommended_constants

MAP = str(Path(__file__).parents[3] / "configs/maps/synthetic.yaml")
VALID = recommended_sets()["k_epsilon"].valid


def test_a_map_says_the_range():
    recommended = dataclasses.replace(RUN, model=tl.Model(KEpsilon.recommended()), columns=SyntheticMap())
    notes = recommended_constants(recommended)
    assert any(f"up to {VALID.stress[1]:.3g} N m-2" in note for note in notes)
    # Cells of 1 / 12 of 42 m or more; the step of half an hour is longer than 600 s.
    assert any("steps of at most 600 s" in note and "got 1800 s" in note for note in notes)
    assert recommended_constants(dataclasses.replace(RUN, columns=SyntheticMap())) == []
