"""The network that corrects a closure: its layers, its inputs, and its weights in calibrations and files."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, random_grid
from tunax_lite.calibration import (
    FreeParameter,
    FreeParameters,
    in_short,
    with_parameters,
)
from tunax_lite.closures import KEpsilon, KOmega, NeuralCorrection, PacanowskiPhilander, RiBased
from tunax_lite.closures.base import SurfaceWaves
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.closures.neural import evaluate, layer_sizes
from tunax_lite.config.closures import ClosureSection

GRID = random_grid(3, 9)
INNER = np.arange(8.0)
N_SQUARED, S_SQUARED = 1e-5 * (INNER - 2.0), 2e-5 * (1.0 + INNER)
INPUTS = dataclasses.replace(
    closure_inputs(GRID, N_SQUARED, S_SQUARED, friction_velocity=0.01, buoyancy_flux=-3e-8),
    coriolis_parameter=jnp.asarray(-1e-4),
)
STEP = eqx.filter_jit(lambda closure, state: closure.prepare().step(state, INPUTS, 60.0))
SMALL = NeuralCorrection(physical=PacanowskiPhilander(), width=2, depth=1)


def random_weights(closure: NeuralCorrection, seed: int = 1) -> NeuralCorrection:
    values = np.random.default_rng(seed).normal(0.0, 1.0, closure.weights.shape)
    return dataclasses.replace(closure, weights=jnp.asarray(values))


def turbulence(scale: float = 1.0) -> TurbulenceState:
    faces = scale * (1.0 + 0.1 * jnp.arange(10.0))
    return TurbulenceState(
        eddy_viscosity=1e-2 * faces,
        eddy_diffusivity=8e-3 * faces,
        turbulent_kinetic_energy=1e-4 * faces,
        dissipation_rate=1e-7 * faces,
    )


def dense(weights: np.ndarray, sizes, x: np.ndarray) -> np.ndarray:
    """The network as products of matrices, on one column: `x` is (inputs, faces)."""
    for number, (n_out, n_in) in enumerate(sizes):
        matrix, weights = weights[: n_out * n_in].reshape(n_out, n_in), weights[n_out * n_in :]
        offset, weights = weights[:n_out], weights[n_out:]
        x = matrix @ x + offset[:, None]
        x = x if number == len(sizes) - 1 else np.tanh(x)
    assert weights.size == 0
    return x


def test_network_is_products_of_matrices_for_each_column():
    sizes = layer_sizes(3, 4, 2, 2)
    random = np.random.default_rng(0)
    weights, x = random.normal(size=(16 + 20 + 10, 5)), random.normal(size=(3, 7, 5))
    columns = [dense(weights[:, j], sizes, x[:, :, j]) for j in range(5)]
    found = np.stack(evaluate(jnp.asarray(weights), sizes, list(jnp.asarray(x))))
    np.testing.assert_allclose(found, np.stack(columns, axis=-1), rtol=1e-13, atol=1e-14)
    # The same weights for all columns.
    shared = np.stack(evaluate(jnp.asarray(weights[:, 2]), sizes, list(jnp.asarray(x))))
    np.testing.assert_allclose(shared[..., 2], columns[2], rtol=1e-13, atol=1e-14)


def test_new_network_is_the_physical_closure():
    physical = KEpsilon(sigma_k=1.2)
    ours, theirs = STEP(NeuralCorrection(physical=physical), turbulence()), STEP(physical, turbulence())
    assert eqx.tree_equal(ours, theirs, rtol=1e-12)


def test_correction_is_that_of_the_network_for_the_inputs_as_documented():
    closure = random_weights(NeuralCorrection(largest_correction=1.5, width=3, depth=2))
    assert closure.weights.shape == (6 * 3 + 3 + 9 + 3 + 6 + 2,)
    ours, theirs = STEP(closure, turbulence()), STEP(closure.physical, turbulence())
    nu, kappa, k, eps = (
        np.asarray(getattr(theirs, name))[1:-1]
        for name in ("eddy_viscosity", "eddy_diffusivity", "turbulent_kinetic_energy", "dissipation_rate")
    )
    d, friction = -np.asarray(GRID.z_face)[1:-1], 0.01 + 1e-3
    f_squared = 1e-4**2 + 1e-6**2
    stratification = N_SQUARED * (k / eps) ** 2
    x = np.stack(
        [
            N_SQUARED / np.sqrt(N_SQUARED**2 + S_SQUARED**2 + f_squared**2),
            d * np.sqrt(f_squared) / (d * np.sqrt(f_squared) + friction),
            -3e-8 * d / (np.hypot(3e-8, 1e-10) * d + friction**3),
            nu / (nu + friction * d + 1e-5),
            stratification / (np.abs(stratification) + 3.0),
            k / (k + friction**2),
        ]
    )
    assert np.all(np.abs(x) <= 1.0)
    y = dense(np.asarray(closure.weights), closure.layer_sizes, x)
    factor = np.exp(1.5 * np.tanh(y / 1.5))
    assert np.ptp(factor) > 0.1
    np.testing.assert_allclose(ours.eddy_viscosity[1:-1], nu * factor[0], rtol=1e-12)
    np.testing.assert_allclose(ours.eddy_diffusivity[1:-1], kappa * factor[1], rtol=1e-12)
    np.testing.assert_array_equal(ours.turbulent_kinetic_energy, theirs.turbulent_kinetic_energy)
    assert float(ours.eddy_viscosity[0]) == float(ours.eddy_diffusivity[-1]) == 0.0


@pytest.mark.long
def test_correction_of_entrainment_is_in_stable_water_within_the_ekman_layer():
    closure = random_weights(NeuralCorrection(largest_correction=1.5, width=3))
    d = -np.asarray(GRID.z_face)[1:-1]
    stirring = 0.01**3 + 3e-8 * d
    stable = np.maximum(N_SQUARED, 0.0) ** 2
    # The deepest face is halfway down the Ekman layer, and then at twice its depth.
    for ratio in (0.5, 2.0):
        f = ratio * 0.4 * 0.01 / d.max()
        inputs = dataclasses.replace(INPUTS, coriolis_parameter=jnp.asarray(-f))
        ekman_layer = 0.4 * (stirring + 1e-9) ** (1.0 / 3.0) / f
        weight = (stirring / (stirring + 1e-9)) ** 2 * np.exp(-((d / ekman_layer) ** 8))
        weight = weight * stable / (stable + (S_SQUARED / 4.0) ** 2 + 1e-24)
        of_all, ours = (
            dataclasses.replace(closure, where=where).prepare().step(turbulence(), inputs, 60.0)
            for where in ("everywhere", "entrainment")
        )
        before = closure.physical.prepare().step(turbulence(), inputs, 60.0)
        assert np.all(weight[N_SQUARED <= 0.0] == 0.0)
        assert np.ptp(weight) > 0.1
        for name in ("eddy_viscosity", "eddy_diffusivity"):
            whole, part = (
                np.log(getattr(each, name)[1:-1] / getattr(before, name)[1:-1]) for each in (of_all, ours)
            )
            np.testing.assert_allclose(part, weight * whole, rtol=1e-9, atol=1e-15)


def test_correction_of_entrainment_is_none_without_wind_and_cooling():
    closure = random_weights(NeuralCorrection(where="entrainment"))
    heated = closure_inputs(GRID, N_SQUARED, S_SQUARED, friction_velocity=0.0, buoyancy_flux=3e-8)
    ours, theirs = (c.prepare().step(turbulence(), heated, 60.0) for c in (closure, closure.physical))
    assert eqx.tree_equal(ours, theirs, rtol=1e-14)
    # Under wind, heating confines it to the Obukhov length, here half the depth.
    d = -np.asarray(GRID.z_face)[1:-1]
    flux = 0.01**3 / (0.5 * d.max())
    heated = closure_inputs(GRID, N_SQUARED, S_SQUARED, friction_velocity=0.01, buoyancy_flux=flux)
    ours, theirs = (c.prepare().step(turbulence(), heated, 60.0) for c in (closure, closure.physical))
    changed = np.asarray(ours.eddy_viscosity / theirs.eddy_viscosity)[1:-1] != 1.0
    np.testing.assert_array_equal(changed, (d < 0.5 * d.max()) & (N_SQUARED > 0.0))


def test_recommended_weights_cannot_grow_through_the_memory_of_their_closure():
    """What it keeps of the last coefficients, times the largest factor for any inputs, is less than one."""
    closure = NeuralCorrection.recommended()
    assert isinstance(closure.physical, RiBased)
    one = np.linspace(-1.0, 1.0, 13)
    x = np.stack(np.meshgrid(one, one, one, one)).reshape(4, -1)
    y = np.stack(evaluate(closure.weights, closure.layer_sizes, list(jnp.asarray(x))))
    bound = float(closure.largest_correction)
    factor = np.exp(bound * np.tanh(y / bound)).max()
    assert 1.0 < factor
    kept = float(closure.physical.averaging_coefficient)
    assert factor * kept / (1.0 + kept) < 0.8


@pytest.mark.long
def test_waves_weaken_the_correction_of_entrainment():
    closure = random_weights(NeuralCorrection(where="entrainment"))
    drift = jnp.linspace(0.0, 0.03, GRID.n_cells), jnp.linspace(0.0, 0.04, GRID.n_cells)
    nothing = jnp.zeros_like(jnp.asarray(N_SQUARED))
    waves = SurfaceWaves(drift=drift, at_surface=None, shear=nothing, shear_squared=nothing)
    clo_state = closure.physical.prepare().step(turbulence(), INPUTS, 60.0)
    changed = [
        np.log(closure.corrected(clo_state, inputs).eddy_viscosity[1:-1] / clo_state.eddy_viscosity[1:-1])
        for inputs in (INPUTS, dataclasses.replace(INPUTS, waves=waves))
    ]
    np.testing.assert_allclose(
        changed[1], changed[0] * 0.011**2 / (0.011**2 + 0.05**2), rtol=1e-8, atol=1e-14
    )


# Weights as parameters.


def test_the_name_of_the_weights_frees_all_of_them():
    free = FreeParameters((FreeParameter("physical.alpha"), FreeParameter("weights"))).resolve(SMALL)
    assert free.paths == ("physical.alpha", *(f"weights[{i}]" for i in range(16)))
    x = free.start() + jnp.arange(17.0)
    inserted = free.insert(SMALL, x)
    assert isinstance(inserted, NeuralCorrection)
    np.testing.assert_allclose(inserted.weights, SMALL.weights + np.arange(1.0, 17.0))
    values = dict(zip(free.paths, np.asarray(free.to_physical(x)).tolist(), strict=True))
    assert eqx.tree_equal(with_parameters(SMALL, values), inserted)
    assert in_short({"a": 2.0, "weights[0]": 3.0, "weights[1]": -4.0}) == {
        "a": "2",
        "weights (2 numbers)": "-4 to 3",
    }


# Configurations.


def test_a_configuration_chooses_the_physical_closure_and_lists_the_weights():
    weights = [0.1 * i for i in range(20)]
    closure = ClosureSection(
        name="neural",
        options={
            "physical": {"name": "k_omega", "options": {"stability": "schumann_gerz"}},
            "width": 2,
            "seed": 3,
        },
        parameters={"weights": weights, "physical": {"sigma_k": 1.5}},  # pyright: ignore[reportArgumentType]
    ).build()
    assert isinstance(closure, NeuralCorrection) and isinstance(closure.physical, KOmega)
    np.testing.assert_allclose(closure.weights, weights)
    assert float(closure.physical.sigma_k) == 1.5
