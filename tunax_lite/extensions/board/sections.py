"""The configuration of a board and its protocol."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from ...config.case import Thickness
from ...config.comparison import ComparedClosureSection, ComparisonConfig
from ...config.load import Loaded, load
from ...config.schema import Averaging
from ...config.section import Accepted, Section, closest, invalid, key
from ...config.site import CaseSection


class ProtocolSection(Section):
    """Settings of the runs and of the scores, equal for all closures."""

    version: str = key("version; scores of different versions cannot be compared", min_length=1)
    cell_thickness: Thickness = key("cells of all columns [m]", 2.0)
    dt: float = key("time step [s]", 60.0, gt=0.0, le=86400.0)
    start: float = key("first time that counts [s], after the spin-up of the turbulence", 7200.0, ge=0.0)
    averaging: Averaging = "points"
    temperature_difference: float = key(
        "difference between surface and base of the mixed layer [K]", 0.05, gt=0.0, le=10.0
    )
    reference: str = key("label of the row that errors are divided by", "k_epsilon_recommended")

    @property
    def mixed_layer_depth(self) -> str:
        """Name of the observable of the mixed layer depth with the threshold."""
        threshold = np.format_float_positional(self.temperature_difference, trim="0")
        return f"mixed_layer_depth_{threshold}K_from_0m"


class SourceSection(Section):
    """Origin of the files of some simulations."""

    title: str = key("name in words", min_length=1)
    url: str | None = key("address of the files or their originals", None)
    licence: str = key("licence of the files, or `none stated`", min_length=1)
    citation: str = key("publication to cite", "")


class SimulationSection(Section):
    """A simulation with its source."""

    name: str = key("name of the simulation", min_length=1)
    source: str = key("one of `sources`", min_length=1)
    case: CaseSection = key("where the case and its profiles come from")
    sha256: str | None = key(
        "SHA-256 of its file; null for a file of your own", None, pattern="^[0-9a-f]{64}$"
    )


class RowSection(ComparedClosureSection):
    """A closure, and the data on which its constants were chosen."""

    constants_from: str = key("where its constants come from", "")
    saw: list[str] | None = key(
        "sources and simulations on which its constants were chosen; null if unknown", None
    )


class BoardConfig(Section):
    """Closures judged on the same simulations."""

    protocol: ProtocolSection = key("settings of the runs and of the scores")
    sources: dict[str, SourceSection] = key("origins of the files, by name", min_length=1)
    simulations: list[SimulationSection] = key("simulations to compare with", min_length=1)
    rows: list[RowSection] = key("closures", min_length=1)
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)

    def _check(self) -> None:
        labels, names = [row.title for row in self.rows], [each.name for each in self.simulations]
        for what, texts in (("rows of different labels", labels), ("simulations of different names", names)):
            if repeated := [each for each in texts if texts.count(each) > 1]:
                raise invalid(what, f"'{repeated[0]}' twice", "rename one of them")
        for each in self.simulations:
            if each.source not in self.sources:
                hint = closest(each.source, list(self.sources))
                raise invalid(f"the source of {each.name} to be one of `sources`", f"'{each.source}'", hint)
        known = [*self.sources, *names]
        for row in self.rows:
            if unknown := [name for name in row.saw or () if name not in known]:
                what = f"`saw` of {row.title} to name sources or simulations"
                raise invalid(what, f"'{unknown[0]}'", closest(unknown[0], known))
        if (label := self.protocol.reference) not in labels:
            raise invalid("protocol.reference to be the label of a row", f"'{label}'", closest(label, labels))

    def seen(self, saw: Collection[str]) -> set[str]:
        """Names of the simulations that `saw` names by themselves or by their source."""
        return {each.name for each in self.simulations if each.name in saw or each.source in saw}

    @property
    def precision(self) -> str:
        """Precision of all runs."""
        return "float64"

    def comparison(self, rows: Sequence[RowSection]) -> ComparisonConfig:
        """Return the configuration of `compare` for some rows and all simulations."""
        protocol = self.protocol
        return ComparisonConfig.model_validate(
            {
                "closures": list(rows),
                "cases": [{"group": each.source, "case": each.case} for each in self.simulations],
                "grid": [{"kind": "uniform", "cell_thickness": protocol.cell_thickness}],
                "time": {"dt": [protocol.dt]},
                "variables": ["temperature", "u", "v", protocol.mixed_layer_depth],
                "start": protocol.start,
                "averaging": protocol.averaging,
                "accept": self.accept,
            }
        )


def load_board(path: Path, overrides: Sequence[str] = ()) -> Loaded[BoardConfig]:
    """Read the configuration of a board; arguments and errors as in `load_run`."""
    return load(path, overrides, BoardConfig)
