"""Figures and tables of the page on maps, from the stores of its commands.

    python docs/figures/world_ocean.py closures COADS K_EPSILON.zarr KPP.zarr
    python docs/figures/world_ocean.py corrections COADS CORRECTIONS.nc NONE.zarr RESTORED.zarr CORRECTED.zarr

COADS is `coads_climatology.cdf` of Ferret. Errors are those of the uppermost cell, weighted by area;
`fitted` means the year of the calibration, `later` the nine months after it.
"""

import io
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from PIL import Image

from tunax_lite.plotting import style

FOLDER = Path(__file__).parent
BANDS = (-60, -30), (-30, -10), (-10, 10), (10, 30), (30, 60), (-90, 90)
YEAR = 365.0
MARCH, SEPTEMBER = (59.0, 90.0), (243.0, 273.0)  # days of the year
FITTED, OTHER = (185.0, 550.0), (550.0, 825.0)  # days since the start


def days(run: xr.Dataset) -> np.ndarray:
    """Days of the ends of the frames since 2001-01-01, in which the run begins."""
    return np.asarray((run.time - np.datetime64("2001-01-01")) / np.timedelta64(1, "D"))


def observed(coads: Path, run: xr.Dataset) -> np.ndarray:
    """Climatology at the points of a map, linear in time between the middles of months."""
    climatology = xr.open_dataset(coads, decode_times=False).SST
    climatology = climatology.assign_coords(COADSX=climatology.COADSX % 360.0).sortby("COADSX")
    at = np.asarray(climatology.interp(COADSX=run.lon, COADSY=run.lat))
    middle = (np.arange(-1, 13) + 0.5) * YEAR / 12.0
    at, now = at[np.arange(-1, 13) % 12], days(run) % YEAR
    after = np.clip(np.searchsorted(middle, now), 1, 13)
    share = ((now - middle[after - 1]) / np.diff(middle)[after - 1])[:, None, None]
    return (1.0 - share) * at[after - 1] + share * at[after]


def errors(coads: Path, run: xr.Dataset, when: tuple[float, float]) -> xr.DataArray:
    """Errors of the surface temperature [K] between two days since the start."""
    error = run.sea_surface_temperature - observed(coads, run)
    now = days(run)
    return error.isel(time=(now > when[0]) & (now <= when[1]))


def row(name: str, error: xr.DataArray) -> str:
    """Bias and root mean square by latitude, as a row of a table."""
    cells = []
    for first, last in BANDS:
        some = error.sel(lat=slice(first, last))
        weighted = (each.weighted(np.cos(np.deg2rad(some.lat))).mean() for each in (some, some**2))
        bias, square = (float(each) for each in weighted)
        cells.append(f"{bias:+.2f} / {square**0.5:.2f}")
    return f"| {name} | {' | '.join(cells)} |"


def heading() -> str:
    bands = [f"{band[0]} to {band[1]} °N" for band in BANDS[:-1]] + ["all"]
    return f"| bias / rms [K] | {' | '.join(bands)} |\n|{' --- |' * (len(bands) + 1)}"


def save(figure: Figure, name: str) -> None:
    """Save with a palette, which keeps the file small."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=85)
    image = Image.open(buffer).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    image.save(FOLDER / f"{name}.png", optimize=True)


def draw(panel, values: xr.DataArray, **colours):
    """Draw a map on a Mollweide projection centred on 200 degrees east, so that no ocean is cut."""
    values = values.assign_coords(lon=(values.lon - 20.0) % 360.0 - 180.0).sortby("lon")
    panel.set_facecolor("0.82")
    places = np.deg2rad(values.lon), np.deg2rad(values.lat)
    mesh = panel.pcolormesh(*places, values, shading="nearest", rasterized=True, **colours)
    panel.set(xticks=np.deg2rad(range(-140, 161, 60)), yticks=np.deg2rad(range(-60, 61, 30)))
    panel.set_xticklabels([])
    panel.tick_params(labelsize="small")
    panel.grid(alpha=0.3, linewidth=0.5)
    return mesh


def closures(coads: Path, runs: Mapping[str, xr.Dataset]) -> None:
    """Mixed layers of two closures in March and September, and errors of their surface temperature."""
    figure = Figure(figsize=(11.0, 5.4), layout="constrained")
    panels = figure.subplots(2, 2, subplot_kw={"projection": "mollweide"})
    months, mesh = {"March": MARCH, "September": SEPTEMBER}, None
    for row_of, (name, run) in zip(panels, runs.items(), strict=True):
        for panel, (month, when) in zip(row_of, months.items(), strict=True):
            now = days(run)
            layer = run.mixed_layer_depth.isel(time=(now > when[0]) & (now <= when[1])).mean("time")
            mesh = draw(panel, layer, cmap=style.colour_map("deep"), vmin=0.0, vmax=300.0)
            panel.set_title(f"{name}, {month}", fontsize="medium")
    assert mesh is not None
    figure.colorbar(mesh, ax=panels, extend="max", shrink=0.8).set_label("mixed layer depth [m]")
    save(figure, "world_closures")
    print(heading())
    for name, run in runs.items():
        for month, when in months.items():
            print(row(f"{name}, {month}", errors(coads, run, when)))


def corrections(coads: Path, fitted: xr.Dataset, runs: Mapping[str, xr.Dataset]) -> None:
    """The correction on the map, errors by latitude after the year that was fitted, and a table of all."""
    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    places = figure.add_gridspec(1, 2, width_ratios=(1.7, 1.0))
    left, right = figure.add_subplot(places[0], projection="mollweide"), figure.add_subplot(places[1])
    mesh = draw(left, fitted.heat_flux_correction, **style.around_zero(100.0))
    figure.colorbar(mesh, ax=left, shrink=0.7, extend="both").set_label("correction of the heat flux [W m⁻²]")
    for name, run in runs.items():
        square = (errors(coads, run, OTHER) ** 2).mean(("time", "lon")) ** 0.5
        right.plot(square.lat, square, "o-", ms=3, label=name)
    right.set(yscale="log", ylabel="rms error of the surface [K]", xlabel="latitude [°N]")
    right.set_yticks((0.3, 0.5, 1.0, 2.0, 4.0), labels=("0.3", "0.5", "1", "2", "4"))
    right.yaxis.set_minor_formatter(NullFormatter())
    right.legend(fontsize="small", ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    save(figure, "world_corrections")
    print(heading())
    for label, when in (("fitted", FITTED), ("later", OTHER)):
        for name, run in runs.items():
            print(row(f"{name}, {label}", errors(coads, run, when)))


def main(what: str, coads: str, *paths: str) -> None:
    stores = [xr.open_zarr(path, chunks=None) for path in paths if path.endswith(".zarr")]
    if what == "closures":
        closures(Path(coads), dict(zip(("k-epsilon", "KPP"), stores, strict=True)))
    else:
        names = "no correction", "restoring", "correction"
        corrections(Path(coads), xr.open_dataset(paths[0]), dict(zip(names, stores, strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
