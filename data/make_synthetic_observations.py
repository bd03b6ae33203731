"""Make `data/synthetic_wind_and_cooling.nc`: synthetic observations of two days of wind and cooling.

    python data/make_synthetic_observations.py [FILE]

The truth is a run of k-epsilon on 256 levels with a step of 30 s, with the parameters below instead of the
standard ones; the observations are its means over 32 layers once per hour, plus noise. A calibration that
starts from the standard constants on 32 levels therefore has something to find, and an error that stays:
the noise, and what 32 levels cannot resolve.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

jax.config.update("jax_enable_x64", True)

import tunax_lite as tl  # noqa: E402
from tunax_lite.calibration import with_parameters  # noqa: E402
from tunax_lite.column.case import remap  # noqa: E402
from tunax_lite.io.dataset import attributes_of, write_dataset  # noqa: E402

DEPTH = 96.0  # m
DURATION = 172800.0  # s
INTERVAL = 3600.0  # s
N_FINE, N_OBSERVED = 256, 32
TRUE_PARAMETERS = {
    "c_eps_1": 1.38,
    "c_eps_2": 1.85,
    "c_eps_3_plus": 1.2,
    "sigma_k": 1.8,
    "sigma_eps": 1.5,
    "steady_state_richardson_number": 0.14,
    "length_limit": 0.35,
    "surface_roughness_length": 1.0,
    "stability.cc1": 3.5,
    "stability.ct1": 5.0,
}
NOISE = {"temperature": 1e-3, "u": 1e-3, "v": 1e-3}  # degC, m s-1, m s-1
SEED = 20240229


def make_case() -> tl.Case:
    """A storm that comes and goes over a stratified column that is cooled all the time."""
    grid = tl.Grid.uniform(DEPTH, N_FINE)
    time = np.linspace(0.0, DURATION, 33)
    gusts = np.sin(np.pi * time / DURATION) ** 2
    return tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(
            grid, temperature=lambda z: 20.0 + 0.01 * z + 0.5 * (jnp.tanh((z + 60.0) / 12.0) - 1.0)
        ),
        forcing=tl.TimeSeriesForcing.from_values(
            time, stress_u=0.03 + 0.35 * gusts, stress_v=0.1 * gusts, heat_flux=-150.0
        ),
        coriolis_parameter=tl.coriolis_parameter(40.0),
        duration=DURATION,
        name="synthetic_wind_and_cooling",
    )


def observe(trajectory: tl.Trajectory, grid: tl.Grid) -> tl.Observations:
    """Means over the layers of a grid, plus noise everywhere but at the start, which is known."""
    generator = np.random.default_rng(SEED)
    profiles = {}
    for name, deviation in NOISE.items():
        values = jnp.moveaxis(getattr(trajectory.state, name), 0, -1)
        means = np.asarray(remap(values, trajectory.grid, grid)).T
        noise = generator.normal(0.0, deviation, means.shape)
        noise[0] = 0.0
        profiles[name] = jnp.asarray(means + noise)
    return tl.Observations(
        time=trajectory.time,
        z=grid.z_center,
        profiles=profiles,
        uncertainty={name: jnp.asarray(deviation) for name, deviation in NOISE.items()},
        name="synthetic_wind_and_cooling",
    )


def to_dataset(case: tl.Case, observations: tl.Observations, attributes: dict[str, str]) -> xr.Dataset:
    """The observations, the fluxes and the constants of the case, as `read_cf_netcdf` expects them."""
    since = "seconds since 2000-01-01 00:00:00"
    time = {"standard_name": "time", "axis": "T", "units": since}
    height = {"standard_name": "height_above_mean_sea_level", "units": "m", "positive": "up", "axis": "Z"}
    forcing = case.forcing
    assert isinstance(forcing, tl.TimeSeriesForcing)
    variables: dict[str, tuple] = {
        name: (("time", "z_center"), np.asarray(values), attributes_of(name) | {"uncertainty": NOISE[name]})
        for name, values in observations.profiles.items()
    }
    for flux in ("stress_u", "stress_v", "heat_flux"):
        values, name = np.asarray(getattr(forcing.fluxes, flux)), f"surface_{flux}"
        variables[name] = ("forcing_time", values, attributes_of(name))
    coordinates = {
        "time": ("time", np.asarray(observations.time), time),
        "forcing_time": ("forcing_time", np.asarray(forcing.time), time),
        "z_center": ("z_center", np.asarray(observations.z), height),
    }
    constants = {"coriolis_parameter": float(case.coriolis_parameter)}
    for part in (case.equation_of_state, case.absorption):
        constants |= {
            name: float(value) for name, value in vars(part).items() if not isinstance(value, bool | None)
        }
    return xr.Dataset(variables, coordinates, {"start_time": "", "case": case.name} | constants | attributes)


def main(path: Path) -> None:
    """Run the truth and write its observations."""
    case = make_case()
    closure = with_parameters(tl.KEpsilon(), TRUE_PARAMETERS)
    trajectory = tl.simulate(tl.Model(closure), case, dt=30.0, output_interval=INTERVAL)
    assert tl.first_non_finite(trajectory) is None
    grid = tl.Grid.uniform(DEPTH, N_OBSERVED)
    attributes = {
        "title": "SYNTHETIC observations of two days of wind and cooling (not measured)",
        "source": f"tunax_lite k-epsilon, {N_FINE} levels, step 30 s, layer means plus noise",
        "history": "made by data/make_synthetic_observations.py",
        "synthetic": "true",
        "noise_standard_deviation": ", ".join(f"{name} {value:g}" for name, value in NOISE.items()),
        "noise_seed": str(SEED),
        "true_parameters": ", ".join(f"{name} = {value:g}" for name, value in TRUE_PARAMETERS.items()),
    }
    write_dataset(to_dataset(case, observe(trajectory, grid), attributes), path)
    print(f"wrote {path}, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    default = Path(__file__).resolve().parent / "synthetic_wind_and_cooling.nc"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
