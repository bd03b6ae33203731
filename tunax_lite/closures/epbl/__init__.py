"""A boundary layer whose diffusivity is as large as the energy of wind and convection allows."""
