"""An Argo float as a column that moves: the configuration of its assimilation, with fluxes along its track.

    python -m benchmarks.argo argo/oce/6900388_prof.nc results/float
    tunax-lite assimilate results/float/float.yaml --output results/float/out.nc

Fluxes are the monthly climatologies of Esbensen and Kushnir (1981; heat) and of COADS (stress, from its mean
wind and wind speed), at the position of the float; the files come with Ferret (docs/maps.md).
"""

import sys
from pathlib import Path

import numpy as np

from tunax_lite.io import open_observations
from tunax_lite.io.named_files import resolve
from tunax_lite.io.netcdf import read_netcdf

DAY = 86400.0
HEIGHTS = [-400, -350, -300, -250, -200, -150, -125, -100, -75, -50, -30, -20, -10]
CONFIG = """# Written by `python -m benchmarks.argo`: a float, and the water under it.
run:
  case:
    format: site
    name: float
    latitude: {latitude:.2f} # the mean of its track
    longitude: {longitude:.2f}
    depth: 500.0 # m
    start_time: {start}
    duration: {duration:.0f} # s
    equation_of_state: teos10
    observations: {{format: argo, paths: ["{path}"], z: {heights}}}
    fluxes:
      heat_flux: {{path: fluxes.dat, column: 1}}
      shortwave_flux: {{path: fluxes.dat, column: 2}}
      stress_u: {{path: fluxes.dat, column: 3}}
      stress_v: {{path: fluxes.dat, column: 4}}
  accept: [sun_by_night] # monthly means
  grid: {{kind: stretched, n_cells: 50, surface_zoom: 1.5}}
  model: {{closure: {{name: k_epsilon}}}}
  time: {{dt: 3600.0, output_interval: 864000.0}} # s
observations:
  variables: [temperature, salinity]
  error: {{temperature: 0.2, salinity: 0.03}} # K, g kg-1
  every: 864000.0 # s: its profiles are ten days apart but for some hours
uncertainty:
  profiles:
    # The growth, of a day, is the other water that the float comes to: 1 K in ten days.
    - {{variable: temperature, standard_deviation: 1.0, length: 80.0, decay: 500.0, growth: 0.3}} # K, m, K
    - {{variable: salinity, standard_deviation: 0.1, length: 80.0, decay: 500.0, growth: 0.03}} # g kg-1, m
  processes:
    - {{of: heat_flux_bias, standard_deviation: 50.0, memory: 2.592e+6}} # W m-2, s
    - {{of: stress_scale, standard_deviation: 0.5, memory: 4.32e+5}} # 1, s
method: {{name: ensemble_transform, n_members: 40, localisation: 150.0}}
cycles:
  interval: 864000.0 # s
  leads: [8.64e+5, 1.728e+6, 2.592e+6] # s: the next profile, and two more
  judged_from: {half}
"""


def along(name: str, variables: list[str], month: np.ndarray, latitude, longitude) -> dict[str, np.ndarray]:
    """Monthly fields at positions: linear between months, of the nearest cell that has values all year."""
    file = read_netcdf(resolve(f"maps/ferret/{name}.cdf"))
    axes = [file[one].values.astype(float) for one in file[variables[0]].dims[1:]]
    fields = [file[one].values.astype(float) for one in variables]
    known = np.all([np.isfinite(one).all(axis=0) for one in fields], axis=0)
    lat, lon = np.meshgrid(*axes, indexing="ij")
    found = np.empty((len(variables), month.size))
    for i, (at, north, east) in enumerate(zip(month, latitude, longitude, strict=True)):
        across = np.cos(np.deg2rad(north)) * ((lon - east + 180.0) % 360.0 - 180.0)
        place = np.unravel_index(
            np.argmin(np.where(known, (lat - north) ** 2 + across**2, np.inf)), lat.shape
        )
        before, part = int(np.floor(at - 0.5)) % 12, (at - 0.5) % 1.0
        for j, field in enumerate(fields):
            found[j, i] = (1.0 - part) * field[before][place] + part * field[(before + 1) % 12][place]
    return dict(zip(variables, found, strict=True))


def main(path: str, folder: str) -> None:
    """Write the configuration and the fluxes."""
    profiles, place = open_observations(resolve(path), format="argo"), Path(folder)
    begin = profiles.time.values[0].astype("datetime64[s]")
    day = (profiles.time.values - begin) / np.timedelta64(1, "D")
    days = np.arange(0.0, 10.0 * round(day[-1] / 10.0) + 2.0)
    north = np.interp(days, day, profiles.latitude.values)
    east = np.interp(days, day, np.unwrap(profiles.longitude.values, period=360.0))
    dates = begin + (days * DAY).astype("timedelta64[s]")
    start_of_year = dates.astype("datetime64[Y]")
    month = (dates - start_of_year) / np.timedelta64(1, "D") / 365.25 * 12.0
    heat = along("esku_heat_budget", ["FDH", "FSR"], month, north, east)
    wind = along("coads_climatology", ["UWND", "VWND", "WSPD"], month, north, east)
    drag = 1.22 * 1.3e-3 * wind["WSPD"]  # [kg m-2 s-1], of a constant coefficient
    columns = heat["FDH"] - heat["FSR"], heat["FSR"], drag * wind["UWND"], drag * wind["VWND"]
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "fluxes.dat", "w", encoding="utf-8") as file:
        file.write(
            "# date, heat flux without sun [W m-2], sun [W m-2], stress to the east and north [N m-2]\n"
        )
        for date, row in zip(dates, np.transpose(columns), strict=True):
            file.write(f"{str(date).replace('T', ' ')} {' '.join(f'{value:.5g}' for value in row)}\n")
    half = begin + np.timedelta64(int(0.5 * days[-1]), "D")
    given = {"latitude": float(north.mean()), "longitude": float((east.mean() + 180.0) % 360.0 - 180.0)}
    given |= {"start": str(begin), "half": str(half), "path": resolve(path), "heights": HEIGHTS}
    text = CONFIG.format(duration=(days[-1] - 1.0) * DAY, **given)
    (place / "float.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
