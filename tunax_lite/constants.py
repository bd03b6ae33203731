"""Physical constants, each with unit and source."""

GRAVITY = 9.81
"""Acceleration of gravity [m s-2], the value of GOTM."""

REFERENCE_DENSITY = 1027.0
"""Density of sea water in the Boussinesq approximation [kg m-3], the value of GOTM."""

HEAT_CAPACITY = 3991.86796
"""Heat capacity of sea water at constant pressure [J kg-1 K-1], TEOS-10 (IOC et al., 2010)."""

MOLECULAR_VISCOSITY = 1.3e-6
"""Kinematic viscosity of sea water [m2 s-1], the value of GOTM."""

MOLECULAR_DIFFUSIVITY = 1.4e-7
"""Molecular diffusivity of heat in sea water [m2 s-1], the value of GOTM."""

VON_KARMAN = 0.4
"""Slope of the mixing length next to a wall [1], for closures that declare none."""

ROTATION_PERIOD = 86164.0
"""Sidereal day [s]; the Coriolis parameter is 4 pi / period * sin(latitude)."""
