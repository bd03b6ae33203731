"""NORi: its published coefficients, and the fluxes of its networks against loops over faces."""

import dataclasses
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cli.test_recommended import run_of
from tests.closures.columns import closure_inputs, column_of
from tests.errors import error_naming, missing_from
from tests.extensions.learned.nori_numpy import CRITICAL, fluxes, random_networks, write_jld2
from tunax_lite import Grid
from tunax_lite.cli.session import on_grid
from tunax_lite.closures import EPBL
from tunax_lite.extensions.learned import NORi, read_networks
from tunax_lite.extensions.learned.nori import PUBLISHED
from tunax_lite.io import FileFormatError, resolve


@pytest.fixture(scope="module")
def content():
    return random_networks(0)


@pytest.fixture(scope="module")
def networks(content, tmp_path_factory):
    return str(write_jld2(tmp_path_factory.mktemp("nori") / "networks.jld2", content))


# Cells, and the turbulent faces from and to a depth [faces below the surface].
LAYERS = (
    (40, []),
    (40, [(1, 1)]),
    (40, [(1, 4)]),
    (40, [(4, 20)]),  # lower part of the surface waters
    (40, [(1, 10), (14, 17)]),  # interrupted
    (60, [(1, 20), (24, 40)]),  # interrupted further down
    (60, [(1, 10), (20, 40)]),  # interrupted too often further down
    (60, [(1, 12), (50, 55)]),  # detached
    (40, [(1, 39)]),  # to the bottom
    (5, [(1, 2)]),
)


def random_column(seed: int, n_cells: int, turbulent: list[tuple[int, int]]):
    random = np.random.default_rng(seed)
    ri = CRITICAL + random.uniform(0.01, 2.0, n_cells - 1)
    for first, last in turbulent:
        ri[n_cells - 1 - last : n_cells - first] = random.uniform(-1.0, CRITICAL, last - first + 1)
    return ri, random.normal(0.003, 0.02, n_cells - 1), random.normal(0.0, 0.003, n_cells - 1)


def inputs_of(ri, dt_dz, ds_dz, cooling: float):
    """Inputs of the closure with these profiles in cells of 8 m."""
    n_cells = len(ri) + 1
    grid = Grid.uniform(8.0 * n_cells, n_cells)
    shear_squared = np.full(n_cells - 1, 1e-5)
    inputs = closure_inputs(grid, ri * (shear_squared + 1e-11), shear_squared, buoyancy_flux=-cooling)
    profiles = [np.concatenate([[10.0], 10.0 + np.cumsum(8.0 * each)]) for each in (dt_dz, ds_dz)]
    temperature, salinity = map(jnp.asarray, profiles)
    state = dataclasses.replace(inputs.state, temperature=temperature, salinity=salinity)
    eos = inputs.equation_of_state
    density = -np.asarray(inputs.buoyancy_frequency_squared) * float(eos.reference_density / eos.gravity)
    return dataclasses.replace(inputs, state=state), density


def test_published_coefficients():
    """At the ends of each regime and within it; kappa by the Prandtl numbers 1.0842 and 0.17494."""
    ri = np.array([0.0, 0.5 * CRITICAL, CRITICAL, 7.0, -0.009695724988589002, -5.0])
    found = NORi().prepare().init(inputs_of(ri, 0.0 * ri, 0.0 * ri, 0.0)[0])
    viscosity = [0.0615914, 0.0308007, 1e-5, 1e-5, 0.0615914 + 0.699648 * 0.761594, 0.7612394]
    diffusivity = [0.0568081, 0.0284087, 9.22337e-6, 9.22337e-6, 0.0568081 + 4.294539 * 0.761594, 4.351347]
    np.testing.assert_allclose(found.eddy_viscosity[1:-1], viscosity, rtol=2e-6)
    np.testing.assert_allclose(found.eddy_diffusivity[1:-1], diffusivity, rtol=2e-6)
    # N² over S² + 1e-11 s-2, and 0 where N² is.
    inputs = closure_inputs(Grid.uniform(32.0, 4), np.array([0.0, 2e-6, -1e-6]), np.array([0.0, 1e-5, 0.0]))
    np.testing.assert_allclose(NORi().richardson_number(inputs), [0.0, 2e-6 / 1.000001e-5, -1e5], rtol=1e-9)


@pytest.mark.long  # on jax 0.10.2 one face at the edge of a switch differs
def test_fluxes_face_by_face(content, networks):
    stepper = jax.jit(lambda inputs: NORi(networks=networks).prepare().init(inputs))
    for seed, (n_cells, turbulent) in enumerate(LAYERS):
        for cooling in (3e-7, -1e-8):
            ri, dt_dz, ds_dz = random_column(seed, n_cells, turbulent)
            inputs, drho_dz = inputs_of(ri, dt_dz, ds_dz, cooling)
            found = stepper(inputs).entrainment
            theirs = fluxes(content, ri, dt_dz, ds_dz, drho_dz, cooling, CRITICAL)
            assert np.any(theirs != 0.0) == (cooling > 0.0 and len(turbulent) > 0)
            acting = found.on_scalars(column_of(inputs.state, inputs.grid))
            for name, expected, unit in zip(("temperature", "salinity"), theirs, (1e-4, 2e-5), strict=True):
                np.testing.assert_allclose(-acting[name].downward, expected, rtol=1e-9, atol=1e-11 * unit)
                flux = getattr(found, name)
                assert flux[0] == 0.0 and flux[-1] == 0.0


@pytest.fixture(scope="module")
def published():
    if not os.environ.get("TUNAX_LITE_DATA"):
        pytest.skip("$TUNAX_LITE_DATA is not set: needs nori/NNclosure_weights.jld2 below it")
    try:
        return str(resolve(PUBLISHED))
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.long
def test_the_published_networks(published):
    """Sizes as in the paper, and fluxes of one column to the digits that loops over faces gave."""
    found = read_networks(published)
    for network in (found.temperature, found.salinity):
        assert [each.weight.shape for each in network] == [(128, 21), (128, 128), (128, 128), (1, 128)]
    ri = np.where(np.arange(31) < 18, 30.0, 0.1)
    dt_dz, ds_dz = np.where(ri > 1.0, 0.012, 1e-4), np.where(ri > 1.0, 7e-4, 0.0)
    inputs, _ = inputs_of(ri, dt_dz, ds_dz, 4e-7)
    fluxes_found = NORi.published().prepare().init(inputs).entrainment
    assert fluxes_found is not None
    # Constant further up and down, where Ri and gradients are uniform; 0 beyond the window.
    heat = [0.0, *[2.063623e-6] * 3, 2.011852e-6, 4.743022e-7, 1.054545e-6, 3.965006e-7]
    salt = [0.0, *[2.917337e-7] * 3, 3.159629e-7, 1.355087e-6, -7.438680e-8, 5.779096e-8]
    heat, salt = heat + [-7.235601e-6] * 8 + [0.0], salt + [-4.503476e-6] * 8 + [0.0]
    np.testing.assert_allclose(fluxes_found.temperature[13:30], heat, rtol=1e-6)
    np.testing.assert_allclose(fluxes_found.salinity[13:30], salt, rtol=1e-6)


def test_other_cells_are_noted(networks):
    closure = NORi(networks=networks)
    assert closure.on_grid(Grid.uniform(80.0, 10)) == closure.on_grid(Grid.uniform(83.0, 10)) == ()
    (note,) = closure.on_grid(Grid(np.array([-30.0, -10.0, -2.0, 0.0])))
    assert not missing_from(note, "8 m 2 20")
    (note,) = on_grid(run_of(closure))
    assert not missing_from(note, "got 4 m")
    assert on_grid(run_of(NORi())) == on_grid(run_of(EPBL())) == ()


def test_other_files_are_refused(content, tmp_path):
    wide = {"weight": np.zeros((3, 7)), "bias": np.zeros((3, 1))}
    for change, parts in (
        ({"model_config": {"input_size": 21, "activation": "gelu"}}, "rectified gelu nori:networks"),
        ({"model_config": {"input_size": 13, "activation": "relu"}}, "21 inputs 13"),
        ({"ps": {"wT": {}}}, "ps/wT one output"),
        ({"ps": {"wT": {"layer_1": wide}}}, "21 inputs (3, 7)"),
        ({"scaling": {"∂T∂z": {"μ": 0.0, "σ": 0.0}}}, "scaling/∂T∂z deviation 0.0"),
        ({"scaling": 1.0}, "∂T∂z none"),
    ):
        path = write_jld2(tmp_path / "other.jld2", content | change)
        with error_naming(FileFormatError, f"other.jld2 {parts}"):
            read_networks(path)
    (tmp_path / "text.jld2").write_text("weights")
    with error_naming(FileFormatError, "text.jld2 JLD2"):
        read_networks(tmp_path / "text.jld2")
