"""The quantities of the package as data: name, unit, place, CF standard name, sign, and what values can be.

Standard names are those of version 93 of the CF table; `None` where it has no fitting name.
"""

import math
from dataclasses import dataclass
from typing import Literal

Location = Literal["center", "face", "scalar", "outside"]


@dataclass(frozen=True)
class Quantity:
    """One line of the table.

    Args:
        name: in files, options and messages; a flux through the surface begins with `surface_`.
        long_name: in words.
        unit: as written in the UDUNITS package.
        location: on the grid; what is given from outside is on none.
        standard_name: of CF.
        possible: lowest and highest value; beyond them a number is in another unit or a fill value, not
            sea water or air.
        positive: where a vector or a flux points if it is positive.
        suspect: a wrong unit that is easily taken for the right one, and between what values it is.
    """

    name: str
    long_name: str
    unit: str
    location: Location
    standard_name: str | None = None
    possible: tuple[float, float] = (-math.inf, math.inf)
    positive: str | None = None
    suspect: tuple[str, float, float] | None = None


_KELVIN = ("K", 183.0, 340.0)
_VELOCITY, _WIND, _STRESS = (-20.0, 20.0), (-100.0, 100.0), (-50.0, 50.0)
_HEAT, _WATER, _DEPTH = (-1e4, 1e4), (-1.0, 1.0), (0.0, 12000.0)
_EAST, _NORTH, _INTO, _UP = "eastward", "northward", "into the water", "upward"

_TABLE = (
    Quantity(
        "u",
        "eastward velocity",
        "m s-1",
        "center",
        "eastward_sea_water_velocity",
        possible=_VELOCITY,
        positive=_EAST,
    ),
    Quantity(
        "v",
        "northward velocity",
        "m s-1",
        "center",
        "northward_sea_water_velocity",
        possible=_VELOCITY,
        positive=_NORTH,
    ),
    Quantity(
        "temperature",
        "temperature",
        "degC",
        "center",
        "sea_water_conservative_temperature",
        possible=(-5.0, 60.0),
        suspect=_KELVIN,
    ),
    Quantity("salinity", "salinity", "g kg-1", "center", "sea_water_absolute_salinity", possible=(0.0, 60.0)),
    Quantity("buoyancy", "buoyancy", "m s-2", "center"),
    Quantity(
        "sea_surface_temperature",
        "temperature of the uppermost cell",
        "degC",
        "scalar",
        possible=(-5.0, 60.0),
        suspect=_KELVIN,
    ),
    Quantity("potential_density", "potential density", "kg m-3", "center", "sea_water_potential_density"),
    Quantity("cell_thickness", "thickness of the cells", "m", "center", "cell_thickness"),
    Quantity(
        "buoyancy_frequency_squared",
        "square of the buoyancy frequency",
        "s-2",
        "face",
        "square_of_brunt_vaisala_frequency_in_sea_water",
    ),
    Quantity("shear_squared", "square of the vertical shear", "s-2", "face"),
    Quantity(
        "richardson_number", "gradient Richardson number", "1", "face", "richardson_number_in_sea_water"
    ),
    Quantity("eddy_viscosity", "eddy viscosity", "m2 s-1", "face", "ocean_vertical_momentum_diffusivity"),
    Quantity("stokes_viscosity", "eddy viscosity down the shear of the Stokes drift", "m2 s-1", "face"),
    Quantity("eddy_diffusivity", "eddy diffusivity", "m2 s-1", "face", "ocean_vertical_tracer_diffusivity"),
    Quantity(
        "turbulent_kinetic_energy",
        "turbulent kinetic energy per mass",
        "m2 s-2",
        "face",
        "specific_turbulent_kinetic_energy_of_sea_water",
    ),
    Quantity(
        "dissipation_rate",
        "dissipation rate of turbulent kinetic energy",
        "m2 s-3",
        "face",
        "specific_turbulent_kinetic_energy_dissipation_in_sea_water",
    ),
    Quantity("mixing_length", "turbulent mixing length", "m", "face", "turbulent_mixing_length_of_sea_water"),
    Quantity("shear_production", "production of turbulence by shear", "m2 s-3", "face"),
    Quantity("buoyancy_production", "production of turbulence by buoyancy", "m2 s-3", "face"),
    Quantity("nonlocal_transport", "fraction of the surface flux carried without a gradient", "1", "face"),
    Quantity("temperature_variance", "variance of the temperature of turbulence", "K2", "face"),
    Quantity("variance_driven_flux", "upward temperature flux of the variance", "K m s-1", "face"),
    Quantity("plume_mass_flux", "area times downward velocity of plumes", "m s-1", "face"),
    Quantity("plume_momentum_flux", "mass flux of plumes less the effect of pressure", "m s-1", "face"),
    Quantity("plume_velocity", "downward velocity of plumes", "m s-1", "face"),
    Quantity("plume_kinetic_energy", "turbulent kinetic energy in plumes", "m2 s-2", "face"),
    Quantity("entrained_fraction", "fraction of the water of plumes that the cell above gave", "1", "face"),
    Quantity("plume_depth", "depth that plumes reach", "m", "scalar"),
    Quantity(
        "boundary_layer_depth",
        "depth of the surface boundary layer",
        "m",
        "scalar",
        "ocean_mixed_layer_thickness_defined_by_mixing_scheme",
    ),
    Quantity(
        "mean_destabilising_flux",
        "mean surface buoyancy flux of CATKE, positive where it destabilises",
        "m2 s-3",
        "scalar",
    ),
    Quantity(
        "mixed_layer_depth",
        "depth where the temperature is 0.2 K below that of the surface",
        "m",
        "scalar",
        "ocean_mixed_layer_thickness_defined_by_temperature",
        possible=_DEPTH,
    ),
    Quantity(
        "mixed_layer_depth_density",
        "depth where the potential density exceeds that of the surface by 0.03 kg m-3",
        "m",
        "scalar",
        "ocean_mixed_layer_thickness_defined_by_sigma_theta",
        possible=_DEPTH,
    ),
    Quantity(
        "mixed_layer_depth_stratification",
        "depth of the strongest stratification",
        "m",
        "scalar",
        possible=_DEPTH,
    ),
    Quantity("mixed_layer_depth_richardson", "depth where the Richardson number exceeds 0.5", "m", "scalar"),
    Quantity(
        "mixed_layer_depth_turbulence",
        "depth where the eddy diffusivity falls below 1e-5 m2 s-1",
        "m",
        "scalar",
    ),
    Quantity("heat_content", "heat in the column relative to 0 degC", "J m-2", "scalar"),
    Quantity("salt_content", "salt in the column", "kg m-2", "scalar"),
    Quantity("potential_energy", "potential energy of the column", "J m-2", "scalar"),
    Quantity(
        "potential_energy_anomaly", "energy per volume that it takes to mix the column", "J m-3", "scalar"
    ),
    Quantity("kinetic_energy", "kinetic energy of the column", "J m-2", "scalar"),
    Quantity("turbulent_energy", "turbulent kinetic energy of the column", "J m-2", "scalar"),
    Quantity(
        "surface_stress_u",
        "eastward stress on the water",
        "N m-2",
        "scalar",
        "surface_downward_eastward_stress",
        possible=_STRESS,
        positive=_EAST,
    ),
    Quantity(
        "surface_stress_v",
        "northward stress on the water",
        "N m-2",
        "scalar",
        "surface_downward_northward_stress",
        possible=_STRESS,
        positive=_NORTH,
    ),
    Quantity("friction_velocity", "friction velocity of the surface", "m s-1", "scalar"),
    Quantity(
        "surface_heat_flux",
        "heat absorbed at the surface, without shortwave radiation",
        "W m-2",
        "scalar",
        "surface_downward_heat_flux_in_sea_water",
        possible=_HEAT,
        positive=_INTO,
    ),
    Quantity(
        "surface_shortwave_flux",
        "shortwave radiation that enters the water",
        "W m-2",
        "scalar",
        "net_downward_shortwave_flux_at_sea_water_surface",
        possible=(-1.0, 1800.0),
        positive=_INTO,
    ),
    Quantity(
        "surface_latent_heat_flux",
        "latent heat into the water, as the bulk formula gives it",
        "W m-2",
        "scalar",
        "surface_downward_latent_heat_flux",
        possible=_HEAT,
        positive=_INTO,
    ),
    Quantity(
        "surface_sensible_heat_flux",
        "sensible heat into the water, as the bulk formula gives it",
        "W m-2",
        "scalar",
        "surface_downward_sensible_heat_flux",
        possible=_HEAT,
        positive=_INTO,
    ),
    Quantity(
        "surface_longwave_flux",
        "net longwave radiation into the water",
        "W m-2",
        "scalar",
        "surface_net_downward_longwave_flux",
        possible=_HEAT,
        positive=_INTO,
    ),
    Quantity(
        "surface_freshwater_flux",
        "precipitation minus evaporation",
        "kg m-2 s-1",
        "scalar",
        "water_flux_into_sea_water",
        possible=_WATER,
        positive=_INTO,
    ),
    Quantity(
        "surface_salt_flux",
        "salt that enters the water",
        "kg m-2 s-1",
        "scalar",
        possible=_WATER,
        positive=_INTO,
    ),
    Quantity(
        "surface_buoyancy_flux",
        "buoyancy that enters through the surface",
        "m2 s-3",
        "scalar",
        "surface_buoyancy_flux_into_sea_water",
        possible=(-1e-4, 1e-4),
        positive=_INTO,
    ),
    Quantity("bottom_friction_velocity", "friction velocity of the bottom", "m s-1", "scalar"),
    Quantity(
        "surface_elevation",
        "height of the surface above its level at rest",
        "m",
        "scalar",
        possible=(-100.0, 100.0),
        positive=_UP,
    ),
    Quantity(
        "stokes_drift_u", "eastward Stokes drift", "m s-1", "center", possible=(-5.0, 5.0), positive=_EAST
    ),
    Quantity(
        "stokes_drift_v", "northward Stokes drift", "m s-1", "center", possible=(-5.0, 5.0), positive=_NORTH
    ),
    Quantity(
        "coriolis_parameter",
        "Coriolis parameter",
        "s-1",
        "scalar",
        "coriolis_parameter",
        possible=(-1e-2, 1e-2),
    ),
    # What the water is given: the weather, and what acts on it from outside.
    Quantity("wind_u", "eastward wind", "m s-1", "outside", "eastward_wind", _WIND, _EAST),
    Quantity("wind_v", "northward wind", "m s-1", "outside", "northward_wind", _WIND, _NORTH),
    Quantity(
        "air_temperature",
        "air temperature",
        "degC",
        "outside",
        "air_temperature",
        (-90.0, 60.0),
        suspect=_KELVIN,
    ),
    Quantity(
        "wet_bulb",
        "wet-bulb temperature",
        "degC",
        "outside",
        "wet_bulb_temperature",
        (-90.0, 60.0),
        suspect=_KELVIN,
    ),
    Quantity(
        "dew_point", "dew point", "degC", "outside", "dew_point_temperature", (-100.0, 60.0), suspect=_KELVIN
    ),
    Quantity("relative_humidity", "relative humidity", "%", "outside", "relative_humidity", (0.0, 130.0)),
    Quantity(
        "specific_humidity",
        "specific humidity",
        "kg kg-1",
        "outside",
        "specific_humidity",
        (0.0, 0.1),
        suspect=("g kg-1", 0.1, 80.0),
    ),
    Quantity(
        "air_pressure",
        "air pressure",
        "Pa",
        "outside",
        "air_pressure",
        (5e4, 1.2e5),
        suspect=("hPa", 500.0, 1200.0),
    ),
    Quantity(
        "cloud_cover",
        "cover of the sky by clouds",
        "1",
        "outside",
        "cloud_area_fraction",
        (0.0, 1.0),
        suspect=("%", 1.0, 100.0),
    ),
    Quantity(
        "precipitation",
        "precipitation",
        "m s-1",
        "outside",
        "lwe_precipitation_rate",
        (-1e-4, 1e-3),
        _INTO,
        ("mm h-1 or mm day-1", 1e-3, 1e3),
    ),
    Quantity(
        "shortwave",
        "shortwave radiation of the sky",
        "W m-2",
        "outside",
        possible=(-50.0, 1800.0),
        positive=_INTO,
    ),
    Quantity(
        "longwave",
        "longwave radiation of the sky",
        "W m-2",
        "outside",
        possible=(-600.0, 700.0),
        positive=_INTO,
    ),
    Quantity("slope", "slope of the surface", "1", "outside", possible=(-1e-2, 1e-2)),
    Quantity("velocity", "velocity", "m s-1", "outside", possible=_VELOCITY),
    Quantity(
        "vertical_velocity",
        "vertical velocity",
        "m s-1",
        "outside",
        "upward_sea_water_velocity",
        (-1.0, 1.0),
        _UP,
    ),
    Quantity("height", "height", "m", "outside", possible=(-12000.0, 12000.0), positive=_UP),
    Quantity(
        "temperature_gradient",
        "horizontal gradient of temperature",
        "K m-1",
        "outside",
        possible=(-0.1, 0.1),
    ),
    Quantity(
        "salinity_gradient",
        "horizontal gradient of salinity",
        "g kg-1 m-1",
        "outside",
        possible=(-0.1, 0.1),
    ),
    # Axes.
    Quantity(
        "z", "height above the surface at rest", "m", "outside", "height_above_mean_sea_level", positive=_UP
    ),
    Quantity("interval", "time", "s", "outside"),
)

QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in _TABLE}
"""The table by name."""


def quantity_of(name: str) -> Quantity:
    """The line of a quantity; surface fluxes also by their names in the forcing, such as `stress_u`."""
    return QUANTITIES[f"surface_{name}" if f"surface_{name}" in QUANTITIES else name]


GRID_NAMES = ("time", "step", "z_center", "z_face", "z_center_bounds", "height_face", "time_bounds")
"""Of files: axes, and what belongs to them."""
