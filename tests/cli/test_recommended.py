"""Recommended constants beyond the stress and heat flux under which they were judged."""

import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import tunax_lite as tl
from tunax_lite.cli.session import notes_on_recommended
from tunax_lite.closures import KEpsilon, recommended_sets
from tunax_lite.config import Run

HOURS = jnp.array([0.0, 12.0, 24.0])


def run_of(closure, stress_u=0.05, stress_v=0.0, heat_flux=-100.0, n_cells: Any = 16, dt=300.0) -> Run:
    """A day with fluxes that have these values at noon, over 64 m of water."""
    noon = jnp.array([0.0, 1.0, 0.0])
    grid = tl.Grid.uniform(64.0, n_cells)
    forcing = tl.TimeSeriesForcing.from_values(
        3600.0 * HOURS, stress_u=stress_u * noon, stress_v=stress_v * noon, heat_flux=heat_flux * noon
    )
    water = tl.State.from_profiles(grid, temperature=20.0, salinity=35.0)
    case = tl.Case(grid, water, forcing, coriolis_parameter=1e-4, duration=86400.0)
    settings = {"observations": None, "dt": dt, "output_interval": 3600.0, "duration": None}
    return Run(model=tl.Model(closure), case=case, source=Path("run.yaml"), **settings)


def test_fluxes_cells_and_steps_beyond_their_range_are_noted():
    valid = recommended_sets()["k_epsilon"].valid
    resolution = [("cells", valid.cell_thickness, 16.0), ("steps", valid.dt, 900.0)]
    strong, heat = ("wind stress", valid.stress, 2.5), ("heat flux into the water", valid.heat_flux)
    for fluxes, expected in (
        ({}, []),
        ({"stress_u": 1.5, "stress_v": -2.0}, [strong]),  # 1.5 and 2 N m-2 are 2.5 together
        ({"heat_flux": -2500.0}, [(*heat, -2500.0)]),
        ({"stress_u": 2.5, "heat_flux": 900.0}, [strong, (*heat, 900.0)]),
        ({"n_cells": 4, "dt": 900.0}, resolution),
    ):
        notes = list(notes_on_recommended(run_of(KEpsilon.recommended(), **fluxes)))
        for note, (what, (low, high), extreme) in zip(notes, expected, strict=True):
            assert f"expected {what} of {low:g} to {high:g} " in note, note
            got = [float(number) for number in re.findall(r" (-?\d[\d.e+-]*)", note.partition(", got")[2])]
            assert any(number == pytest.approx(extreme, rel=1e-2) for number in got)  # at one of 500 times
        assert not list(notes_on_recommended(run_of(KEpsilon(), **fluxes)))
