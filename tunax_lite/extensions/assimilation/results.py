"""Results of an assimilation as CF NetCDF."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ...column.observables import unit_of_difference, variable_of
from ...io.dataset import IDEALISED_EPOCH, described, height_coordinates
from ...io.provenance import Provenance
from .cycles import Assimilation, Records

if TYPE_CHECKING:
    import xarray as xr

_DAY = 86400.0
_BEFORE, _AFTER = "members before the analysis", "members after the analysis"


def to_dataset(run: Assimilation, records: Records, about: Provenance | None = None) -> "xr.Dataset":
    """Build the dataset of a file of results; several streams have an axis `stream`.

    The unit of streams of several variables, of logarithms and of values with a factor is written as 1.
    """
    import xarray as xr  # takes long

    processes, epoch = run.system.processes, run.system.case.start_time or IDEALISED_EPOCH
    coordinates = {
        "time": ("time", records.time, _axis("time of the observation", epoch, "T")),
        "analysis_time": ("analysis_time", records.analysis_time, _axis("end of the window", epoch)),
        "lead": described(
            "lead",
            np.asarray(run.cycles.leads) / _DAY,
            "nominal time from the analysis to the observation",
            "days",
        ),
    }
    if len(run.streams) > 1:
        labels = np.array([stream.operator.label for stream in run.streams], dtype=object)
        coordinates["stream"] = ("stream", labels, {"long_name": "observed variable and height [m]"})
    if processes:
        coordinates["process"] = "process", np.array([each.label for each in processes], dtype=object), {}
        units = np.array([run.system.unit_of(each) for each in processes], dtype=object)
        meaning = {"long_name": "unit of the process; 1 for the logarithm of a scaling factor"}
        coordinates["process_unit"] = "process", units, meaning
    attributes = {"Conventions": "CF-1.11", "title": "assimilation", "method": type(run.method).__name__}
    attributes |= (about or Provenance()).attributes
    attributes["tunax_lite_judged_from"] = str(run.cycles.judged_from)  # [s], like the times
    variables = _stream_variables(run, records) | _temperature_variables(records)
    variables |= _process_variables(run, records) | height_coordinates(run.system.case.grid)
    return xr.Dataset(variables, coordinates, attributes)


def _axis(meaning: str, epoch: str, axis: str = "") -> dict[str, str]:
    attributes = {"long_name": meaning, "standard_name": "time", "calendar": "standard"}
    return attributes | {"units": f"seconds since {epoch}"} | ({"axis": axis} if axis else {})


def _stream_variables(run: Assimilation, records: Records) -> dict[str, tuple]:
    """Observations, their errors, predictions and innovations."""
    operators = [stream.operator for stream in run.streams]
    name, several = operators[0].variable, ("stream",) if len(operators) > 1 else ()
    difference = absolute = "1"
    if len({each.variable for each in operators}) == 1 and not any(each.is_converted for each in operators):
        difference = unit_of_difference(name, run.system.case.tracer_units)
        variable = variable_of(name)
        absolute = difference if variable is None else variable.unit

    def by_stream(values: np.ndarray) -> np.ndarray:
        return values if several else values[..., 0]

    used = by_stream(records.observed("used")).astype("i1")
    variables = {
        "innovation": described(
            ("time", "lead", *several),
            by_stream(records.innovation()),
            "observation minus forecast from an analysis that did not see the observation",
            difference,
            _FillValue=np.nan,
        ),
        "forecast_period": described(
            ("time", "lead"),
            records.forecast_period() / _DAY,
            "time from the analysis to the observation",
            "days",
            standard_name="forecast_period",
            _FillValue=np.nan,
        ),
        "used": described(
            ("time", *several), used, "whether the observation passed the background check and was used"
        ),
    }
    for label, field, meaning, unit in (
        ("observation", "values", "observed value", absolute),
        ("observation_error", "error", "standard deviation of the independent error", difference),
        ("predicted", "predicted", f"mean of the {_BEFORE}", absolute),
        ("predicted_spread", "predicted_spread", f"standard deviation of the {_BEFORE}", difference),
        ("fitted", "fitted", f"mean of the {_AFTER}", absolute),
    ):
        values = by_stream(records.observed(field)).astype(float)
        variables[label] = described(("time", *several), values, meaning, unit)
    return variables


def _temperature_variables(records: Records) -> dict[str, tuple]:
    dims, statistics = ("analysis_time", "z_center"), records.by_cycle
    increment = statistics.analysis - statistics.background
    fields = {
        "background": (statistics.background, f"mean temperature of the {_BEFORE}", "degC"),
        "analysis": (statistics.analysis, f"mean temperature of the {_AFTER}", "degC"),
        "background_spread": (statistics.background_spread, f"standard deviation of the {_BEFORE}", "K"),
        "analysis_spread": (statistics.analysis_spread, f"standard deviation of the {_AFTER}", "K"),
        "increment": (increment, "analysis minus background of the temperature", "K"),
    }
    return {name: described(dims, *field) for name, field in fields.items()}


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
    if (free := run.system.parameters) is not None:
        values = jax.vmap(free.to_physical)(jnp.asarray(records.by_cycle.parameters))
        for number, each in zip(free.numbers, np.asarray(values).T, strict=True):
            name = f"parameter_{number.path.replace('.', '_')}"
            variables[name] = described(("analysis_time",), each, number.path, number.unit)
    return variables
