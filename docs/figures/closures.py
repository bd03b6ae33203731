"""Figures of the pages on closures: `python docs/figures/closures.py [PAGE ...]`, all of them without a name.

Profiles at the end of one large-eddy simulation, of closures of configs/comparisons/lesbrary_calibrated.yaml.
"""

import io
import sys
from pathlib import Path

from PIL import Image

import tunax_lite as tl
from tunax_lite.comparison import ShownCase, compare_closures
from tunax_lite.config import load_comparison
from tunax_lite.plotting import plot_closure_profiles

FOLDER = Path(__file__).parent
CONFIG = FOLDER.parents[1] / "configs/comparisons/lesbrary_calibrated.yaml"
N_CELLS, TIME_STEP = 64, 60.0


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
    "mass_flux": ("free_convection", [*_both("mass_flux"), "k_epsilon"]),
    "richardson": ("strong_wind", _both("pacanowski_philander", "munk_anderson", "ri_based")),
    "tke": ("strong_wind", ["tke without penetration", "tke calibrated", *_both("tke_veros")]),
    "two_equation": (
        "free_convection",
        [*_both("k_epsilon", "generic_length_scale", "mellor_yamada"), "k_epsilon_oceananigans"],
    ),
}
"""The case and the labels of the closures of each page."""


def profiles(page: str) -> ShownCase:
    """The runs of a page."""
    case, labels = PAGES[page]
    setup = load_comparison(CONFIG)
    return compare_closures(
        setup.candidates(labels),
        setup.references([case]),
        n_cells=[N_CELLS],
        time_steps=[TIME_STEP],
        shown=(N_CELLS, TIME_STEP),
        n_timings=0,
    ).shown[0]


def main(pages: list[str]) -> None:
    tl.configure()
    for page in pages or list(PAGES):
        buffer = io.BytesIO()
        plot_closure_profiles(profiles(page)).savefig(buffer, dpi=100)
        # Of lines a palette keeps everything, in a third of the bytes.
        image = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        image.save(FOLDER / f"{page}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
