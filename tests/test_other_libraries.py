"""The page on other libraries works as it is printed, as far as they are installed."""

import math
import re
from pathlib import Path

import jax
import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "other_libraries.md").read_text(encoding="utf-8")
COMMON, *REST = re.split(r"^## ", PAGE, flags=re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
EXAMPLES = {part.splitlines()[0]: part for part in REST}


@pytest.fixture(scope="module")
def common():
    names = {}
    exec(compile(BLOCK.findall(COMMON)[0], "other_libraries.md", "exec"), names)  # noqa: S102
    return names


@pytest.fixture
def example(common):
    """Names after the example of a library, which is skipped where that is not installed."""

    def run(library: str) -> dict:
        pytest.importorskip(library)
        (code,) = BLOCK.findall(EXAMPLES[library])
        names = dict(common)
        with jax.numpy_dtype_promotion("standard"):  # as users have it, and other libraries need
            exec(compile(code, library, "exec"), names)  # noqa: S102
        return names

    return run


@pytest.mark.long  # calibrations use the first of them
@pytest.mark.parametrize(("library", "tolerance"), [("optax", 0.01), ("optimistix", 1e-4)])
def test_optimisers_find_the_constant(example, library, tolerance):
    assert float(example(library)["found"]) == pytest.approx(math.log(8.0), abs=tolerance)


@pytest.mark.long
@pytest.mark.parametrize("library", ["blackjax", "numpyro"])
def test_samplers_draw_around_the_constant(example, library):
    draws = example(library)["draws"]
    assert np.isfinite(draws).all() and np.std(draws) > 0.0
    assert abs(float(np.mean(draws)) - math.log(8.0)) < 0.1


@pytest.mark.long  # derivatives by themselves: the contract
def test_diffrax_passes_the_derivative_on(example):
    names = example("diffrax")
    higher, lower = (float(jax.jit(names["air"])(5.0 + step)) for step in (1e-3, -1e-3))
    # The adaptive steps of the solver differ between the runs.
    assert float(names["slope_of_air"]) == pytest.approx((higher - lower) / 2e-3, rel=1e-3)


def test_cf_xarray_understands_the_dataset(example):
    names = example("cf_xarray")
    dataset, temperature = names["dataset"], names["temperature"]
    assert temperature.name == "temperature" and names["heights"].name == "z_center"
    assert set(dataset.cf.axes["Z"]) == {"z_center", "z_face"} and dataset.cf.axes["T"] == ["time"]
    assert dataset.cf.get_bounds("z_center").name == "z_center_bounds"
    assert dataset.cf.standard_names["ocean_vertical_tracer_diffusivity"] == ["eddy_diffusivity"]


def test_xgcm_moves_between_faces_and_centers(example):
    names = example("xgcm")
    on_faces = names["dataset"]["eddy_diffusivity"]
    assert names["diffusivity"].dims == ("time", "z_center")
    expected = 0.5 * (on_faces.values[:, 1:] + on_faces.values[:, :-1])
    np.testing.assert_allclose(names["diffusivity"].values, expected, rtol=1e-12)
