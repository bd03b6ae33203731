"""Figures of the pages on closures: `python docs/figures/closures.py [PAGE ...]`, all of them without a name.

Profiles at the end of one large-eddy simulation, of closures of configs/comparisons/lesbrary_calibrated.yaml;
of a layer below waves; and of k-epsilon before and after its calibration.
"""

import dataclasses
import io
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import tunax_lite as tl
from tunax_lite import TimeSeries
from tunax_lite.calibration import read_parameters, with_parameters
from tunax_lite.calibration.comparison import compare
from tunax_lite.calibration.validation import run_to_the_end
from tunax_lite.closures import Harcourt, KEpsilon, MellorYamada
from tunax_lite.column.terms import DriftVector, Interior, StokesDrift
from tunax_lite.config import build_calibration, load_calibration, load_comparison
from tunax_lite.config.build import candidates_of, targets_of
from tunax_lite.plotting import CaseRuns, case_runs, plot_fits, style

FOLDER = Path(__file__).parent
CONFIGS = FOLDER.parents[1] / "configs"
ONE_RUN = ["grid={kind: uniform, n_cells: 64}", "time.dt=60.0"]


def _both(*names: str) -> list[str]:
    return [label for name in names for label in (name, f"{name} calibrated")]


PAGES: dict[str, tuple[str, list[str]]] = {
    "bulk_layer": ("strong_wind_no_rotation", _both("kraus_turner", "price_weller_pinkel")),
    "catke": ("strong_wind", _both("catke")),
    "comparison": (
        "legay_wind_dominant",
        [f"{name} calibrated" for name in ("k_epsilon", "generic_length_scale", "kpp", "tke", "ri_based")],
    ),
    "epbl": ("strong_wind_no_rotation", _both("epbl")),
    "kpp": ("strong_wind", _both("kpp")),
    "k_epsilon_theta": ("free_convection", [*_both("k_epsilon_theta"), "k_epsilon_oceananigans"]),
    "mass_flux": ("free_convection", [*_both("mass_flux"), "k_epsilon"]),
    "richardson": ("strong_wind", _both("pacanowski_philander", "munk_anderson", "ri_based")),
    "tke": ("strong_wind", ["tke without penetration", "tke calibrated", *_both("tke_veros")]),
    "two_equation": (
        "free_convection",
        [*_both("k_epsilon", "generic_length_scale", "mellor_yamada"), "k_epsilon_oceananigans"],
    ),
}
"""The case and the labels of the closures of each page."""


def profiles(page: str) -> CaseRuns:
    """The runs of a page."""
    case, labels = PAGES[page]
    setup = load_comparison(CONFIGS / "comparisons/lesbrary_calibrated.yaml", ONE_RUN)
    compared = compare(candidates_of(setup, labels), targets_of(setup, [case]))
    (target,) = compared.shown
    return case_runs(case, compared.runs[case], target.observations, target.case)


def lesbrary_two_day() -> Figure:
    """Four large-eddy simulations, and k-epsilon with GOTM's constants and with those of the calibration."""
    setup = build_calibration(load_calibration(CONFIGS / "calibrations/lesbrary_k_epsilon.yaml"))
    values = read_parameters(CONFIGS / "parameters/lesbrary_k_epsilon.yaml", "KEpsilon")
    calibrated = dataclasses.replace(setup.model, closure=with_parameters(setup.model.closure, values))
    fits = []
    for target in setup.targets:
        runs = {"before": run_to_the_end(setup.model, target), "after": run_to_the_end(calibrated, target)}
        fits.append(case_runs(target.case.name, runs, target.observations, target.case, ("temperature",)))
    return plot_fits(fits)


def langmuir() -> Figure:
    """Temperature and velocity of the layer of McWilliams, Sullivan and Moeng (1997), after two days."""
    grid = tl.Grid.uniform(90.0, 150)
    figure = Figure(figsize=(13.0, 5.2), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    shown = {
        "mellor_yamada, no waves": (MellorYamada(), 0.0),
        "mellor_yamada": (MellorYamada(), 0.068),
        "k_epsilon": (KEpsilon(), 0.068),
        "k_epsilon, harcourt": (KEpsilon(stability=Harcourt()), 0.068),
        "mellor_yamada_harcourt": (MellorYamada.harcourt(), 0.068),
    }
    for label, (closure, drift) in shown.items():
        waves = StokesDrift(TimeSeries.constant(DriftVector(drift, 0.0), "waves"), decay_depth=4.77)
        case = tl.Case(
            grid,
            tl.State.from_profiles(
                grid, temperature=lambda z: 12.0 + 0.01 * jnp.minimum(z + 33.0, 0.0), salinity=0.0
            ),
            tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.037, heat_flux=-5.0)),
            coriolis_parameter=1e-4,
            interior=Interior(stokes_drift=waves),
            duration=2.0 * 86400.0,
        )
        state = tl.simulate(tl.Model(closure), case, dt=60.0, output_interval=case.duration).state
        grey = {} if drift else {"color": "0.15", "linewidth": 4.0, "alpha": 0.4}
        for panel, name in zip(panels, ("temperature", "u", "v"), strict=True):
            panel.plot(np.asarray(getattr(state, name))[-1], grid.z_center, label=label, **grey)
            style.label(panel, style.name_and_unit(name))
    panels[0].set(ylabel="z [m]", ylim=(-60.0, 0.0), xlim=(11.75, 12.0))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.suptitle("wind, cooling and waves, 48 h", fontsize="medium")
    return figure


def main(pages: list[str]) -> None:
    tl.configure()
    others = {"langmuir": langmuir, "lesbrary_two_day": lesbrary_two_day}
    for page in pages or [*PAGES, *others]:
        buffer = io.BytesIO()
        figure = others[page]() if page in others else plot_fits([profiles(page)])
        figure.savefig(buffer, dpi=100)
        # Of lines a palette keeps everything, in a third of the bytes.
        image = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        image.save(FOLDER / f"{page}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
