"""Runs, maps, assimilations and calibrations of `configs/`, as short as they can be."""

import contextlib
import functools
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import xarray as xr

from tests.cli.running import invoked
from tests.golden.files import data_path
from tests.golden.statistics import TOLERANCE, Entry, Item, outcome, statistics
from tunax_lite import SaveSegments, jacobian, simulate
from tunax_lite.calibration import misfit, residuals
from tunax_lite.config import build_calibration, build_run, closure_names, load_calibration, load_run

CONFIGS = Path(__file__).parents[2] / "configs"
STORED = Path(__file__).with_name("runs.json")
N_STEPS = 24

Settings = Mapping[str, Any]  # values of a configuration by key path

# 20 cells of 5 m for 8 h, cooled from the start, in the sun from six o'clock on.
DAY: Settings = {
    "grid": {"kind": "uniform", "n_cells": 20},
    "time": {"dt": 1200.0, "output_interval": 1200.0},
}
# Frost over water at its freezing point.
FROST: Settings = {
    "case.observations": None,
    "case.interior": {},
    "case.temperature": {"z": [-150.0, 0.0], "values": [-1.7, -1.7]},
    "case.temperature_kind": "in_situ",
    "case.salinity": 35.0,
    "case.salinity_kind": "practical",
    "case.weather.variables": {"air_temperature": -20.0},
}
GOTM_CASES = """
blacksea/blacksea channel/channel couette/couette entrainment/entrainment entrainment/entrainment_gls
entrainment/entrainment_keps entrainment/entrainment_kpp entrainment/entrainment_my estuary/estuary
estuary/estuary_cvmix lago_maggiore/lago_maggiore langmuir/langmuir_exp langmuir/langmuir_kpp_exp
medsea_east/medsea_east nns_annual/nns_annual ows_papa/ows_papa_kpp_meteo ows_papa/ows_papa_meteo
ows_papa/ows_papa_meteo_dt600 papa_2010_2014/papa_2010_2014 plume/plume reynolds/reynolds rouse/rouse
seagrass/seagrass wave_breaking/wave_breaking wave_breaking/wave_breaking_gls
"""
LES_FILES = "six_day/tau0.1_Q-75_dTdz0.001 lesbrary_1m/strong_wind_12h sofs/AprN sofs/AprS"


def items() -> list[Item]:
    """All runs and calibrations."""
    return [*_runs(), *_commands(), *_calibrations()]


def _runs() -> Iterator[Item]:
    def run(label: str, group: str, config: str, settings: Settings, needs: str = "") -> Item:
        return Item(f"run {label}", group, functools.partial(_run, config, settings, needs), needs)

    for name in closure_names():
        yield run(f"closure {name}", "closures", "diurnal_cycle", {**DAY, "model.closure": {"name": name}})
    for name in ("kato_phillips", "free_convection", "synthetic", "own_netcdf", "synthetic_station"):
        yield run(name, "idealised", name, {})
    yield run("diurnal_cycle", "idealised", "diurnal_cycle", {"time.dt": 900.0})
    for name in ("simple", "lebedev", "mylake", "winton"):
        yield run(f"ice {name}", "ice", "synthetic_station", {**FROST, "case.ice": name})
    for names in ("npzd", "fasham", "ergom", "bfm17", "npzd+carbonate", "npzd+oxygen", "age"):
        life = {"name": "biogeochemistry", "models": {name: {"name": name} for name in names.split("+")}}
        if names not in ("npzd", "fasham", "age"):
            life |= {"wind_speed": 8.0}  # gases are exchanged
        yield run(
            f"biogeochemistry {names}",
            "biogeochemistry",
            "diurnal_cycle",
            {**DAY, "case.terms": {"life": life}},
        )
    for name in GOTM_CASES.split():
        path = f"gotm_cases/{name}.gotm.yaml"
        yield run(f"gotm {name}", "gotm", "ows_papa", {"case.path": path}, path)
    for name in LES_FILES.split():
        yield run(f"les {name}", "les", "les_recommended", {"case.path": f"les/{name}.nc"}, f"les/{name}.nc")
    yield run("lesbrary strong_wind", "les", "lesbrary_strong_wind", {}, "lesbrary")
    cooled = {
        "case.path": "lesbrary:two_day_suite/8m/strong_wind_weak_cooling",
        "model.closure.name": "catke",
    }
    yield run("lesbrary strong_wind_weak_cooling", "les", "lesbrary_strong_wind", cooled, "lesbrary")
    yield run("legay", "les", "legay_wind", {}, "les_legay")
    yield run("lough_feeagh", "lakes", "lough_feeagh", {}, "lakes/gotmr")


def _commands() -> Iterator[Item]:
    def command(label: str, group: str, name: str, config: str, settings: Settings, needs: str = "") -> Item:
        return Item(label, group, functools.partial(_command, name, config, settings), needs)

    short = {"map.duration": 43200.0, "time.output_interval": 43200.0}
    yield command("map synthetic", "map", "map", "maps/synthetic", short)
    cycles = {"leads": [86400.0], "judged_from": "2010-11-17T12:00:00", "end": "2010-11-20T12:00:00"}
    few = {"method.n_members": 6, "cycles": cycles}
    assimilate = functools.partial(_command, "assimilate", "assimilations/papa", few)
    # LAPACK finds the square roots of a covariance of six members, and rounds by the kind of processor.
    yield Item("assimilation papa", "assimilation", assimilate, "moorings/oce_papa", tolerance=1e-7)


def _calibrations() -> Iterator[Item]:
    hour, half_day = {"misfit.start": 600.0, "misfit.end": 3600.0}, {"misfit.end": 43200.0}
    surface = {**half_day, "misfit.weights": {"sea_surface_temperature": 1.0}}  # profiles are monthly

    def fit(name: str, settings: Settings, needs: str = "", *, in_reverse: bool = True) -> Item:
        compute = functools.partial(_calibration, name, settings, in_reverse)
        group = "calibrations" if needs else "calibration"
        # Derivatives are sums over all steps, in which large terms cancel.
        return Item(f"calibration {name}", group, compute, needs, 100.0 * TOLERANCE)

    yield fit("synthetic", {"misfit.end": 14400.0})
    for name in ("catke", "kpp", "neural"):
        yield fit(f"lesbrary_{name}", hour, "lesbrary")
    # A second program each for the gradient would take half of the time of all runs.
    for name in ("robust", "epbl", "tke", "mass_flux", "ri_based"):
        yield fit(f"lesbrary_{name}", hour, "lesbrary", in_reverse=False)
    some = [f"les/{name}.nc" for name in LES_FILES.split() if "six_day" in name or "sofs" in name]
    two = {"cases": [{"case": {"format": "cf_netcdf", "path": path}} for path in some[:2]], **half_day}
    yield fit("les_k_epsilon", two, "les", in_reverse=False)  # padded cases have no reverse mode
    yield fit("papa_first_half_year", surface, "gotm_cases/ows_papa")
    yield fit("papa_fluxes", surface, "gotm_cases/ows_papa")


@contextlib.contextmanager
def compiled_quickly() -> Iterator[None]:
    """Compile without optimisation: most programs run once; results differ by rounding alone."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    jax.clear_caches()
    yield
    jax.config.update("jax_disable_most_optimizations", before)
    jax.clear_caches()


def _overrides(settings: Settings) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in settings.items()]


def _run(config: str, settings: Settings, needs: str) -> Entry:
    """Case and observations, and the final state of the water and of the closure.

    A set-up of GOTM without one of its files is rejected, and that is its result.
    """

    def compute() -> object:
        run = build_run(load_run(CONFIGS / f"runs/{config}.yaml", _overrides(settings)))
        length = N_STEPS * run.dt
        made = simulate(run.model, run.case, dt=run.dt, duration=length, output_interval=length)
        end = jax.tree.map(lambda leaf: leaf[-1], {"state": made.state, "closure": made.clo_state})
        return {"case": run.case, "observed": run.observations, **end}

    return outcome(compute, data_path(needs)) if needs.endswith(".gotm.yaml") else statistics(compute())


def _command(name: str, config: str, settings: Settings) -> Entry:
    """Variables of the file that a command writes."""
    words = [word for one in _overrides(settings) for word in ("--set", one)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("out.zarr" if name == "map" else "out.nc")
        invoked(name, CONFIGS / f"{config}.yaml", *words, "--output", path)
        with xr.open_dataset(path, engine="zarr" if name == "map" else "netcdf4", decode_cf=False) as found:
            return statistics({str(key): one.values for key, one in found.variables.items()})


def _calibration(name: str, settings: Settings, in_reverse: bool) -> Entry:
    """Loss, gradient and columns of the Jacobian of the first case at the start."""
    config = CONFIGS / f"calibrations/{name}.yaml"
    made = build_calibration(load_calibration(config, _overrides(settings)))
    comparison = made.targets[0].comparison
    numbers = made.free_parameters.in_case(made.targets[0].case.name)
    x = numbers.part_of(made.free_parameters.start())

    def loss(x, comparison):
        return misfit(
            numbers.to_pytree(made.model, x), numbers.to_pytree(comparison, x), made.score, SaveSegments()
        )

    def differences(x, comparison):
        return residuals(numbers.to_pytree(made.model, x), numbers.to_pytree(comparison, x))[0]

    at_x = jacobian(differences, x, comparison, mode="forward")
    columns = {path: at_x.matrix[:, n] for n, path in enumerate(numbers.paths)}
    squares = at_x.residuals @ at_x.residuals
    found = {"start": x, "residuals": at_x.residuals, "jacobian": columns, "score": made.score(squares)}
    slope = jax.grad(made.score)(squares)
    found["gradient_by_columns"] = 2.0 * slope * at_x.residuals @ at_x.matrix
    if in_reverse:
        differentiate = eqx.filter_jit(eqx.filter_value_and_grad(loss, has_aux=True))
        (found["loss"], found["mean_squares"]), found["gradient"] = differentiate(x, comparison)
    return statistics(found)
