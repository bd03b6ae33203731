"""The variables of the package as data: name, long name, unit, place on the grid, CF standard name.

Standard names are those of version 93 of the CF table; `None` where it has no fitting name.
"""

from dataclasses import dataclass
from typing import Literal

Location = Literal["center", "face", "scalar"]


@dataclass(frozen=True)
class Variable:
    """One line of the table; the unit is written as in the UDUNITS package."""

    name: str
    long_name: str
    unit: str
    location: Location
    standard_name: str | None = None


_TABLE = (
    Variable("u", "eastward velocity", "m s-1", "center", "eastward_sea_water_velocity"),
    Variable("v", "northward velocity", "m s-1", "center", "northward_sea_water_velocity"),
    Variable("temperature", "temperature", "degC", "center", "sea_water_conservative_temperature"),
    Variable("salinity", "salinity", "g kg-1", "center", "sea_water_absolute_salinity"),
    Variable("buoyancy", "buoyancy", "m s-2", "center"),
    Variable("sea_surface_temperature", "temperature of the uppermost cell", "degC", "scalar"),
    Variable("potential_density", "potential density", "kg m-3", "center", "sea_water_potential_density"),
    Variable("cell_thickness", "thickness of the cells", "m", "center", "cell_thickness"),
    Variable(
        "buoyancy_frequency_squared",
        "square of the buoyancy frequency",
        "s-2",
        "face",
        "square_of_brunt_vaisala_frequency_in_sea_water",
    ),
    Variable("shear_squared", "square of the vertical shear", "s-2", "face"),
    Variable(
        "richardson_number",
        "gradient Richardson number",
        "1",
        "face",
        "richardson_number_in_sea_water",
    ),
    Variable(
        "eddy_viscosity",
        "eddy viscosity",
        "m2 s-1",
        "face",
        "ocean_vertical_momentum_diffusivity",
    ),
    Variable("stokes_viscosity", "eddy viscosity down the shear of the Stokes drift", "m2 s-1", "face"),
    Variable("eddy_diffusivity", "eddy diffusivity", "m2 s-1", "face", "ocean_vertical_tracer_diffusivity"),
    Variable(
        "turbulent_kinetic_energy",
        "turbulent kinetic energy per mass",
        "m2 s-2",
        "face",
        "specific_turbulent_kinetic_energy_of_sea_water",
    ),
    Variable(
        "dissipation_rate",
        "dissipation rate of turbulent kinetic energy",
        "m2 s-3",
        "face",
        "specific_turbulent_kinetic_energy_dissipation_in_sea_water",
    ),
    Variable(
        "mixing_length",
        "turbulent mixing length",
        "m",
        "face",
        "turbulent_mixing_length_of_sea_water",
    ),
    Variable("shear_production", "production of turbulence by shear", "m2 s-3", "face"),
    Variable("buoyancy_production", "production of turbulence by buoyancy", "m2 s-3", "face"),
    Variable("nonlocal_transport", "share of the surface flux carried without a gradient", "1", "face"),
    Variable("temperature_variance", "variance of the temperature of turbulence", "K2", "face"),
    Variable("variance_driven_flux", "upward temperature flux of the variance", "K m s-1", "face"),
    Variable("plume_mass_flux", "area times downward velocity of plumes", "m s-1", "face"),
    Variable("plume_momentum_flux", "mass flux of plumes less the effect of pressure", "m s-1", "face"),
    Variable("plume_velocity", "downward velocity of plumes", "m s-1", "face"),
    Variable("plume_kinetic_energy", "turbulent kinetic energy in plumes", "m2 s-2", "face"),
    Variable("entrained_share", "share of the water of plumes that the cell above gave", "1", "face"),
    Variable("plume_depth", "depth that plumes reach", "m", "scalar"),
    Variable(
        "boundary_layer_depth",
        "depth of the surface boundary layer",
        "m",
        "scalar",
        "ocean_mixed_layer_thickness_defined_by_mixing_scheme",
    ),
    Variable(
        "mean_destabilising_flux",
        "mean surface buoyancy flux of CATKE, positive where it destabilises",
        "m2 s-3",
        "scalar",
    ),
    Variable(
        "mixed_layer_depth",
        "depth where the temperature is 0.2 K below that of the surface",
        "m",
        "scalar",
        "ocean_mixed_layer_thickness_defined_by_temperature",
    ),
    Variable(
        "mixed_layer_depth_density",
        "depth where the potential density exceeds that of the surface by 0.03 kg m-3",
        "m",
        "scalar",
        "ocean_mixed_layer_thickness_defined_by_sigma_theta",
    ),
    Variable("mixed_layer_depth_stratification", "depth of the strongest stratification", "m", "scalar"),
    Variable("mixed_layer_depth_richardson", "depth where the Richardson number exceeds 0.5", "m", "scalar"),
    Variable(
        "mixed_layer_depth_turbulence",
        "depth where the eddy diffusivity falls below 1e-5 m2 s-1",
        "m",
        "scalar",
    ),
    Variable("heat_content", "heat in the column relative to 0 degC", "J m-2", "scalar"),
    Variable("salt_content", "salt in the column", "kg m-2", "scalar"),
    Variable("potential_energy", "potential energy of the column", "J m-2", "scalar"),
    Variable(
        "potential_energy_anomaly", "energy per volume that it takes to mix the column", "J m-3", "scalar"
    ),
    Variable("kinetic_energy", "kinetic energy of the column", "J m-2", "scalar"),
    Variable("turbulent_energy", "turbulent kinetic energy of the column", "J m-2", "scalar"),
    Variable(
        "surface_stress_u",
        "eastward stress on the water",
        "N m-2",
        "scalar",
        "surface_downward_eastward_stress",
    ),
    Variable(
        "surface_stress_v",
        "northward stress on the water",
        "N m-2",
        "scalar",
        "surface_downward_northward_stress",
    ),
    Variable("friction_velocity", "friction velocity of the surface", "m s-1", "scalar"),
    Variable(
        "surface_heat_flux",
        "heat absorbed at the surface, without sunlight",
        "W m-2",
        "scalar",
        "surface_downward_heat_flux_in_sea_water",
    ),
    Variable(
        "surface_shortwave_flux",
        "sunlight that enters the water",
        "W m-2",
        "scalar",
        "net_downward_shortwave_flux_at_sea_water_surface",
    ),
    Variable(
        "surface_latent_heat_flux",
        "latent heat into the water, as the bulk formula gives it",
        "W m-2",
        "scalar",
        "surface_downward_latent_heat_flux",
    ),
    Variable(
        "surface_sensible_heat_flux",
        "sensible heat into the water, as the bulk formula gives it",
        "W m-2",
        "scalar",
        "surface_downward_sensible_heat_flux",
    ),
    Variable(
        "surface_longwave_flux",
        "net longwave radiation into the water",
        "W m-2",
        "scalar",
        "surface_net_downward_longwave_flux",
    ),
    Variable(
        "surface_freshwater_flux",
        "precipitation minus evaporation",
        "kg m-2 s-1",
        "scalar",
        "water_flux_into_sea_water",
    ),
    Variable("surface_salt_flux", "salt that enters the water", "kg m-2 s-1", "scalar"),
    Variable(
        "surface_buoyancy_flux",
        "buoyancy that enters through the surface",
        "m2 s-3",
        "scalar",
        "surface_buoyancy_flux_into_sea_water",
    ),
    Variable("bottom_friction_velocity", "friction velocity of the bottom", "m s-1", "scalar"),
    Variable("surface_elevation", "height of the surface above its level at rest", "m", "scalar"),
    Variable("stokes_drift_u", "eastward Stokes drift", "m s-1", "center"),
    Variable("stokes_drift_v", "northward Stokes drift", "m s-1", "center"),
    Variable("coriolis_parameter", "Coriolis parameter", "s-1", "scalar", "coriolis_parameter"),
)

VARIABLES: dict[str, Variable] = {variable.name: variable for variable in _TABLE}
"""The table by name."""

GRID_NAMES = ("time", "step", "z_center", "z_face", "z_center_bounds", "height_face", "time_bounds")
"""Of files: axes, and what belongs to them."""
