"""From checked configurations to the objects of the package."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import io
from ..calibration import with_case_parameters, with_parameters
from ..case import Case
from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..grid import Grid
from ..io.registry import resolve, sha256_of
from ..io.yaml_file import naming
from ..model import Model
from ..observations import Observations
from ..physics import coriolis_parameter
from ..run import Run
from .build_interior import build_interior
from .build_site import site_case
from .cases import ForcingSection, GotmCase, IdealisedCase, LegayCase, LesbraryCase
from .gotm_case import build_gotm_run, read_gotm
from .load import Loaded
from .profiles import initial_state
from .schema import RunConfig
from .sections import FacesGrid, ModelSection, StretchedGrid, UniformGrid
from .series import Setting
from .site import SiteCase


def build_run(loaded: Loaded[RunConfig], parameters: dict[str, float] | None = None) -> Run:
    """Objects of a run.

    Args:
        loaded: from `load_run`.
        parameters: values of the closure that replace those of the configuration.

    Raises:
        ConfigError: values that do not fit each other.
        FileNotFoundError: a file of the case that is missing.
        FileFormatError: a file of the case that cannot be used.
    """
    config, source = loaded.config, loaded.path
    if isinstance(config.case, GotmCase):
        run = build_gotm_run(config, config.case, source)
        model = run.model if "model" not in config.model_fields_set else build_model(config.model, source)
        with naming(source, "parameters"):
            closure = with_parameters(model.closure, parameters or {})
        model = dataclasses.replace(model, closure=closure)
        return dataclasses.replace(run, model=model, case=_corrected(run.case, loaded, parameters))
    with loaded.naming_lines():
        case, observations = build_case(config.case, config.grid, source, "case")
    return Run(
        model=build_model(config.model, source, parameters),
        case=_corrected(case, loaded, parameters),
        observations=observations,
        dt=config.time.step,
        output_interval=config.time.output_interval,
        duration=config.time.duration,
        source=source,
    )


def _corrected(case: Case, loaded: Loaded[RunConfig], parameters: dict[str, float] | None) -> Case:
    """The case with the corrections of the configuration, and their numbers."""
    with naming(loaded.path, "corrections"):
        case = loaded.config.corrections.of(case)
    with naming(loaded.path, "parameters"):
        return with_case_parameters(case, parameters or {})


def build_model(section: ModelSection, source: Path, parameters: dict[str, float] | None = None) -> Model:
    """The model of a configuration; `parameters` replace values of the closure.

    Raises:
        ConfigError: a parameter that the closure does not have, or out of range.
    """
    closure = section.closure.build()
    with naming(source, "parameters"):
        closure = with_parameters(closure, parameters or {})
    return Model(closure, **section.given())


def build_grid(section: Any, depth: float) -> Grid | None:
    """The grid of a configuration; `None` for the native grid of the case."""
    if isinstance(section, UniformGrid):
        return Grid.uniform(depth, section.n_cells)
    if isinstance(section, StretchedGrid):
        return Grid.stretched(
            depth, section.n_cells, surface_zoom=section.surface_zoom, bottom_zoom=section.bottom_zoom
        )
    if isinstance(section, FacesGrid):
        return Grid(np.asarray(section.z_face))
    return None


def build_case(
    section: Any, grid: Any, source: Path, key: str, step: float | None = None
) -> tuple[Case, Observations | None]:
    """The case of a configuration on its grid, and its observations, if there are any.

    Args:
        section: one of `CaseSection`.
        grid: one of `GridSection`.
        source: the configuration file.
        key: of the section, for messages.
        step: time step [s]; for GOTM, whose cases depend on it.

    Raises:
        ConfigError: values that do not fit each other.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    if isinstance(section, GotmCase):
        run = read_gotm(section, grid, step, source, key)
        return run.case, run.observations
    if isinstance(section, IdealisedCase | SiteCase):
        with naming(source, "grid"):
            own_grid = build_grid(grid, section.depth)
            if own_grid is None:
                raise ValueError(
                    f"expected kind uniform, stretched or faces, got native, which {section.format} cases do "
                    "not have; choose one of these."
                )
            if abs(float(own_grid.depth) - section.depth) > 1e-6 * section.depth:
                raise ValueError(
                    f"expected faces down to the depth of the case, {section.depth:g} m, got "
                    f"{float(own_grid.depth):g} m; correct one of the two."
                )
        with naming(source, key):
            if isinstance(section, SiteCase):
                return site_case(
                    section, own_grid, Setting(source, key, section.start_time, section.duration)
                )
            return idealised_case(section, own_grid, Setting(source, key, None, section.duration)), None
    try:
        path = resolve(section.path, source.parent)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{source}: {key}.path: {error}") from error
    with naming(source, key):
        case, observations = _read(section, path)
    with naming(source, "grid"):
        target = build_grid(grid, float(case.grid.depth))
        return (case if target is None else case.on(target)), observations


def _read(section: Any, path: Path) -> tuple[Case, Observations]:
    if isinstance(section, LesbraryCase):
        return io.read_lesbrary(path)
    if isinstance(section, LegayCase):
        return io.read_legay(path, **section.options)
    return io.read_cf_netcdf(path, section.mapping.build())


def idealised_case(section: IdealisedCase, grid: Grid, setting: Setting) -> Case:
    """The case on a grid; `setting` says where it stands in the configuration.

    Raises:
        ValueError: N² for the temperature of water that does not expand.
    """
    water = section.equation_of_state.build()
    rotation = coriolis_parameter(section.latitude) if section.latitude is not None else 0.0
    if section.coriolis_parameter is not None:
        rotation = section.coriolis_parameter
    return Case(
        grid=grid,
        initial_state=initial_state(section, grid, water),
        forcing=_forcing(section.forcing),
        coriolis_parameter=rotation,
        equation_of_state=water,
        absorption=section.absorption.build(),
        interior=build_interior(section.interior, grid, setting),
        duration=section.duration,
        name=section.name,
        latitude=section.latitude,
    )


def _forcing(section: ForcingSection) -> AbstractForcing:
    if section.time is None:
        return ConstantForcing(SurfaceFluxes(**section.fluxes, tracer_fluxes=section.tracer_fluxes))
    as_arrays = {name: jnp.asarray(flux, dtype=float) for name, flux in section.fluxes.items()}
    tracers = {name: jnp.asarray(flux, dtype=float) for name, flux in section.tracer_fluxes.items()}
    return TimeSeriesForcing.from_values(np.asarray(section.time), **as_arrays, tracer_fluxes=tracers)


_KEYS = ("path", "paths", "forcing_file", "run")


def data_files(loaded: Loaded[Any]) -> dict[str, str]:
    """SHA-256 of the files that the cases of a configuration name, by what they are called there.

    Raises:
        FileNotFoundError: a file that is missing.
    """
    found = {}
    for name, required in _names(loaded.config.model_dump()):
        try:
            found[name] = sha256_of(resolve(name, loaded.path.parent))
        except FileNotFoundError:
            if required:
                raise
    return found


def _names(section: Any, required: bool = True) -> Iterator[tuple[str, bool]]:
    """Names of files, and whether the configuration cannot do without them."""
    if isinstance(section, list | tuple):
        for item in section:
            yield from _names(item, required)
    elif isinstance(section, dict):
        required = required and not section.get("skip_if_missing", False)
        for key, value in section.items():
            if key in _KEYS and isinstance(value, str):
                yield value, required
            elif key in _KEYS and isinstance(value, list | tuple):
                yield from ((str(item), required) for item in value)
            else:
                yield from _names(value, required)
