"""The stable boundary layer of the atmosphere, GABLS1, upside down: `python -m benchmarks.gabls`.

A geostrophic wind blows over ground that cools. With z and buoyancy mirrored, and 263.5 K minus the potential
temperature as temperature, this is water below a rough lid at rest. Closures keep their constants; those with
a surface roughness have that of the ground, and no waves. What is out of the range of the simulations is in
brackets.

Source: Beare et al. (2006), Boundary-Layer Meteorol. 118, 247-272: the case, the exchange with the ground,
and the heights of the layer in table IV. The other ranges are of the means from 8 to 9 h of the ten
simulations in cells of 6.25 m in the archive of that study, https://gabls.metoffice.gov.uk; u* is that of the
mean stress.
"""

import argparse
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite import constants
from tunax_lite.closures import TKE
from tunax_lite.closures.tke import SurfaceValue
from tunax_lite.column.forcing import AbstractForcing, WaterSurface
from tunax_lite.column.terms import Interior, SurfaceSlope
from tunax_lite.column.terms.pressure import Vector
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.physics import LinearEquationOfState

from .entrainment import closure_of

CLOSURES = (
    "k_epsilon k_epsilon_recommended k_epsilon_oceananigans generic_length_scale "
    "generic_length_scale_recommended k_omega k_omega_recommended k_epsilon_theta "
    "k_epsilon_theta_recommended mellor_yamada mellor_yamada_harcourt one_equation tke tke_recommended "
    "tke_veros catke catke_recommended kpp kpp_recommended epbl epbl_recommended epbl_om4 ri_based"
).split()
HEIGHT, WIND, CORIOLIS, ROUGHNESS, BUOYANCY = 400.0, 8.0, 1.39e-4, 0.1, 9.81 / 263.5  # m, s, K
GRAVITY, HEAT_CAPACITY = 98.1, constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY  # any: they cancel
COOLING, DURATION, LATE, FRAME = 0.25 / 3600.0, 32400.0, 28800.0, 60.0  # K s-1, s
COLUMNS = "u* [m/s]", "heat flux [K m/s]", "height [m]", "jet [m/s]", "jet at [m]", "angle [°]", "Ri", "Pr"
DIGITS = 3, 4, 0, 2, 0, 1, 2, 2
LES = np.array(
    [[0.245, 0.289], [0.0102, 0.0152], [158.0, 211.0], [9.04, 9.55], [141.0, 197.0], [30.7, 38.1]]
    + [[0.14, 0.20], [0.62, 1.01]]
)
"""Lowest and highest: friction velocity, heat flux towards the ground, height where turbulence ends,
strongest mean wind, its height, angle of the lowest wind to the geostrophic one, Ri and Pr at 100 m."""


class Ground(AbstractForcing):
    """Exchange with the ground by the similarity of Monin and Obukhov, linear in z / L."""

    height: float  # of the center of the lowest cell [m]
    cooling: float  # of the ground, from 265 K [K s-1]

    def exchange(self, time, water: WaterSurface):
        """Friction velocity [m s-1] and flux of heat towards the ground [K m s-1]."""
        warmer = self.cooling * time - 1.5 - water.temperature  # air than ground [K]
        speed, logarithm = jnp.hypot(water.u, water.v), jnp.log1p(self.height / ROUGHNESS)
        ri = jnp.clip(BUOYANCY * self.height * warmer / (speed**2 + 1e-6), 0.0, 0.2)
        # Ri = zeta (logarithm + 7.8 zeta) / (logarithm + 4.8 zeta)², zeta = height / L
        b = 1.0 - 9.6 * ri
        zeta = 2.0 * ri * logarithm / (b + jnp.sqrt(b**2 + 4.0 * (7.8 - 4.8**2 * ri) * ri))
        friction_velocity = 0.4 * speed / (logarithm + 4.8 * zeta)
        return friction_velocity, friction_velocity * 0.4 * warmer / (logarithm + 7.8 * zeta)

    def at(self, time, water: WaterSurface | None = None) -> tl.SurfaceFluxes:
        assert water is not None
        friction_velocity, heat = self.exchange(time, water)
        drag = -constants.REFERENCE_DENSITY * friction_velocity**2 / (jnp.hypot(water.u, water.v) + 1e-6)
        return tl.SurfaceFluxes(drag * water.u, drag * water.v, heat_flux=HEAT_CAPACITY * heat)

    def check_covers(self, start: float, end: float) -> None:
        pass


def over_land(closure):
    """The closure with the roughness length of the ground, and a logarithmic layer instead of waves."""
    if isinstance(closure, TKE):
        smooth = replace(closure, charnock_constant=0.0, surface_length_floor=0.4 * ROUGHNESS)
        dry = replace(smooth, langmuir_cells=None, penetration=None)
        has_waves = isinstance(closure.surface_energy, SurfaceValue)
        return replace(dry, surface_energy=SurfaceValue(factor=3.75)) if has_waves else dry
    if hasattr(closure, "surface_roughness_length"):
        return replace(closure, surface_roughness_length=ROUGHNESS, charnock_constant=None)
    return closure


def case_of(n_cells: int, cooling: float = COOLING) -> tl.Case:
    """The column; `cooling` in K s-1."""
    grid = tl.Grid.uniform(HEIGHT, n_cells)
    slope = TimeSeries.constant(Vector(0.0, -CORIOLIS * WIND / GRAVITY))
    return tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=lambda z: -1.5 + 0.01 * jnp.minimum(z + 100.0, 0.0), u=WIND),
        Ground(0.5 * HEIGHT / n_cells, cooling),
        coriolis_parameter=CORIOLIS,
        equation_of_state=LinearEquationOfState(gravity=GRAVITY, thermal_expansion=BUOYANCY / GRAVITY),
        interior=Interior(pressure_gradient=SurfaceSlope(slope)),
        duration=DURATION,
    )


def measured(closure, case: tl.Case, step: float) -> np.ndarray:
    """What `COLUMNS` says, of a run with a time step [s]."""
    run = tl.simulate(tl.Model(over_land(closure)), case, dt=step, output_interval=FRAME)
    state, ground, time, z = run.state, case.forcing, np.asarray(run.time), -np.asarray(case.grid.z_face)
    late, wind = time >= LATE, np.asarray(state.u) + 1j * np.asarray(state.v)
    near = WaterSurface(state.u[:, -1], state.v[:, -1], state.temperature[:, -1], state.salinity[:, -1])
    assert isinstance(ground, Ground)
    friction_velocity, heat = (np.mean(np.asarray(of)[late]) for of in ground.exchange(run.time, near))
    mean, warmth, thickness = wind[late].mean(0), np.asarray(state.temperature)[late], -np.diff(z)
    # The flux at a level is what changes all air above, less the Coriolis and pressure forces.
    faster, warmer = ((of[-1] - of[0]) / (DURATION - LATE) for of in (wind[late], warmth))
    stress = np.abs(np.cumsum((faster + 1j * CORIOLIS * (mean - WIND)) * thickness))
    height = np.interp(0.05 * stress[-1], np.maximum.accumulate(stress), z[1:]) / 0.95
    jet, n = int(np.argmax(np.abs(mean))), 3 * case.grid.n_cells // 4
    shear, gradient = (np.abs(x[n] - x[n - 1]) / thickness[n] for x in (mean, warmth.mean(0)))
    ri = BUOYANCY * gradient / shear**2
    pr = stress[n - 1] / shear * gradient / np.cumsum(warmer * thickness)[n - 1]
    of_jet = [np.abs(mean[jet]), 0.5 * (z[jet] + z[jet + 1])]
    return np.array([friction_velocity, heat, height, *of_jet, np.angle(mean[-1], deg=True), ri, pr])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--closures", nargs="+", default=CLOSURES, metavar="CLOSURE", help="names, or sections in braces")
    add("--cells", nargs="+", type=int, default=[64], metavar="N", help="of 400 m")
    add("--step", type=float, default=10.0, metavar="S", help="time step")
    options = parser.parse_args()
    tl.configure()
    print(f"| closure | cells [m] | {' | '.join(COLUMNS)} |\n| --- {'| ---: ' * 9}|")
    ranges = (f"{low:.{n}f} to {high:.{n}f}" for (low, high), n in zip(LES, DIGITS, strict=True))
    print(f"| simulations | 6.25 | {' | '.join(ranges)} |")
    for text in options.closures:
        for n_cells in options.cells:
            found = measured(closure_of(text), case_of(n_cells), options.step)
            cells = [
                f"{value:.{n}f}" if low <= round(value, n) <= high else f"({value:.{n}f})"
                for value, (low, high), n in zip(found, LES, DIGITS, strict=True)
            ]
            print(f"| `{text}` | {HEIGHT / n_cells:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
