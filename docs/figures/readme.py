"""The figure of the README: `python docs/figures/readme.py FOLDER`.

FOLDER is a result of `tunax-lite cross-validate configs/calibrations/les_k_epsilon.yaml`. The constants shown
are those of the calibration without the source of the simulation.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tunax_lite as tl
from tunax_lite.calibration import read_parameters, with_parameters
from tunax_lite.config import load_calibration
from tunax_lite.config.build import build_calibration

CONFIG = Path(__file__).parents[2] / "configs/calibrations/les_k_epsilon.yaml"
SHOWN, TIME_STEP = "strong_wind_48h", 120.0


def main(folder: Path) -> None:
    tl.configure()
    setup = build_calibration(load_calibration(CONFIG))
    (target,) = (target for target in setup.targets if target.case.name == SHOWN)
    values = read_parameters(folder / f"without_{target.group}" / "parameters.yaml")
    closures = {
        "k-epsilon, GOTM's constants": (tl.KEpsilon(), "tab:blue"),
        "k-epsilon, calibrated on other simulations": (
            with_parameters(setup.model.closure, values),
            "tab:red",
        ),
    }
    observed = np.asarray(target.observations.profiles["temperature"])
    heights, duration = np.asarray(target.observations.z), float(target.observations.time[-1])
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    panel = figure.subplots()
    panel.plot(observed[0], heights, "0.6", linestyle=":", label="start")
    panel.plot(
        observed[-1], heights, "k", linewidth=5.0, alpha=0.35, label="large-eddy simulation after 48 h"
    )
    for label, (closure, colour) in closures.items():
        model = dataclasses.replace(setup.model, closure=closure)
        run = tl.simulate(model, target.case, dt=TIME_STEP, output_interval=duration, duration=duration)
        temperature, z = np.asarray(run.state.temperature)[-1], np.asarray(target.case.grid.z_center)
        error = 1e3 * np.sqrt(np.mean((np.interp(heights, z, temperature) - observed[-1]) ** 2))
        print(f"{label}: {error:.1f} mK")
        panel.plot(temperature, z, colour, label=f"{label}: error {error:.0f} mK")
    panel.set(xlabel="temperature [°C]", ylabel="z [m]", xlim=(19.74, 20.01), ylim=(-150.0, 0.0))
    figure.legend(*panel.get_legend_handles_labels(), loc="outside upper left", frameon=False)
    figure.savefig(Path(__file__).parent / "readme.png", dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
