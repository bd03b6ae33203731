"""Runs that a calibration must not spoil: their sections, and the checks that they stand for."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..calibration.checks import AbstractCheck, EntrainmentLaw, ObservedCase
from ..io.registry import resolve
from ..io.yaml_file import ConfigError, naming
from .builder import Section


class CheckSection(Section):
    """A run with something to compare it with; its error may not grow by more than 10 %."""

    run: str = Field(min_length=1, description="configuration of the run")
    against: Literal["entrainment_law", "observations"] = Field(
        default="observations", description="what the run is compared with"
    )
    name: str | None = Field(default=None, min_length=1, description="by default that of the case")
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="values that replace those of the configuration of the run, by key path",
    )
    skip_if_missing: bool = Field(
        default=False, description="whether to go without, saying so, where a file is missing"
    )


def build_checks(sections: Sequence[CheckSection], source: Path) -> tuple[list[AbstractCheck], list[str]]:
    """The checks of a calibration, and a sentence for each that is left out because a file is missing.

    Args:
        sections: of the configuration.
        source: the configuration file.

    Raises:
        ConfigError: a run that cannot be built, or that cannot be compared in this way; two of one name.
        FileNotFoundError: a missing file, named, unless the check may be left out.
        FileFormatError: a file that cannot be used.
    """
    checks: list[AbstractCheck] = []
    notes: list[str] = []
    for index, section in enumerate(sections):
        key = f"checks.{index}"
        try:
            check = _build(section, source, key)
        except FileNotFoundError as error:
            if not section.skip_if_missing:
                raise
            notes.append(f"left out a check: {error}")
            continue
        if check.name in [other.name for other in checks]:
            raise ConfigError(
                f"{source}: {key}.name: expected a check of another name, got '{check.name}' again; give it "
                "a `name`."
            )
        checks.append(check)
    return checks, notes


def _build(section: CheckSection, source: Path, key: str) -> AbstractCheck:
    from .build import build_run  # the schema knows this module, and building the schema
    from .build_calibration import evaluation_of
    from .load import load_run

    path = _resolved(section.run, source, f"{key}.run")
    overrides = [f"{name}={json.dumps(value)}" for name, value in section.settings.items()]
    loaded = load_run(path, overrides)
    run = build_run(loaded)
    name = section.name or run.case.name
    with naming(source, key):
        if section.against == "observations":
            model, (target,) = evaluation_of(loaded)
            return ObservedCase(name, model, target)
        return EntrainmentLaw(name, run.model, run.case, run.dt, run.duration_from(0.0))


def _resolved(name: str, source: Path, key: str) -> Path:
    try:
        return resolve(name, source.parent)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{source}: {key}: {error}") from error
