"""One equation for k, with the length of a parcel against the stratification: Gaspar, NEMO, Veros."""
