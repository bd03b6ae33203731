"""Results of an assimilation as CF NetCDF."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ...column.observables import unit_of_difference, variable_of
from ...io.dataset import IDEALISED_EPOCH, height_coordinates
from ...io.provenance import Provenance
from .cycles import Assimilation, Records

if TYPE_CHECKING:
    import xarray as xr

_DAY = 86400.0
_OBSERVATION_VARIABLES = {
    "observation": ("values", "observed value", None),
    "observation_error": ("error", "standard deviation of the independent error", None),
    "predicted": ("predicted", "mean of the members before the analysis", None),
    "predicted_spread": ("predicted_spread", "standard deviation of the members before the analysis", None),
    "fitted": ("fitted", "mean of the members after the analysis", None),
    "used": ("used", "whether the observation passed the background check and was used", "1"),
}
_TEMPERATURE_VARIABLES = {
    "background": "mean temperature of the members before the analysis",
    "analysis": "mean temperature of the members after the analysis",
    "background_spread": "standard deviation of the members before the analysis",
    "analysis_spread": "standard deviation of the members after the analysis",
}


def to_dataset(run: Assimilation, records: Records, about: Provenance | None = None) -> "xr.Dataset":
    """Build the dataset of a file of results; several streams have an axis `stream`.

    The unit of streams of several variables, of logarithms and of values with a factor is written as 1.
    """
    import xarray as xr  # takes long

    streams, epoch = run.streams, run.system.case.start_time or IDEALISED_EPOCH
    several = ("stream",) if len(streams) > 1 else ()
    names = [stream.operator.variable for stream in streams]
    tracers = run.system.case.tracer_units
    is_converted = any(each.operator.logarithm or each.operator.factor != 1.0 for each in streams)
    has_unit = len(set(names)) == 1 and not is_converted
    unit = unit_of_difference(names[0], tracers) if has_unit else "1"

    def by_stream(values: np.ndarray) -> np.ndarray:
        return values if several else values[..., 0]

    def observation_variable(name: str) -> tuple:
        field, meaning, fixed_units = _OBSERVATION_VARIABLES[name]
        values = by_stream(records.observed(field))
        values = values.astype("i1" if field == "used" else float)
        is_absolute = has_unit and name in ("observation", "predicted", "fitted")
        absolute = variable_of(names[0]) if is_absolute else None
        units = fixed_units or (unit if absolute is None else absolute.unit)
        return ("time", *several), values, {"long_name": meaning, "units": units}

    variables = {
        "innovation": (
            ("time", "lead", *several),
            by_stream(records.innovation()),
            {
                "long_name": "observation minus forecast from an analysis that did not see the observation",
                "units": unit,
                "_FillValue": np.nan,
            },
        )
    }
    period_attributes = {
        "long_name": "time from the analysis to the observation",
        "standard_name": "forecast_period",
        "units": "days",
        "_FillValue": np.nan,
    }
    variables["forecast_period"] = ("time", "lead"), records.forecast_period() / _DAY, period_attributes
    variables |= {name: observation_variable(name) for name in _OBSERVATION_VARIABLES}
    variables |= _temperature_variables(records) | _process_variables(run, records)
    coordinates = {
        "time": ("time", records.time, _axis("time of the observation", epoch, "T")),
        "analysis_time": ("analysis_time", records.analysis_time, _axis("end of the window", epoch)),
        "lead": (
            "lead",
            np.asarray(run.cycles.leads) / _DAY,
            {"long_name": "nominal time from the analysis to the observation", "units": "days"},
        ),
        "process": ("process", np.array([each.label for each in run.system.processes], dtype=object), {}),
        "process_unit": (
            "process",
            np.array([run.system.unit_of(each) for each in run.system.processes], dtype=object),
            {"long_name": "unit of the process; 1 for the logarithm of a scaling factor"},
        ),
    }
    if several:
        labels = np.array([stream.operator.label for stream in streams], dtype=object)
        coordinates["stream"] = ("stream", labels, {"long_name": "observed variable and height [m]"})
    if not run.system.processes:
        del coordinates["process"], coordinates["process_unit"]
    attributes = {"Conventions": "CF-1.11", "title": "assimilation", "method": type(run.method).__name__}
    attributes |= (about or Provenance()).attributes
    attributes["tunax_lite_judged_from"] = str(run.cycles.judged_from)  # [s], like the times
    heights = height_coordinates(run.system.case.grid)
    return xr.Dataset(variables | heights, coordinates, attributes)


def _axis(meaning: str, epoch: str, axis: str = "") -> dict[str, str]:
    attributes = {"long_name": meaning, "standard_name": "time", "calendar": "standard"}
    return attributes | {"units": f"seconds since {epoch}"} | ({"axis": axis} if axis else {})


def _temperature_variables(records: Records) -> dict[str, tuple]:
    dims, statistics = ("analysis_time", "z_center"), records.by_cycle
    variables = {}
    for name, meaning in _TEMPERATURE_VARIABLES.items():
        units = "K" if name.endswith("spread") else "degC"
        variables[name] = dims, getattr(statistics, name), {"long_name": meaning, "units": units}
    attributes = {"long_name": "analysis minus background of the temperature", "units": "K"}
    return variables | {"increment": (dims, statistics.analysis - statistics.background, attributes)}


def _process_variables(run: Assimilation, records: Records) -> dict[str, tuple]:
    """Estimated corrections, and parameters in their units."""
    variables: dict[str, tuple] = {}
    dims = ("analysis_time", "process")
    if run.system.processes:
        mean = {
            "long_name": "mean of the autoregressive errors after the analysis",
            "comment": "for a scaling factor, its natural logarithm; units are in process_unit",
        }
        variables["correction"] = dims, records.by_cycle.processes, mean
        spread = {"long_name": "standard deviation of the members of correction"}
        variables["correction_spread"] = dims, records.by_cycle.processes_spread, spread
    free = run.system.parameters
    for index, number in enumerate(() if free is None else free.numbers):
        assert free is not None
        vectors = jnp.asarray(records.by_cycle.parameters).T
        values = np.asarray(jax.vmap(free.to_physical, -1, -1)(vectors))[index]
        name = f"parameter_{number.path.replace('.', '_')}"
        variables[name] = ("analysis_time",), values, {"long_name": number.path, "units": number.unit}
    return variables
