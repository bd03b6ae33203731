"""Four years at Ocean Weather Station Papa against its mooring: `python -m benchmarks.hindcast`.

Free, started anew each November, and with a seasonal bias of the heat flux that was estimated from two years
and is judged in the two others. Needs `TUNAX_LITE_DATA`, and `TUNAX_LITE_REFERENCE` for GOTM's own result.
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

import tunax_lite as tl
from tunax_lite.calibration import calibrate, with_case_parameters
from tunax_lite.column.case import Case
from tunax_lite.column.model import Model
from tunax_lite.config import build_calibration, load_calibration
from tunax_lite.io import resolve
from tunax_lite.physics.teos10 import surface_temperature

Table = Any
"""A table or series of pandas, whose types say too little of what it has."""
CONFIG = Path(__file__).parents[1] / "configs/calibrations/papa_seasonal_heat.yaml"
CLOSURES = ("k_epsilon", "kpp", "catke")
YEARS = (2010, 2011, 2012, 2013)
HALVES = (YEARS[:2], YEARS[2:])
DEPTHS = (1.0, 5.0, 15.0, 20.0, 25.0, 30.0, 35.0, 45.0, 60.0, 80.0, 100.0, 120.0)
"""Where model and mooring are compared [m]; not at 10 m, where the file of November 2011 is 0.3 K off."""
SEASONS = {12: "DJF", 1: "DJF", 2: "DJF", 3: "MAM", 4: "MAM", 5: "MAM", 6: "JJA", 7: "JJA", 8: "JJA"}
MIDDLE = pd.Timedelta(days=15)
HEAT_CAPACITY = 1025.0 * 3990.0  # J m-3 K-1


def seasonal(closure: str, *spans: tuple[int, int]):
    """The shipped calibration with another closure, and two cases from one November to another."""
    overrides = [f"model.closure.name={closure}"]
    for index, (first, last) in enumerate(spans):
        case = f"cases.{index}.case"
        overrides += [
            f"{case}.name=november_{first}_to_{last}",
            f'{case}.settings.time.start="{first}-11-16 02:00:00"',
            f'{case}.settings.time.stop="{last}-11-16 02:00:00"',
        ]
    return build_calibration(load_calibration(CONFIG, overrides))


def estimate(closure: str, years: tuple[int, int]) -> list[float]:
    """Bias of the heat flux, one number per month from mid-November on [W m-2], that fits two years best."""
    made = seasonal(closure, *((year, year + 1) for year in years))
    with tempfile.TemporaryDirectory() as folder:
        result = calibrate(**vars(made), folder=Path(folder))
    return list(result.best.values())


def frames(model: Model, case: Case, dt: float, bias: list[float] | None = None) -> Table:
    """In-situ surface temperature (column 0) and temperature at `DEPTHS`, every six hours [degC]."""
    if bias is not None:
        numbers = {f"case.forcing.heat_flux_bias[{i}]": value for i, value in enumerate(bias)}
        case = with_case_parameters(case, numbers)
    kept = tl.simulate(model, case, dt=dt, output_interval=21600.0)
    times = pd.Timestamp(case.start_time) + pd.to_timedelta(np.asarray(kept.time), unit="s")
    return table(times, case.grid.z_center, kept.state.temperature, kept.state.salinity)


def table(times, z, temperature, salinity) -> Table:
    """What is compared, of a run here or of GOTM; below the surface conservative temperature."""
    temperature, z = np.asarray(temperature), np.asarray(z)
    surface = np.asarray(surface_temperature(temperature[:, -1], np.asarray(salinity)[:, -1]))
    below = np.stack([np.interp(np.negative(DEPTHS), z, profile) for profile in temperature])
    return pd.DataFrame(np.column_stack([surface, below]), index=times, columns=[0.0, *DEPTHS])


def measured() -> tuple[Table, Table, Table]:
    """Hourly surface temperature, monthly means and daily profiles at `DEPTHS`, local time (UTC - 10 h)."""
    folder = resolve("moorings/papa_hourly/sst_file.dat").parent
    sst = pd.read_csv(folder / "sst_file.dat", sep=r"\s+", header=None, names=["day", "hour", "sst"])
    surface = pd.Series(sst.sst.to_numpy(), pd.to_datetime(sst.day + " " + sst.hour))
    lines = iter((folder / "t_prof_file.dat").read_text().splitlines())
    months = {}
    for line in lines:
        day, _, n, _ = line.split()
        profile = np.array([next(lines).split() for _ in range(int(n))], dtype=float)
        months[pd.Period(day.replace("/", "-"), "M")] = np.interp(DEPTHS, *profile.T)
    daily, depths = {}, np.zeros(0)
    for line in resolve("moorings/oce_papa/T.dat").read_text().splitlines():
        words = line.split()
        if words[0] == "Depth(M):":
            depths = np.array(words[1:-2], dtype=float)
        elif len(words[0]) == 8 and words[0].isdigit():
            values = np.array(words[2 : 2 + len(depths)], dtype=float)
            there = values > -9.0
            if there.sum() > 10 and there[depths >= 80.0].any():
                daily[pd.Timestamp(words[0])] = np.interp(DEPTHS, depths[there], values[there])
    columns = list(DEPTHS)
    return (
        surface,
        pd.DataFrame.from_dict(months, "index", columns=columns),
        pd.DataFrame.from_dict(daily, "index", columns=columns),
    )


def mixed_layer_depth(profiles: Table) -> Table:
    """Where it is 0.2 K colder or warmer than at 5 m, linear between `DEPTHS`; NaN where nowhere."""
    depths, values = np.array(DEPTHS), profiles[list(DEPTHS)].to_numpy()
    found = []
    for change in values - values[:, [DEPTHS.index(5.0)]]:
        below = np.flatnonzero((np.abs(change) > 0.2) & (depths > 5.0))
        if below.size == 0:
            found.append(np.nan)
            continue
        j = below[0]
        away = change * np.sign(change[j]) - 0.2
        found.append(depths[j] - (depths[j] - depths[j - 1]) * away[j] / (away[j] - away[j - 1]))
    return pd.Series(found, index=profiles.index)


def at_least(profiles: Table) -> Table:
    """The same of a run, which is not excused where it mixes below the deepest of `DEPTHS`."""
    return mixed_layer_depth(profiles).fillna(DEPTHS[-1])


def rms(values) -> float:
    """Root mean square of what is known."""
    return float(np.sqrt(np.nanmean(np.square(np.asarray(values)))))


def errors(runs: list[Table], truth) -> tuple[Table, Table, Table, Table]:
    """Of some runs, taken together: SST, monthly profiles, monthly and daily depths of the mixed layer."""
    surface, monthly, daily = truth
    sst = pd.concat([run[0.0] - surface.reindex(run.index) for run in runs])
    months, layers, days = [], [], []
    for run in runs:
        of_month = run.groupby(run.index.to_period("M"))
        mean = of_month.mean()[of_month.size() > 0.7 * of_month.size().median()]  # whole months only
        same = mean.index.intersection(monthly.index)
        months.append(mean.loc[same, list(DEPTHS)] - monthly.loc[same])
        layers.append(at_least(mean.loc[same]) - mixed_layer_depth(monthly.loc[same]))
        utc = run.set_axis(run.index + pd.Timedelta(hours=10))
        means = utc.groupby(utc.index.floor("D")).mean()
        same = means.index.intersection(daily.index)
        days.append(at_least(means.loc[same]) - mixed_layer_depth(daily.loc[same]))
    return sst, pd.concat(months), pd.concat(layers), pd.concat(days)


def by_season(runs: list[Table], truth) -> dict[str, float]:
    """Root mean square errors of SST, of T(z) from 20 m down, and of the mixed layer in each season."""
    sst, profiles, layer, _ = errors(runs, truth)
    below = profiles[[depth for depth in DEPTHS if depth >= 20.0]]
    found = {}
    for name, values in (("SST [K]", sst), ("T(z) [K]", below), ("MLD [m]", layer)):
        of = np.array([SEASONS.get(time.month, "SON") for time in values.index])
        found |= {f"{season} {name}": rms(values[of == season]) for season in ("DJF", "MAM", "JJA", "SON")}
    return found


def scores(runs: list[Table], truth) -> dict[str, float]:
    """Errors of some runs, taken together: the columns of the table."""
    sst, profiles, layer, day = errors(runs, truth)
    heat = 1e-6 * HEAT_CAPACITY * np.asarray(np.trapezoid(profiles, DEPTHS, axis=1))
    seasons = np.array([SEASONS.get(month.month, "SON") for month in profiles.index])
    return {
        "SST [K]": rms(sst),
        "mean [K]": float(np.nanmean(sst)),
        "T(z) [K]": rms(profiles),
        "MLD [m]": rms(layer),
        "bias [m]": float(np.nanmean(layer)),
        "daily MLD [m]": rms(day) if len(day) else np.nan,
        **{
            f"{name} [MJ m-2]": float(np.mean(heat[seasons == name])) for name in ("DJF", "MAM", "JJA", "SON")
        },
    }


def gotm() -> Table | None:
    """GOTM's own run, as far as the four years go; a frame every ten days."""
    reference = os.environ.get("TUNAX_LITE_REFERENCE")
    if not reference:
        return None
    with xr.open_dataset(Path(reference) / "gotm/papa_2010_2014.nc") as dataset:
        dataset = dataset.squeeze().sel(time=slice(None, "2014-11-16"))
        return table(
            pd.DatetimeIndex(dataset.time.values), dataset.z.values[0], dataset.temp.values.astype(float),
            dataset.salt.values.astype(float),
        )  # fmt: skip


Rows = dict[str, dict[str, float]]


def uncorrected(closure: str) -> dict[str, list[Table]]:
    """One run over four years, and four runs of a year from the profile of their November."""
    whole = seasonal(closure, (2010, 2014), (2010, 2011))
    years = [case for half in HALVES for case in seasonal(closure, *((y, y + 1) for y in half)).targets]
    model, step = whole.model, whole.targets[0].dt
    return {
        "free, four years": [frames(model, whole.targets[0].case, step)],
        "anew each November": [frames(model, target.case, step) for target in years],
    }


def hindcast(closure: str, truth) -> tuple[Rows, dict[str, list[float]], dict[str, Table]]:
    """Rows of the table of one closure, biases by the years that they come from, and runs to draw."""
    made = seasonal(closure, (2010, 2014), (2010, 2011))
    model, whole, step = made.model, made.targets[0].case, made.targets[0].dt
    cases = {}
    for half in HALVES:
        pair = seasonal(closure, *((year, year + 1) for year in half)).targets
        cases |= {year: target.case for year, target in zip(half, pair, strict=True)}
    runs = {"free": frames(model, whole, step)}
    rows = {"free, four years": scores([runs["free"]], truth)}
    rows["anew each November"] = scores([frames(model, case, step) for case in cases.values()], truth)
    biases, fitted, others, last = {}, [], [], {}
    for half, other in (HALVES, HALVES[::-1]):
        name, unseen = (f"{years[0]} to {years[-1] + 1}" for years in (half, other))
        bias = biases[name] = estimate(closure, half)
        fitted += [frames(model, cases[year], step, bias) for year in half]
        apart = [frames(model, cases[year], step, bias) for year in other]
        others += apart
        last[f"- {unseen} alone"] = scores(apart, truth)
        last[f"corrected by {name}, four years"] = scores([frames(model, whole, step, bias)], truth)
    rows["corrected, years fitted"] = scores(fitted, truth)
    rows["corrected, years not fitted"] = scores(others, truth)
    runs["corrected, years not fitted"] = pd.concat(others).sort_index()
    return rows | dict(sorted(last.items())), biases, runs


def draw(runs: dict[str, Table], truth) -> Figure:
    """Surface temperature, daily, and mixed layers of monthly means, of runs and as measured."""
    surface, monthly, _ = truth
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    daily = surface.resample("1D").mean()
    axes[0].plot(daily, "k", lw=1.2, label="measured", zorder=3)
    # A month without a profile is a gap in the line.
    shown = monthly.reindex(pd.period_range("2010-12", "2014-10", freq="M"))
    axes[1].plot(
        shown.index.to_timestamp() + MIDDLE, mixed_layer_depth(shown), "k.-", label="measured", zorder=3
    )
    for index, (name, run) in enumerate(runs.items()):
        axes[0].plot(run[0.0].resample("1D").mean().dropna(), f"C{index}", lw=0.9, label=name)
        mean = run.groupby(run.index.to_period("M")).mean()
        axes[1].plot(mean.index.to_timestamp() + MIDDLE, mixed_layer_depth(mean), f"C{index}", label=name)
    axes[0].set(ylabel="sea surface temperature [°C]", xlim=(daily.index[0], daily.index[-1]))
    axes[1].set(ylabel="mixed layer (0.2 K from 5 m) [m]", ylim=(125, 0))
    axes[0].legend(fontsize="small", ncols=2)
    for ax in axes:
        ax.grid(alpha=0.3)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hindcast", description=__doc__)
    parser.add_argument("--closures", nargs="+", metavar="NAME", default=CLOSURES)
    parser.add_argument("--seasons", action="store_true", help="errors by season, without a correction")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw the last of the closures, beside GOTM"
    )
    options = parser.parse_args()
    tl.configure()
    truth, rows, own, runs = measured(), {}, gotm(), {}
    if options.seasons:
        for closure in options.closures:
            rows |= {(closure, name): by_season(one, truth) for name, one in uncorrected(closure).items()}
        print(pd.DataFrame(rows).T.round(2).to_string())
        return
    if own is not None:
        rows["GOTM, k-epsilon", "free, four years"] = scores([own], truth)
    for closure in options.closures:
        found, biases, runs = hindcast(closure, truth)
        rows |= {(closure, name): row for name, row in found.items()}
        for half, bias in biases.items():
            print(f"{closure}, bias [W m-2] from mid-November on, from {half}:", np.round(bias, 1))
        print(pd.DataFrame(rows).T.round(2).to_string(), flush=True)
    if options.figure:
        named = {f"{options.closures[-1]}, {name}": run for name, run in runs.items()}
        draw(({} if own is None else {"GOTM, free": own}) | named, truth).savefig(options.figure, dpi=130)


if __name__ == "__main__":
    main()
