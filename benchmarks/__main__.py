"""Measure the column on one pinned core and print ratios: `python -m benchmarks [--quick] [--json FILE]`."""

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

from .timing import pin_to_one_core

CORE = pin_to_one_core()  # before JAX starts its threads

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

import tunax_lite as tl  # noqa: E402

from .column import (  # noqa: E402
    GRADIENT_PARAMETERS,
    N_STEPS,
    default_values,
    loss,
    wind_driven_case,
    with_parameters,
)
from .limits import step_limit  # noqa: E402
from .timing import compile_program, time_calls  # noqa: E402

MICRO = 1e6
LAYOUTS = {"segments": tl.SaveSegments(), "step": tl.SaveSteps(), "none": tl.SaveEverything()}
TARGETS = {
    "forward_64_us": 15.0,
    "gradient_over_forward": 6.0,
    "gradient_temporary_MB": 2.0,
    "gradient_compile_s": 8.0,
}


def measure_forward(n_levels: int, repetitions: int) -> tuple[float, Any]:
    """Microseconds per step of one column, and the call to time again."""
    case = wind_driven_case(n_levels)
    values = default_values()
    program = compile_program(lambda v: loss(with_parameters(v), case, tl.SaveEverything()), values)
    call = lambda: program.call(values)  # noqa: E731
    return time_calls(call, repetitions).minimum / N_STEPS * MICRO, call


def measure_gradient(layout, repetitions: int, forward_call) -> dict[str, float]:
    """Cost of the gradient of the loss by ten parameters, against the forward run timed in turn with it."""
    case = wind_driven_case(64)
    values = default_values()
    gradient = jax.value_and_grad(lambda v: loss(with_parameters(v), case, layout))
    program = compile_program(gradient, values)
    timing = time_calls(lambda: program.call(values), repetitions)
    forward = time_calls(forward_call, repetitions)
    return {
        "us_per_step": timing.minimum / N_STEPS * MICRO,
        "over_forward": timing.minimum / forward.minimum,
        "temporary_MB": program.temporary_bytes / 1e6,
        "trace_s": program.trace_seconds,
        "compile_s": program.compile_seconds,
    }


def measure(quick: bool) -> dict[str, float]:
    """All figures as one flat object."""
    repetitions = 5 if quick else 15
    levels = (64,) if quick else (64, 128, 256)
    figures: dict[str, float] = {}
    forward_call = None
    for n_levels in levels:
        figures[f"forward_{n_levels}_us"], call = measure_forward(n_levels, repetitions)
        figures[f"limit_{n_levels}_us"] = step_limit(n_levels, repetitions) * MICRO
        forward_call = forward_call or call
    for name, layout in LAYOUTS.items():
        if quick and name != "segments":
            continue
        for key, value in measure_gradient(layout, repetitions, forward_call).items():
            figures[f"gradient_{name}_{key}"] = value
    return figures


def report(figures: dict[str, float]) -> str:
    """The figures as text, with targets, ratios and the distance to the limit."""
    lines = [
        f"{platform.processor() or platform.machine()}, core {CORE}, jax {jax.__version__}, float64, "
        f"k-epsilon, {N_STEPS} steps, linear equation of state",
        "",
        "forward            us/step   limit us   over the limit",
    ]
    for key, value in figures.items():
        if key.startswith("forward_"):
            n_levels = key.split("_")[1]
            limit = figures[f"limit_{n_levels}_us"]
            lines.append(f"  {n_levels:>4} levels   {value:9.2f}  {limit:9.2f}   {value / limit:8.1f}x")
    lines += [
        "",
        f"gradient by {len(GRADIENT_PARAMETERS)} parameters, 64 levels",
        "  layout     us/step   over forward   temporary MB   trace s   compile s",
    ]
    for name in LAYOUTS:
        if f"gradient_{name}_us_per_step" in figures:
            row = {
                key: figures[f"gradient_{name}_{key}"]
                for key in ("us_per_step", "over_forward", "temporary_MB", "trace_s", "compile_s")
            }
            lines.append(
                f"  {name:<9}{row['us_per_step']:9.2f}{row['over_forward']:14.2f}x"
                f"{row['temporary_MB']:14.2f}{row['trace_s']:10.1f}{row['compile_s']:12.1f}"
            )
    reached = {
        "forward_64_us": figures["forward_64_us"],
        "gradient_over_forward": figures["gradient_segments_over_forward"],
        "gradient_temporary_MB": figures["gradient_segments_temporary_MB"],
        "gradient_compile_s": figures["gradient_segments_compile_s"],
    }
    lines += ["", "target                      at most   measured"]
    lines += [f"  {name:<24}{TARGETS[name]:9.1f}{value:11.2f}" for name, value in reached.items()]
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, print, store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: 64 levels, one layout")
    parser.add_argument("--json", type=Path, help="store the figures in this file")
    arguments = parser.parse_args()
    figures = measure(arguments.quick)
    print(report(figures))
    if arguments.json:
        temporary = arguments.json.with_suffix(".tmp")
        temporary.write_text(json.dumps(figures, indent=2) + "\n")
        os.replace(temporary, arguments.json)


if __name__ == "__main__":
    main()
