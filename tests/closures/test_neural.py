"""The network that corrects a closure: its layers, its inputs, and its weights in calibrations and files."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, random_grid, surface_waves
from tunax_lite.closures import KPP, TKE, KEpsilon, KOmega, MassFluxConvection, NeuralCorrection
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.closures.neural import network_inputs
from tunax_lite.config.closures import ClosureSection

GRID = random_grid(3, 9)
INNER = np.arange(8.0)
N_SQUARED, S_SQUARED = 1e-5 * (INNER - 2.0), 2e-5 * (1.0 + INNER)
FORCING = {"friction_velocity": 0.01, "buoyancy_flux": -3e-8, "coriolis_parameter": jnp.asarray(-1e-4)}
INPUTS = closure_inputs(GRID, N_SQUARED, S_SQUARED, **FORCING)
STEP = eqx.filter_jit(lambda closure, state: closure.prepare().step(state, INPUTS, 60.0))


def random_weights(closure: NeuralCorrection, seed: int = 1) -> NeuralCorrection:
    values = np.random.default_rng(seed).normal(0.0, 1.0, closure.weights.shape)
    return dataclasses.replace(closure, weights=jnp.asarray(values))


FACES = 1.0 + 0.1 * jnp.arange(10.0)
TURBULENCE = TurbulenceState(1e-2 * FACES, 8e-3 * FACES, 1e-4 * FACES, 1e-7 * FACES)


def dense(weights: np.ndarray, sizes, x: np.ndarray) -> np.ndarray:
    """The network as products of matrices, on one column: `x` is (inputs, faces)."""
    for number, (n_out, n_in) in enumerate(sizes):
        matrix, weights = weights[: n_out * n_in].reshape(n_out, n_in), weights[n_out * n_in :]
        offset, weights = weights[:n_out], weights[n_out:]
        x = matrix @ x + offset[:, None]
        x = x if number == len(sizes) - 1 else np.tanh(x)
    assert weights.size == 0
    return x


def test_new_network_is_the_physical_closure():
    physical = KEpsilon(sigma_k=1.2)
    ours, theirs = STEP(NeuralCorrection(physical=physical), TURBULENCE), STEP(physical, TURBULENCE)
    assert eqx.tree_equal(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("physical", [KEpsilon(), TKE(), KPP()])
def test_network_has_the_inputs_and_kappa_of_the_physical_closure(physical):
    closure = NeuralCorrection(physical=physical)
    state = physical.prepare().init(INPUTS)
    assert len(network_inputs(state, INPUTS)) == closure.layer_sizes[0][1]
    assert closure.von_karman == physical.von_karman == MassFluxConvection(local=physical).von_karman


def test_correction_is_that_of_the_network_for_the_inputs_as_documented():
    closure = random_weights(NeuralCorrection(largest_correction=1.5, width=3, depth=2))
    assert closure.weights.shape == (6 * 3 + 3 + 9 + 3 + 6 + 2,)
    ours, theirs = STEP(closure, TURBULENCE), STEP(closure.physical, TURBULENCE)
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
            dataclasses.replace(closure, where=where).prepare().step(TURBULENCE, inputs, 60.0)
            for where in ("everywhere", "entrainment")
        )
        before = closure.physical.prepare().step(TURBULENCE, inputs, 60.0)
        assert np.all(weight[N_SQUARED <= 0.0] == 0.0)
        assert np.ptp(weight) > 0.1
        for name in ("eddy_viscosity", "eddy_diffusivity"):
            whole, part = (
                np.log(getattr(each, name)[1:-1] / getattr(before, name)[1:-1]) for each in (of_all, ours)
            )
            np.testing.assert_allclose(part, weight * whole, rtol=1e-9, atol=1e-15)


def test_correction_of_entrainment_follows_wind_cooling_and_waves():
    closure = random_weights(NeuralCorrection(where="entrainment"))
    clo_state, d = STEP(closure.physical, TURBULENCE), -np.asarray(GRID.z_face)[1:-1]

    def correction(inputs):
        changed = closure.corrected(clo_state, inputs)
        return np.log(changed.eddy_viscosity[1:-1] / clo_state.eddy_viscosity[1:-1])

    def heated(speed, flux):
        return closure_inputs(GRID, N_SQUARED, S_SQUARED, friction_velocity=speed, buoyancy_flux=flux)

    # None without wind and cooling. Under wind, heating confines it to the Obukhov length, half the depth.
    np.testing.assert_allclose(correction(heated(0.0, 3e-8)), 0.0, atol=1e-14)
    confined = correction(heated(0.01, 0.01**3 / (0.5 * d.max())))
    np.testing.assert_array_equal(confined != 0.0, (d < 0.5 * d.max()) & (N_SQUARED > 0.0))
    drift = jnp.linspace(0.0, 0.03, GRID.n_cells), jnp.linspace(0.0, 0.04, GRID.n_cells)
    in_waves = correction(dataclasses.replace(INPUTS, waves=surface_waves(GRID, drift=drift)))
    weaker = correction(INPUTS) * 0.011**2 / (0.011**2 + 0.05**2)
    np.testing.assert_allclose(in_waves, weaker, rtol=1e-8, atol=1e-14)


def test_a_configuration_chooses_the_physical_closure_and_lists_the_weights():
    weights = [0.1 * i for i in range(20)]
    physical = {"name": "k_omega", "options": {"stability": "schumann_gerz"}}
    closure = ClosureSection(
        name="neural",
        options={"physical": physical, "width": 2, "seed": 3},
        parameters={"weights": weights, "physical": {"sigma_k": 1.5}},  # pyright: ignore[reportArgumentType]
    ).build()
    assert isinstance(closure, NeuralCorrection) and isinstance(closure.physical, KOmega)
    np.testing.assert_allclose(closure.weights, weights)
    assert float(closure.physical.sigma_k) == 1.5
