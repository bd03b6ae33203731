"""What other column models take on one core: measured once, with the authors' programs unchanged.

GOTM 7.0.0-dev (84f8d8e9, gfortran 12 -O3) on a shared two-core x86 machine at 2.5 GHz, k-epsilon, float64.
"Stripped" is GOTM without the conversions to TEOS-10 of its output, which it makes at every step, whether
needed or not. Of Tunax 0.2.6 (ad4e691, jax 0.10.2) ratios are kept, not times: those of programs that took
turns in one process, and of its own programs among each other. `None`: not measured.
"""

MACHINE = "shared two-core x86 machine, 2.5 GHz"
STEP_US: dict[str, dict[int, float]] = {
    "GOTM as shipped": {64: 54.0, 128: 113.0, 256: 222.0},
    "GOTM stripped": {64: 15.2, 128: 29.7, 256: 58.0},
}
"""By levels, one column [us per step]."""
TUNAX_STEP_OVER_OURS = {64: 6.4, 256: 3.3}
"""By levels, one column in float64: time of a step over ours, in turns in one process."""
GRADIENT = {
    "Tunax, reverse": {
        "over_forward": "7 to 10",
        "temporary_bytes": 258e6,
        "compile_seconds": "14 to 18",
    },
    "Tunax, checkpointed": {
        "over_forward": "6 to 7",
        "temporary_bytes": 16.7e6,
        "compile_seconds": None,
    },
}
"""Gradient of 48 h of 64 levels by five parameters [ratio, bytes, s]."""
JACOBIAN_OVER_FORWARD = {"Tunax, forward mode with 5 parameters in float64": "20 to 25"}
