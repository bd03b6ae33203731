"""Figure of docs/closures/neural.md: `python docs/figures/neural.py FOLDER`, a result of `cross-validate`.

Final temperature of one simulation of each source, by the closure without a network and with the one that was
trained without the source.
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

CONFIG = Path(__file__).parents[2] / "configs/calibrations/les_neural.yaml"
SHOWN = ("tau0.1_Q0_dTdz0.01", "strong_wind", "legay_wind_dominant", "strong_wind_48h", "AprN")
TIME_STEP = 600.0


def main(folder: Path) -> None:
    tl.configure()
    setup = build_calibration(load_calibration(CONFIG))
    targets = {target.case.name: target for target in setup.targets}
    figure = Figure(figsize=(14.0, 4.2), layout="constrained")
    for panel, name in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        target = targets[name]
        values = read_parameters(folder / f"without_{target.group}" / "parameters.yaml")
        trained = with_parameters(setup.model.closure, values)
        z, observed = np.asarray(target.case.grid.z_center), target.observations
        final = np.asarray(observed.profiles["temperature"])[-1]
        panel.plot(final, observed.z, "0.6", linewidth=4.0, label="large-eddy simulation")
        duration = float(target.observations.time[-1])
        for label, closure in {"ri_based": setup.model.closure, "with the network": trained}.items():
            model = dataclasses.replace(setup.model, closure=closure)
            run = tl.simulate(model, target.case, dt=TIME_STEP, output_interval=duration, duration=duration)
            panel.plot(np.asarray(run.state.temperature)[-1], z, label=label)
        panel.set(title=f"{name}, {duration / 3600.0:.0f} h", xlabel="temperature [°C]")
    figure.axes[0].set(ylabel="z [m]")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.savefig(Path(__file__).parent / "neural_left_out.png", dpi=90)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
