"""The figures that are compared, with what they have to reach on the machine they were set for."""

from typing import NamedTuple


class Figure(NamedTuple):
    """One figure of a run of the benchmarks.

    Args:
        what: in words.
        unit: of the figure.
        must, aim: what it has to reach, and what it should.
        ceiling: of the machine, with which it scales; `None` for ratios and bytes.
        higher_is_better: of a speed, not a cost.
    """

    what: str
    unit: str
    must: float
    aim: float
    ceiling: str | None = None
    higher_is_better: bool = False


FIGURES = {
    "forward_1x64_float64_us": Figure(
        "one column of 64 levels, float64", "us per step", 12.0, 7.0, "dividing_link_float64_ns"
    ),
    "forward_1x256_float64_us": Figure(
        "one column of 256 levels, float64", "us per step", 30.0, 18.0, "dividing_link_float64_ns"
    ),
    "forward_128x64_float64_us": Figure(
        "128 columns of 64 levels, float64", "us per column-step", 4.2, 2.0, "fused_float64_ns"
    ),
    "forward_512x64_float32_us": Figure(
        "512 columns of 64 levels, float32", "us per column-step", 2.0, 1.0, "fused_float32_ns"
    ),
    "two_device_speedup": Figure("512 columns on two cores over one", "x", 1.8, 1.95, higher_is_better=True),
    "gradient_over_forward": Figure("gradient of 48 h by 5 parameters over forward", "x", 5.0, 3.5),
    "gradient_temporary_bytes": Figure("temporary memory of that gradient", "bytes", 500e3, 200e3),
    "gradient_compile_seconds": Figure(
        "compilation of that gradient", "s", 5.0, 3.0, "dividing_link_float64_ns"
    ),
    "jacobian10_over_forward": Figure("Jacobian of profiles by 10 parameters over forward", "x", 15.0, 8.0),
    "gradient_128x64_float64_us": Figure(
        "gradient by 5 parameters, 128 columns of 64 levels, float64",
        "us per column-step",
        25.0,
        12.0,
        "fused_float64_ns",
    ),
}
