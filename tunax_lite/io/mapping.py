"""How the variables of a user's NetCDF file map to those of the model."""

from dataclasses import dataclass

from ..declarations import setting

STATE_VARIABLES = ("temperature", "salinity", "u", "v")
FLUXES = ("stress_u", "stress_v", "heat_flux", "shortwave_flux", "freshwater_flux", "salt_flux")


@dataclass(frozen=True)
class Mapping:
    """What a file does not say of itself; everything left out is found by name or CF attributes.

    Args:
        variables: name in the file of `temperature`, `salinity`, `u` or `v`; `None` leaves one out.
        tracers: name in the file by name of the passive tracer.
        time, vertical: names of the coordinate variables.
        positive: direction in which the vertical coordinate increases.
        fluxes: a number, or a name in the file, for `stress_u`, `stress_v` [N m-2], `heat_flux`,
            `shortwave_flux` [W m-2], `freshwater_flux` or `salt_flux` [kg m-2 s-1].
        forcing_file: file with the fluxes; relative to the folder of the profiles.
        upward: fluxes that the file counts positive out of the water.
        units: unit by our name, also for `time`, `z` and fluxes; goes before the one in the file.
        latitude: [degrees north]; gives the Coriolis parameter.
        coriolis_parameter: [s-1]; instead of a latitude.
        salinity: constant value where the file has none [g kg-1].
        depth: of the bottom [m]; by default half a level spacing below the deepest level.
        duration: of the case [s]; by default up to the last profile.
        start: ISO 8601 time before which profiles are left out.
        name: of the case; by default that of the file.

    Raises:
        ValueError: names that do not exist, a latitude out of range, or both latitude and f.
    """

    variables: dict[str, str | None] = setting(default_factory=dict)
    tracers: dict[str, str] = setting(default_factory=dict)
    time: str | None = setting(None)
    vertical: str | None = setting(None)
    positive: str | None = setting(None, choices=("up", "down"))
    fluxes: dict[str, float | str] = setting(default_factory=dict)
    forcing_file: str | None = setting(None)
    upward: tuple[str, ...] = setting(())
    units: dict[str, str] = setting(default_factory=dict)
    latitude: float | None = setting(None, at_least=-90.0, at_most=90.0)
    coriolis_parameter: float | None = setting(None, at_least=-1e-2, at_most=1e-2)
    salinity: float = setting(35.0, at_least=0.0, at_most=60.0)
    depth: float | None = setting(None, above=0.0, at_most=12000.0)
    duration: float | None = setting(None, above=0.0)
    start: str | None = setting(None)
    name: str | None = setting(None)

    def __post_init__(self):
        with_units = (*STATE_VARIABLES, *FLUXES, *self.tracers, "time", "z")
        for key, given, known in (
            ("variables", self.variables, STATE_VARIABLES),
            ("fluxes", self.fluxes, FLUXES),
            ("upward", self.upward, FLUXES),
            ("units", self.units, with_units),
        ):
            unknown = [name for name in given if name not in known]
            if unknown:
                raise ValueError(
                    f"mapping.{key}: expected names among {', '.join(known)}, got '{unknown[0]}'."
                )
        if self.positive not in (None, "up", "down"):
            raise ValueError(f"mapping.positive: expected 'up' or 'down', got '{self.positive}'.")
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise ValueError("mapping: expected latitude or coriolis_parameter, got both.")
        if self.latitude is not None and not -90.0 <= self.latitude <= 90.0:
            raise ValueError(f"mapping.latitude: expected degrees north, -90 to 90, got {self.latitude}.")
