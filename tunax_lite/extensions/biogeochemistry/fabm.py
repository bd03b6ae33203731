"""Translate a `fabm.yaml` to the models of this package.

Instances become models, their parameters keep FABM's names, and pools are called `INSTANCE_POOL` as in the
output of GOTM with FABM. Unavailable models and parameters are reported with their lines.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pydantic

from ..._types import JSON
from ...config.builder import keys_of, section_of
from ...config.section import closest
from ...declarations import names_of
from ...io.yaml_file import Document, read_document
from .carbonate import Carbonate
from .interface import AbstractBiogeochemicalModel
from .term import below_zero

MODELS: Mapping[str, str] = {
    "gotm/npzd": "npzd",
    "gotm/fasham": "fasham",
    "gotm/ergom": "ergom",
    "pml/carbonate": "carbonate",
    "bb/passive": "passive",
}
"""Names of models in this package by their names in FABM."""

IDLE: Mapping[str, tuple[str, ...]] = {"ergom": ("pvel", "a0", "a1", "a2"), "passive": ("units", "conserved")}
"""Parameters of FABM that change no result."""

OURS: Mapping[str, Mapping[str, JSON]] = {"carbonate": {"equilibria": "pml"}}
"""Settings of this package, unknown to FABM, that make a model compute as in FABM."""

_CARBON_DIOXIDE = "mole_fraction_of_carbon_dioxide_in_air"
"""Input that FABM uses for `pCO2a` of carbonate if the parameter is absent or 0."""

_INSTANCE = ("model", "parameters", "initialization", "coupling", "long_name", "use", "check_conservation")


class Ecosystem(NamedTuple):
    """A translated file.

    Args:
        models: sections of the models, by instance.
        couplings: links of models to pools.
        initial: initial values by pool.
        problems: messages about everything unavailable or wrong, each with its line.
        built: models by instance; with default parameters if those of the file are invalid.
        used: FABM's names of the inputs that replace a parameter.
    """

    models: dict[str, JSON]
    couplings: list[str]
    initial: dict[str, float]
    problems: list[str]
    built: dict[str, AbstractBiogeochemicalModel]
    used: list[str]


def read_fabm(path: Path, inputs: Mapping[str, float] | None = None) -> Ecosystem:
    """Translate a `fabm.yaml`.

    Args:
        path: the file.
        inputs: constant inputs of the set-up, such as those of the air, by FABM's names.

    Raises:
        ConfigError: a file that is missing or not YAML.
    """
    document = read_document(path)
    ecosystem = Ecosystem({}, [], {}, [], {}, [])
    instances = document.data.get("instances")
    if not isinstance(instances, dict) or not instances:
        ecosystem.problems.append(
            f"{document.source}: instances: expected models, got none; name at least one"
        )
        return ecosystem
    translated = [
        _Instance(document, name, settings or {}, ecosystem, inputs or {})
        for name, settings in instances.items()
        if not (isinstance(settings, dict) and settings.get("use") is False)
    ]
    for each in translated:
        each.translate()
    for each in translated:
        if each.name in ecosystem.built:
            each.start()
            each.couple()
    return ecosystem


class _Instance(NamedTuple):
    document: Document
    name: str
    settings: JSON
    ecosystem: Ecosystem
    inputs: Mapping[str, float]

    def translate(self) -> None:
        """Record the section of the model."""
        if not isinstance(self.settings, dict):
            self._refuse((), f"expected a group of keys, got {self.settings!r}; indent the keys below it")
            return
        if not isinstance(used := self.settings.get("use", True), bool):
            self._refuse(("use",), f"expected true or false, got {used!r}; give one of them")
            return
        if not re.fullmatch(r"\w+", self.name):
            self._refuse((), "expected a name of letters, digits and _; rename it")
            return
        model = str(self.settings.get("model", self.name))
        if model not in MODELS:
            self._refuse(("model",), f"model {model!r} is not available; {closest(model, list(MODELS))}")
            return
        for key in self.settings.keys() - set(_INSTANCE):
            self._refuse((key,), f"expected one of {', '.join(_INSTANCE)}, got {key!r}; remove it")
        section = {"name": MODELS[model]} | self._parameters(MODELS[model])
        self.ecosystem.models[self.name] = section

    def start(self) -> None:
        """Record the initial values of the pools."""
        pools = {pool.name: pool for pool in self.ecosystem.built[self.name].pools()}
        for name, value in self._group("initialization").items():
            is_number = (
                isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            )
            if name in pools and is_number and not below_zero(name, pools[name], value):
                self.ecosystem.initial[f"{self.name}_{name}"] = float(value)
                continue
            expected = f"a pool ({', '.join(pools)}) and a number that it can have"
            self._refuse(("initialization", name), f"expected {expected}, got {name}: {value!r}; correct it")

    def couple(self) -> None:
        """Record the couplings of links of the model to pools."""
        built = self.ecosystem.built
        links = built[self.name].links()
        known = [f"{name}/{pool.name}" for name, model in built.items() for pool in model.pools()]
        for link, pool in self._group("coupling").items():
            if link in links and pool in known:
                self.ecosystem.couplings.append(f"{self.name}_{link} = {pool.replace('/', '_')}")
                continue
            expected = f"one of {', '.join(links) or 'no links'} with one of {', '.join(known)}"
            self._refuse(("coupling", link), f"expected {expected}, got {link}: {pool}; correct it")

    def _parameters(self, ours: str) -> dict[str, JSON]:
        kind: type[AbstractBiogeochemicalModel] = names_of(AbstractBiogeochemicalModel)[ours].kind
        parameters: dict[str, JSON] = dict(OURS.get(ours, {}))
        known = keys_of(kind).keys() - parameters.keys()
        for name, value in self._group("parameters").items():
            if name in IDLE.get(ours, ()):
                continue
            if name in known:
                parameters[name] = value
                continue
            hint = closest(name, sorted(known))
            self._refuse(("parameters", name), f"parameter {name!r} is not available; {hint}")
        if ours == "carbonate" and parameters.get("pCO2a", 0.0) == 0.0:
            parameters["pCO2a"] = self._carbon_dioxide()
        section = section_of(kind, ours)
        try:
            self.ecosystem.built[self.name] = section.model_validate({"name": ours} | parameters).build()
        except pydantic.ValidationError as error:
            for each in error.errors(include_url=False):
                self._refuse(("parameters", *map(str, each["loc"][:1])), each["msg"].removesuffix("."))
            # With defaults, so that initialization and coupling are still checked.
            self.ecosystem.built[self.name], parameters = section.model_validate({"name": ours}).build(), {}
        return parameters

    def _carbon_dioxide(self) -> float:
        """Mole fraction in the air [ppm] from the inputs of the set-up."""
        if _CARBON_DIOXIDE not in self.inputs:
            what = f"a mole fraction above 0 ppm, here or as a constant input {_CARBON_DIOXIDE}"
            self._refuse(("parameters", "pCO2a"), f"expected {what}, got none; give one")
            return float(Carbonate().pCO2a)
        self.ecosystem.used.append(_CARBON_DIOXIDE)
        return self.inputs[_CARBON_DIOXIDE]

    def _group(self, key: str) -> dict[str, JSON]:
        group = self.settings.get(key) or {}
        if isinstance(group, dict):
            return group
        self._refuse((key,), f"expected a group of keys, got {group!r}; indent the keys below it")
        return {}

    def _refuse(self, keys: tuple[str, ...], problem: str) -> None:
        path = ".".join(("instances", self.name, *keys))
        self.ecosystem.problems.append(f"{self.document.source}: {self._line(keys)}: {path}: {problem}")

    def _line(self, keys: tuple[str, ...]) -> str:
        """Line of a key of the instance, or of the nearest group above it."""
        path, origins = ("instances", self.name, *keys), self.document.origins
        return next((origins[path[:n]] for n in range(len(path), 0, -1) if path[:n] in origins), "line ?")
