"""The energetics-based boundary layer: its energy, the laws that follow from it, and an iterated solver."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, exchange_matrix, random_grid, surface_waves
from tunax_lite import Grid
from tunax_lite.closures import (
    EPBL,
    EnergyVelocity,
    LargeShear,
    OM4WindEnergy,
    ReichlHallbergWindEnergy,
)
from tunax_lite.closures.epbl import AbstractWindEnergy, SurfaceForcing
from tunax_lite.closures.langmuir import LangmuirWork

GRID = Grid.uniform(80.0, 80)
ONLY_ENERGY: dict[str, Any] = {"background_coefficient": 0.0, "convective_coefficient": 0.0}
OTHERS: dict[str, Any] = {"exponent": 1, "transition": 0.05, "convective_efficiency": 0.2}
step = eqx.filter_jit(lambda closure, inputs, dt: closure.step(closure.init(inputs), inputs, dt))


class ConstantEfficiency(AbstractWindEnergy):
    """m* that does not depend on the depth of the layer."""

    scale: float

    def efficiency(self, depth, forcing):
        return self.scale + 0.0 * depth * forcing.friction_velocity


def work_of_mixing(coefficient, buoyancy, grid, dt):
    """Potential energy that a backward Euler step gains if only a face and those above it mix [m3 s-2].

    By a dense solve for each face; index 0 is the bottom.
    """
    h, z = np.asarray(grid.cell_thickness), np.asarray(grid.z_center)
    conductance = dt * np.asarray(coefficient) / np.asarray(grid.center_spacing)

    def gained(conductance):
        matrix = np.diag(h) - exchange_matrix(conductance, len(h))
        return -np.sum(h * z * (np.linalg.solve(matrix, h * buoyancy) - buoyancy))

    faces = np.arange(len(conductance))
    return [gained(np.where(faces >= i, conductance, 0.0)) for i in faces]


def stirred(seed, buoyancy_flux, n_cells=24):
    """A random column over 40 m, unstable at the top under cooling, with what it has after the forcing."""
    grid = random_grid(seed, n_cells)
    n_squared = np.random.default_rng(seed).uniform(0.2, 2.0, n_cells - 1) * 1e-5
    n_squared[-6:] = 1e-7 * np.sign(buoyancy_flux)
    options = {"friction_velocity": 0.008, "coriolis_parameter": jnp.asarray(1e-4)}
    inputs = closure_inputs(grid, n_squared, 0.0, buoyancy_flux=buoyancy_flux, **options)
    steps = n_squared * np.asarray(grid.center_spacing)
    buoyancy = np.concatenate([[0.0], np.cumsum(steps)])

    def forced(dt):
        return buoyancy + np.append(np.zeros(n_cells - 1), dt * buoyancy_flux / grid.cell_thickness[-1])

    return inputs, forced


@pytest.mark.parametrize(
    ("numbers", "buoyancy_flux"),
    [
        pytest.param(OTHERS, 3e-8, marks=pytest.mark.long),
        pytest.param({"energy_velocity": EnergyVelocity()}, -1e-7, marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_energy_spent_is_energy_given(numbers, buoyancy_flux):
    closure = EPBL(wind_energy=ConstantEfficiency(0.2), **(ONLY_ENERGY | numbers))
    for seed, dt in ((0, 60.0), (1, 600.0), (2, 7200.0)):
        inputs, forced = stirred(seed, buoyancy_flux)
        state = step(closure, inputs, dt)
        coefficient = np.asarray(state.eddy_diffusivity)[1:-1]
        each = -np.diff(np.append(work_of_mixing(coefficient, forced(dt), inputs.grid, dt), 0.0))
        released, taken = -each[each < 0.0].sum(), each[each > 0.0].sum()
        # The uppermost cell takes the forcing as if it entered at the center.
        top = 0.5 * float(inputs.grid.cell_thickness[-1]) * dt * buoyancy_flux
        given = 0.2 * 0.008**3 * dt - max(top, 0.0)
        given += float(closure.convective_efficiency) * (released + max(-top, 0.0))
        assert 5.0 < float(state.boundary_layer_depth) < 39.0
        assert (released > 0.0) == (buoyancy_flux < 0.0)
        np.testing.assert_allclose(taken, given, rtol=1e-9)
        np.testing.assert_array_equal(state.eddy_viscosity, state.eddy_diffusivity)


MOM6_CELLS = [6.0, 6.0, 5.0, 5.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0]
# Of `ePBL_column` of MOM6, src/parameterizations/vertical/MOM_energetic_PBL.F90, commit b18bca244c8f. One
# step on cells of `MOM6_CELLS`, with N² = 1e-7 s-2 above and 2e-5 s-2 from 14 m on; EPBL_MLD_TOLERANCE
# 1e-9, TKE_DECAY 0; the numbers of OM4 (NOAA-GFDL/MOM6-examples 642364e5, ice_ocean_SIS2/OM4_025) without
# ML_OMEGA_FRAC, or EPBL_MSTAR_SCHEME and EPBL_VEL_SCALE_SCHEME "REICHL_H18", EKMAN_SCALE_COEF 0, NSTAR 0.066.
# A case has two lines: form, B [m2 s-3], f [s-1], u* [m s-1], step [s], depth [m]; ten uppermost K [m2 s-1].
MOM6 = """
om4 0 0.0001 0.013 60 18.805
  0 0.000178996 0.0106954 0.0148082 0.0158492 0.014868 0.0125075 0.00869439 0.00621166 0.00332069
om4 0 0.0001 0.013 3600 20.8396
  0 0.0029081 0.0142342 0.0168956 0.0168888 0.0154041 0.012694 0.00868784 0.00616668 0.00327764
om4 -1e-07 0 0.008 60 17.637
  0 0 0.00644696 0.0122998 0.0140268 0.0134135 0.011371 0.00788763 0.00563083 0.00305464
om4 -1e-07 0 0.008 3600 19.8574
  0 0.00125471 0.0148937 0.019026 0.0191045 0.0169372 0.0135455 0.00886862 0.00595417 0.00305104
om4 2e-08 0.0001 0.01 60 17.7616
  0 0 0.00647913 0.0112659 0.0126691 0.0121168 0.0103428 0.00727712 0.00523015 0.00281672
om4 2e-08 0.0001 0.01 3600 19.2466
  0 0.000453292 0.00905492 0.0121101 0.0129176 0.012184 0.0103495 0.00728993 0.00524853 0.00282939
rh18 0 0.0001 0.015 60 22.5393
  0.000109436 0.00365191 0.00743158 0.0122898 0.0169469 0.0187975 0.0185203 0.0149008 0.0113973 0.00650184
rh18 0 0.0001 0.015 3600 23.657
  0.000394938 0.00481135 0.00893318 0.0138998 0.0183319 0.0198671 0.0191999 0.0151993 0.0115429 0.00654162
rh18 2e-08 0.0001 0.015 60 23.9725
  0.000695205 0.0051584 0.00936715 0.0143517 0.0187125 0.0201579 0.0193831 0.0152792 0.0115817 0.0065522
rh18 2e-08 0.0001 0.015 3600 24.5777
  0.000980471 0.00584691 0.0102097 0.0152142 0.0194302 0.0207029 0.0197246 0.0154275 0.0116537 0.00657178
"""


@pytest.mark.parametrize("form", ["om4", "rh18"])
def test_as_in_mom6(form):
    """The depth to a millimetre, and K to 3e-5 of the largest, at steps of a minute to an hour."""
    closure = EPBL(**ONLY_ENERGY) if form == "rh18" else EPBL.as_in_om4(least_rotation=0.0, **ONLY_ENERGY)
    faces = np.concatenate([[0.0], np.cumsum(MOM6_CELLS)])
    grid = Grid(faces - faces[-1])
    n_squared = np.where(np.asarray(grid.z_face[1:-1]) > -14.0, 1e-7, 2e-5)
    lines = MOM6.strip().splitlines()
    for head, coefficients in zip(lines[::2], lines[1::2], strict=True):
        if not head.startswith(form):
            continue
        flux, coriolis, friction_velocity, dt, depth = (float(number) for number in head.split()[1:])
        options = {"friction_velocity": friction_velocity, "coriolis_parameter": jnp.asarray(coriolis)}
        state = step(closure, closure_inputs(grid, n_squared, 0.0, buoyancy_flux=flux, **options), dt)
        np.testing.assert_allclose(state.boundary_layer_depth, depth, rtol=0.0, atol=1e-3)
        theirs = np.array([float(k) for k in coefficients.split()])
        ours = np.asarray(state.eddy_diffusivity)[1:-1]
        np.testing.assert_allclose(ours[-len(theirs) :], theirs, rtol=0.0, atol=3e-5 * max(theirs))
        np.testing.assert_allclose(ours[: -len(theirs)], 0.0, rtol=0.0, atol=3e-5 * max(theirs))


def test_efficiency_of_the_wind():
    friction, rotation, depth = 0.01, 1e-4, jnp.asarray([1e-3, 20.0, 100.0])

    def efficiency(formula, flux, friction=friction, rotation=rotation):
        forcing = SurfaceForcing(jnp.asarray(friction), jnp.asarray(flux), jnp.asarray(rotation))
        return np.asarray(formula.efficiency(depth, forcing))

    published = ReichlHallbergWindEnergy()
    still = 0.275 * (1.0 - 1.0 / (1.0 + 8.0 * np.exp(-5.0 * np.array([0.0, 0.2, 1.0]))))
    np.testing.assert_allclose(efficiency(published, 0.0), still, atol=1e-4)
    np.testing.assert_allclose(still, [0.24444, 0.20526, 0.01407], atol=1e-5)
    heated = efficiency(published, 1e-8) - efficiency(published, 0.0)
    np.testing.assert_allclose(heated[1:], 0.2 * (1e-16 * np.array([20.0, 100.0]) / 1e-14) ** 0.4, rtol=1e-6)
    np.testing.assert_allclose(efficiency(published, 1e-6, rotation=0.0), 1.25)
    om4 = OM4WindEnergy()
    np.testing.assert_allclose(efficiency(om4, 0.0), [1.25, 0.152 * np.log(5.0), 0.0], atol=1e-12)
    np.testing.assert_allclose(efficiency(om4, 1e-8)[2], 0.29, rtol=1e-12)
    cooled = 0.152 * np.log(5.0)
    rest = (0.333 * 2e-6 + 2.0 * cooled * 1e-6) / (2e-6 + 2.0 * cooled * 1e-6)
    np.testing.assert_allclose(efficiency(om4, -1e-7)[1], cooled * rest, rtol=1e-10)
    for formula in (published, om4):
        assert np.all(np.isfinite(efficiency(formula, 1e-8, friction=0.0)))


def test_nothing_mixes_at_rest_and_unstable_water_below_does():
    inputs = closure_inputs(GRID, 1e-5, 0.0)
    state = step(EPBL(), inputs, 600.0)
    np.testing.assert_allclose(state.eddy_diffusivity[1:-1], 1e-5, rtol=1e-12)
    np.testing.assert_allclose(state.boundary_layer_depth, 1.0)
    n_squared = np.full(79, 1e-5)
    n_squared[10:12] = -1e-6
    heated = closure_inputs(GRID, n_squared, 0.0, buoyancy_flux=1e-7)
    state = step(EPBL(), heated, 600.0)
    np.testing.assert_allclose(state.eddy_diffusivity[11:13], 0.1, rtol=1e-3)


def test_the_larger_coefficient_of_layer_and_shear_acts():
    inputs, _ = stirred(4, -1e-7)
    inputs = dataclasses.replace(inputs, shear_squared=2.0 * jnp.abs(inputs.buoyancy_frequency_squared))
    alone, both = (step(EPBL(interior_shear=each), inputs, 600.0) for each in (None, LargeShear()))
    # Ri = 1/2 in stable water, of 0.7; -1/2 above.
    by_shear = np.where(inputs.buoyancy_frequency_squared > 0.0, 5e-3 * (1.0 - (0.5 / 0.7) ** 2) ** 3, 5e-3)
    layer = np.asarray(alone.eddy_diffusivity)[1:-1] - 1e-5
    assert np.any(layer > by_shear) and np.any(layer < by_shear)
    for found in (both.eddy_diffusivity, both.eddy_viscosity):
        np.testing.assert_allclose(found[1:-1], 1e-5 + np.maximum(layer, by_shear), rtol=1e-7)  # floor of S²
    np.testing.assert_array_equal(both.boundary_layer_depth, alone.boundary_layer_depth)


@pytest.mark.parametrize("surface_drift", [0.05, 10.0])
@pytest.mark.long
def test_waves_multiply_the_work_of_the_wind(surface_drift):
    """As a larger m* does; by 1 + 0.447 La^-1.33, but at most 5."""
    inputs, _ = stirred(5, 0.0)
    # La² is u* over the mean drift of the upper fifth of the layer, where it is zero at the base.
    drift = jnp.where(jnp.arange(24) == 23, surface_drift, 0.0), jnp.zeros(24)
    at_surface = drift[0][-1], drift[1][-1]
    waves = dataclasses.replace(surface_waves(inputs.grid, drift=drift), at_surface=at_surface)
    in_waves = dataclasses.replace(inputs, waves=waves)
    closure = EPBL(langmuir=LangmuirWork(), wind_energy=ConstantEfficiency(0.2))
    state = dataclasses.replace(closure.init(inputs), boundary_layer_depth=jnp.asarray(30.0))
    fraction = min(float(inputs.grid.cell_thickness[-1]) / 6.0, 1.0)
    factor = min(1.0 + 0.447 * (surface_drift * fraction / 0.008) ** (0.5 * 1.33), 5.0)
    assert (factor == 5.0) == (surface_drift > 1.0)
    stronger = ConstantEfficiency(0.2 * factor)
    more = dataclasses.replace(closure, wind_energy=stronger, langmuir=None)
    calm = dataclasses.replace(closure, langmuir=None)
    found, expected, without = (
        each.step(state, forced, 600.0).boundary_layer_depth
        for each, forced in ((closure, in_waves), (more, inputs), (calm, in_waves))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found > without + 0.1
    np.testing.assert_array_equal(closure.step(state, inputs, 600.0).boundary_layer_depth, without)
