"""Register GOTM: as the format of a case in a configuration, and as files that run directly."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator

from ..._types import JSON
from ...config.builder import section_of
from ...config.case import GridSection
from ...config.closures import flatten
from ...config.formats import AbstractTranslatedCase, SetUpFormat, SomeLoaded
from ...config.section import key
from ...config.series import DataPath
from ...io.place import Place
from .output import OURS
from .water import ObservedInputs


class GotmCase(AbstractTranslatedCase):
    """A GOTM case: its configuration, with the files that it names."""

    format: Literal["gotm"]  # pyright: ignore[reportIncompatibleVariableOverride]
    path: DataPath
    name: str | None = key("name of the case; null for that of the file", None)
    salinity_anomaly: bool = key(
        "whether practical salinity is converted with the anomaly of the place; a GOTM built without the "
        "table of anomalies uses the ratio of the standard ocean",
        True,
    )
    settings: Annotated[dict[str, JSON], BeforeValidator(flatten)] = key(
        "values that replace those of the file, with GOTM's names", default_factory=dict
    )
    ignore_unsupported: bool = key("whether to run without settings that are not supported", False)
    observations: section_of(ObservedInputs) | None = key("data of its files for the comparison", None)  # pyright: ignore[reportInvalidTypeForm]

    def translated(self, where: Place, grid: GridSection, step: float | None) -> SomeLoaded:
        from .case import load_gotm  # imports the configuration, which imports this module

        replaced: dict[str, JSON] = dict(self.settings)
        if grid.kind != "native":
            replaced["grid.method"] = "analytical"  # so that no grid file is read
        if step is not None:
            replaced["time.dt"] = step
        loaded: SomeLoaded = load_gotm(
            where.file(self.path, "path"),
            replaced,
            f"{where.path}:",
            name=self.name,
            salinity_anomaly=self.salinity_anomaly,
            ignore_unsupported=self.ignore_unsupported,
            observed=None if self.observations is None else self.observations.build(),
        )
        loaded.report.check()
        if grid.kind != "native":
            loaded = dataclasses.replace(loaded, config=loaded.config.model_copy(update={"grid": grid}))
        return loaded


def _is_gotm(path: Path) -> bool:
    from .case import is_gotm

    return is_gotm(path)


def _load(path: Path, overrides: Sequence[str] | Mapping[str, JSON]) -> SomeLoaded:
    from .case import load_gotm

    ignore = "ignore_unsupported=true"
    ignores = ignore in overrides
    if not isinstance(overrides, Mapping):
        overrides = [each for each in overrides if each != ignore]
    return load_gotm(path, overrides, ignore_unsupported=ignores)


CASE_FORMATS = (GotmCase,)
SET_UPS = (SetUpFormat("gotm", _is_gotm, _load),)
VARIABLE_NAMES = (OURS,)
