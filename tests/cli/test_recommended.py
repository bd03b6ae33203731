"""Recommended constants beyond the stress and heat flux under which they were judged."""

import re
from pathlib import Path

import jax.numpy as jnp
import pytest

import tunax_lite as tl
from tunax_lite.cli.session import on_recommended
from tunax_lite.closures import KEpsilon, recommended_sets
from tunax_lite.config import Run

HOURS = jnp.array([0.0, 12.0, 24.0])
VALID = recommended_sets()["k_epsilon"].valid


def run_of(closure, stress_u=0.05, stress_v=0.0, heat_flux=-100.0) -> Run:
    """A day with fluxes that have these values at noon, over cells of 4 m."""
    noon = jnp.array([0.0, 1.0, 0.0])
    grid = tl.Grid.uniform(64.0, 16)
    forcing = tl.TimeSeriesForcing.from_values(
        3600.0 * HOURS, stress_u=stress_u * noon, stress_v=stress_v * noon, heat_flux=heat_flux * noon
    )
    water = tl.State.from_profiles(grid, temperature=20.0, salinity=35.0)
    case = tl.Case(grid, water, forcing, coriolis_parameter=1e-4, duration=86400.0)
    settings = {"observations": None, "dt": 300.0, "output_interval": 3600.0, "duration": None}
    return Run(model=tl.Model(closure), case=case, start=None, source=Path("run.yaml"), **settings)


def test_the_range_is_that_of_the_simulations():
    """The constants of k-epsilon were judged with those of the LESbrary and Legay et al., see the file."""
    assert VALID.stress[1] > 0.1 and VALID.heat_flux[0] < -100.0


@pytest.mark.parametrize(
    ("fluxes", "expected"),
    [
        ({}, []),
        # Of both components together: 1.5 and 2 N m-2 are 2.5.
        ({"stress_u": 1.5, "stress_v": -2.0}, [("wind stress of at most", "N m-2", "2.5")]),
        ({"heat_flux": -2500.0}, [("heat flux into the water of at least", "W m-2", "-2500")]),
        (
            {"stress_u": 2.5, "heat_flux": 900.0},
            [
                ("wind stress of at most", "N m-2", "2.5"),
                ("heat flux into the water of at most", "W m-2", "900"),
            ],
        ),
    ],
)
def test_stress_and_heat_beyond_their_range_are_noted(fluxes, expected):
    notes = on_recommended(run_of(KEpsilon.recommended(), **fluxes))
    assert len(notes) == len(expected)
    for note, (what, unit, got) in zip(notes, expected, strict=True):
        found = re.search(rf"expected {what} (\S+) {unit}, .*, got (\S+) {unit};", note)
        assert found is not None, note
        assert float(found[2]) == pytest.approx(float(got), rel=1e-2)  # at one of 500 times
        assert float(found[1]) in (*(round(x, 6) for x in (*VALID.stress, *VALID.heat_flux)),)
    assert on_recommended(run_of(KEpsilon(), **fluxes)) == []
