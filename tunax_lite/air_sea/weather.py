"""The state of the air over time, and what is known to be wrong with it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Scalar, is_traced, parameter
from ..quantities import quantity_of
from ..time_series import TimeSeries
from .humidity import HumidityMeasure

Values = Float[Array, "..."]


def _to_float_array(value):
    return jnp.asarray(value, dtype=float) if isinstance(value, (int, float, np.ndarray)) else value


class Weather(eqx.Module):
    """The air over one place: at one time, or over time with time as the first axis.

    Args:
        wind_u, wind_v: towards east and north at 10 m [m s-1].
        air_temperature: at 2 m [degC].
        humidity: at 2 m, in one of the measures of `HumidityMeasure`.
        air_pressure: at the surface [Pa].
        cloud_cover: from 0 to 1.
        precipitation: [m s-1].
        shortwave: shortwave radiation on the water [W m-2].
        longwave: net into the water, or from the sky where the forcing says so [W m-2].
    """

    wind_u: Values = eqx.field(converter=_to_float_array)
    wind_v: Values = eqx.field(converter=_to_float_array)
    air_temperature: Values = eqx.field(converter=_to_float_array)
    humidity: Values = eqx.field(converter=_to_float_array)
    air_pressure: Values = eqx.field(converter=_to_float_array)
    cloud_cover: Values | None = eqx.field(default=None, converter=_to_float_array)
    precipitation: Values | None = eqx.field(default=None, converter=_to_float_array)
    shortwave: Values | None = eqx.field(default=None, converter=_to_float_array)
    longwave: Values | None = eqx.field(default=None, converter=_to_float_array)


class WeatherOffsets(eqx.Module):
    """What is added to each series of the weather, for calibrations and sensitivities; 0 by default.

    Args:
        wind_u, wind_v: eastward and northward wind [m s-1].
        air_temperature: of the air [K].
        humidity: in the unit of its measure.
        air_pressure: of the air [Pa].
        cloud_cover: fraction of the sky [1].
        precipitation: rain [m s-1].
        shortwave, longwave: radiation [W m-2].
    """

    wind_u: Scalar = parameter(0.0, unit="m s-1")
    wind_v: Scalar = parameter(0.0, unit="m s-1")
    air_temperature: Scalar = parameter(0.0, unit="K")
    humidity: Scalar = parameter(0.0, unit="as the humidity")
    air_pressure: Scalar = parameter(0.0, unit="Pa")
    cloud_cover: Scalar = parameter(0.0, unit="1")
    precipitation: Scalar = parameter(0.0, unit="m s-1")
    shortwave: Scalar = parameter(0.0, unit="W m-2")
    longwave: Scalar = parameter(0.0, unit="W m-2")

    def add_to(self, weather: Weather) -> Weather:
        """The weather with what is known to be missing from it."""

        def shifted(name: str):
            values = getattr(weather, name)
            return None if values is None else values + getattr(self, name)

        return Weather(**{name: shifted(name) for name in Weather.__dataclass_fields__})


HUMIDITY_QUANTITIES: dict[HumidityMeasure, str] = {
    "relative": "relative_humidity",
    "wet_bulb": "wet_bulb",
    "dew_point": "dew_point",
    "specific": "specific_humidity",
}
"""What each measure of humidity is called in the table of quantities, and in files."""


def check_weather(weather: TimeSeries[Weather], humidity_measure: HumidityMeasure) -> None:
    """Refuse a value that no air has: most often one in another unit.

    Raises:
        ValueError: with name, value and time.
    """
    for name in Weather.__dataclass_fields__:
        quantity = quantity_of(HUMIDITY_QUANTITIES[humidity_measure] if name == "humidity" else name)
        lowest, highest = quantity.possible
        values = getattr(weather.values, name)
        if not isinstance(values, (jax.Array, np.ndarray)) or is_traced((values, weather.time)):
            continue
        values = np.asarray(values)
        bad = np.argwhere((values < lowest) | (values > highest))
        if len(bad):
            where = tuple(int(i) for i in bad[0])
            time = float(np.asarray(weather.time)[where[0]])
            raise ValueError(
                f"{weather.name}: expected {name} from {lowest:g} to {highest:g} [{quantity.unit}], got "
                f"{values[where]:g} at time {time:g} s (record {where[0]}); check its unit."
            )
    humidity = weather.values.humidity
    if humidity_measure != "relative" or is_traced(humidity) or not isinstance(humidity, jax.Array):
        return
    if np.max(np.asarray(humidity)) <= 1.5:
        raise ValueError(
            f"{weather.name}: expected relative humidity in %, got a largest value of "
            f"{np.max(np.asarray(humidity)):g}; multiply a fraction by 100."
        )
