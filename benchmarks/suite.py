"""Run the benchmarks and gather what they found: ten figures, or figures and tables."""

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import forward, gradient, jacobian
from .baseline import Row
from .column import TEN_PARAMETERS
from .devices import two_device_speedup
from .forward import Shape
from .limits import PRECISIONS, Need, least_us, measure_ceilings

CHUNKS = (1, 2, 4, 6, 8, 12, 16)
"""Sizes of the chunks for which the Jacobian is measured."""
N_RESIDUALS = (1, 4)
"""Numbers of residuals for which the modes of the Jacobian are compared."""
SPLIT_PRECISION = "float32"
"""Of the batch whose speed on two cores has a target."""
KEY_SHAPES = (Shape(), Shape(1, 256), Shape(128), Shape(512, 64, "float32"))
"""The forward runs that have targets."""
BATCH = Shape(128)
"""The batch whose gradient has a target."""


def about(command: str, cores: Sequence[int]) -> Row:
    """Machine, date, versions and command of a run."""
    packages = ("tunax_lite", "jax", "jaxlib", "equinox", "numpy")
    versions = {"Python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in packages}
    return {
        "machine": f"{_processor()}, {platform.system()}",
        "n_cores": len(cores) or os.cpu_count(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "versions": versions,
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def _processor() -> str:
    """Name of the processor, as the system calls it."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _shape_of(row: Row) -> Shape:
    return Shape(*(row[field] for field in Shape._fields))


def figures_of(
    rows: Sequence[Row], single: Row, batch: Row, of_profiles: Row, speedup: float | None
) -> dict[str, float | None]:
    """The figures with targets.

    Args:
        rows: of forward runs, all `KEY_SHAPES` among them.
        single, batch: of the gradients by five parameters, of one column and of `BATCH`.
        of_profiles: of the Jacobian by ten parameters.
        speedup: of two devices; `None` on a machine of one core.
    """
    us = {_shape_of(row): row["us"] for row in rows}
    return {
        **{f"forward_{s.n_columns}x{s.n_levels}_{s.precision}_us": us[s] for s in KEY_SHAPES},
        "two_device_speedup": speedup,
        "gradient_over_forward": single["over_forward"],
        "gradient_temporary_bytes": single["temporary_bytes"],
        "gradient_compile_seconds": single["compile_seconds"],
        "jacobian10_over_forward": of_profiles["over_forward"],
        "gradient_128x64_float64_us": batch["us"],
    }


def measure_needs() -> dict[str, Need]:
    """What column-steps of 64 levels need, by program."""
    found = {}
    for precision in PRECISIONS:
        found[f"forward, one column, {precision}"] = forward.forward_need(True, precision)
        found[f"forward, batch, {precision}"] = forward.forward_need(False, precision)
    found["gradient, one column, float64"] = gradient.gradient_need(True)
    found["gradient, batch, float64"] = gradient.gradient_need(False)
    return found


def with_limits(rows: Sequence[Row], needs: Mapping[str, Need], ceilings: Mapping[str, float]) -> list[Row]:
    """Rows of forward runs with the least time of a column-step, `least_us`."""
    limited = []
    for row in rows:
        kind = "one column" if row["n_columns"] == 1 else "batch"
        need = needs[f"forward, {kind}, {row['precision']}"].scaled(row["n_levels"] / forward.N_LEVELS)
        limited.append({**row, "least_us": least_us(need, ceilings)})
    return limited


def limits_of_figures(needs: Mapping[str, Need], ceilings: Mapping[str, float]) -> dict[str, float]:
    """The least that the figures can be on the machine of the ceilings."""
    least = {name: least_us(need, ceilings) for name, need in needs.items()}
    one_column = least["forward, one column, float64"]
    return {
        "forward_1x64_float64_us": one_column,
        "forward_1x256_float64_us": least_us(needs["forward, one column, float64"].scaled(4.0), ceilings),
        "forward_128x64_float64_us": least["forward, batch, float64"],
        "forward_512x64_float32_us": least["forward, batch, float32"],
        "two_device_speedup": 2.0,
        "gradient_over_forward": least["gradient, one column, float64"] / one_column,
        "gradient_128x64_float64_us": least["gradient, batch, float64"],
    }


def measure_devices(cores: Sequence[int], rounds: int = 9) -> list[Row]:
    """512 columns on one core, on two, and split over two devices; no rows on a machine of one core."""
    if len(cores) < 2:
        return []
    rows = []
    for precision in ("float32", "float64"):
        found = two_device_speedup(cores, precision=precision, rounds=rounds, with_threads=True)
        for way in ("one_core", "one_device_two_cores", "two_devices"):
            us = found[f"{way}_us"]
            row = {"precision": precision, "way": way.replace("_", " "), "us": us}
            rows.append(row | {"speedup": found["one_core_us"] / us})
    return rows


def measure_quick(cores: Sequence[int]) -> dict[str, Any]:
    """The figures that have targets, and the ceilings."""
    ceilings = measure_ceilings(rounds=7)
    rows = forward.measure_forward(KEY_SHAPES, rounds=7)
    (single,) = gradient.measure_gradient(gradient.DEFAULT, rounds=10)
    (batch,) = gradient.measure_gradient(gradient.DEFAULT, BATCH, rounds=2)
    (of_profiles,) = jacobian.measure_jacobian(rounds=5)
    speedup = None
    if len(cores) > 1:
        speedup = two_device_speedup(cores, precision=SPLIT_PRECISION, rounds=5)["two_device_speedup"]
    return {"ceilings": ceilings, "figures": figures_of(rows, single, batch, of_profiles, speedup)}


def measure_suite(cores: Sequence[int]) -> dict[str, Any]:
    """Figures and ceilings, and the tables of everything else."""
    ceilings, needs = measure_ceilings(), measure_needs()
    levels = forward.measure_forward(forward.over(levels=forward.LEVELS), rounds=15)
    columns = forward.measure_forward(forward.over(columns=forward.COLUMNS), rounds=5)
    of_sixty_four = [row for row in levels if row["n_levels"] == forward.N_LEVELS]
    gradients = gradient.measure_gradient(gradient.LAYOUTS)
    gradients += gradient.measure_gradient(gradient.DEFAULT, names=TEN_PARAMETERS)
    gradients += gradient.measure_gradient(gradient.OF_BATCHES, BATCH, rounds=4)
    jacobians = jacobian.measure_jacobian() + jacobian.measure_modes(N_RESIDUALS)
    devices = measure_devices(cores)
    single, batch = [
        row for row in gradients if row["layout"] in gradient.DEFAULT and row["n_parameters"] == 5
    ]
    tables = {
        "levels": with_limits(levels, needs, ceilings),
        "columns": with_limits([*of_sixty_four, *columns], needs, ceilings),
        "gradient": gradients,
        "memory": gradient.measure_memory(gradient.CHOSEN_BY_NAME),
        "jacobian": jacobians,
        "chunks": jacobian.measure_chunks(CHUNKS),
        "devices": devices,
        "compile": [r for r in levels + columns if _has_target(r)] + gradients + jacobians[:1],
        "needs": [_need_row(name, need, ceilings) for name, need in needs.items()],
    }
    split = [row for row in devices if row["precision"] == SPLIT_PRECISION and row["way"] == "two devices"]
    speedup = split[0]["speedup"] if split else None
    return {
        "ceilings": ceilings,
        "figures": figures_of(levels + columns, single, batch, jacobians[0], speedup),
        "least": limits_of_figures(needs, ceilings),
        "tables": tables,
    }


def _has_target(row: Row) -> bool:
    return _shape_of(row) in KEY_SHAPES


def _need_row(name: str, need: Need, ceilings: Mapping[str, float]) -> dict[str, Any]:
    counts = need.operations._asdict()
    return {"program": name, **counts, "bytes": need.bytes, "least_us": least_us(need, ceilings)}
