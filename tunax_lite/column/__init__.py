"""The column: grid, water and forcing, one time step, the loop over steps, and what follows from a run."""
