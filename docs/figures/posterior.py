"""Figure and table of the recommended constants in docs/calibration/posterior.md: `posterior.py FILE.nc ...`.

Files are those of `tunax-lite posterior configs/calibrations/les_NAME.yaml`, by any method. The figure is of
the generic length scale.
"""

import sys
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from tunax_lite import closures
from tunax_lite.calibration.posterior import spectrum_of
from tunax_lite.closures import AbstractClosure

COLOURS = {"laplace": "C0", "nuts": "C1", "smc": "C2"}


def draw(found: list[xr.Dataset]) -> Figure:
    """Distributions beside the priors, then what the directions consist of and how much is known of them."""
    names = [str(name) for name in found[0]["parameter"].values]
    figure = Figure(figsize=(12.0, 2.9), layout="constrained")
    *panels, last = figure.subplots(1, len(names) + 1, width_ratios=[1.0] * len(names) + [1.4])
    recommended = recommended_of(found)
    for panel, name in zip(panels, names, strict=True):
        for each in found:
            method = str(each.attrs["method"])
            values = each[name].values.ravel()
            panel.hist(values, 24, density=True, histtype="step", color=COLOURS[method], label=method)
        about = found[0][name].attrs
        ends, top = (about["prior_5_percent"], about["prior_95_percent"]), panel.get_ylim()[1]
        panel.plot(ends, [-0.05 * top] * 2, color="0.3", linewidth=4.0, label="90 % of the prior")
        panel.axvline(
            float(getattr(recommended, name)), color="k", linestyle="--", linewidth=1.0, label="recommended"
        )
        panel.set_xlabel(f"{name} [{about['units']}]")
        panel.set_yticks([])
    panels[0].set_ylabel("probability density")
    information, directions = spectrum_of(found[0]["information"].values)
    image = last.imshow(directions, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto")
    figure.colorbar(image, ax=last, label="component of the direction [1]")
    for (row, column), share in np.ndenumerate(directions):
        colour = "w" if abs(share) > 0.6 else "k"
        last.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=8, color=colour)
    last.set_yticks(range(len(names)), names, fontsize="small")
    last.set_xticks(range(len(names)), [f"{value:.2g}" for value in information])
    last.set_xlabel("Fisher information of the direction over that of the prior [1]", fontsize="small")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def recommended_of(found: list[xr.Dataset]) -> AbstractClosure:
    return getattr(closures, found[0].attrs["closure"]).recommended()


def lines(found: list[xr.Dataset]) -> list[str]:
    """The table: recommended value; of each file mean, standard deviation, and that over the prior's."""
    text, recommended = [], recommended_of(found)
    for i, name in enumerate(str(name) for name in found[0]["parameter"].values):
        numbers = [f"{float(getattr(recommended, name)):.3f}"]
        for each in found:
            values, share = each[name].values, float(each["covariance"].values[i, i]) ** 0.5
            numbers += [f"{values.mean():.3f} ± {values.std():.3f}", f"{share:.2f}"]
        text.append(f"| `{name}` | {' | '.join(numbers)} |")
    for each in found:
        deviation = np.sqrt(np.diag(each["covariance"].values))
        correlation = each["covariance"].values / np.outer(deviation, deviation)
        text.append(f"{each.attrs['method']}: correlations\n{np.round(correlation, 2)}")
    return text


if __name__ == "__main__":
    read = [xr.open_dataset(path) for path in sys.argv[1:]]
    print(*lines(read), sep="\n")
    if read[0].attrs["closure"] == "GenericLengthScale":
        draw(read).savefig(Path(__file__).parent / "posterior_recommended.png", dpi=110)
