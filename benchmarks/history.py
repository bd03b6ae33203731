"""A line for today in `history.csv`: column, batch and gradient, and the same column in GOTM and in Tunax.

The program of GOTM is `TUNAX_LITE_GOTM`, a Python in which Tunax is installed `TUNAX_LITE_TUNAX`; without
them their numbers stay empty. All run one after another on the core of this process, as their authors ship
them: 64 levels of 256 m under 1 N m-2 and -100 W m-2, k-epsilon, steps of 60 s.
"""

import csv
import datetime
import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tunax_lite.runtime import machine

from .harness import MICRO
from .report import figures_of, table

FILE = Path(__file__).with_name("history.csv")
_GOTM_STEPS = 28800  # of 60 s: its start is short beside them
_GOTM = {
    "version": 7,
    "time": {"start": datetime.datetime(2005, 1, 1), "stop": datetime.datetime(2005, 1, 21), "dt": 60.0},
    "location": {"latitude": 43.29, "longitude": 0.0, "depth": 256.0},
    "grid": {"nlev": 64},
    "temperature": {"method": "two_layer", "two_layer": {"t_s": 20.0, "z_b": 256.0, "t_b": 19.5}},
    "salinity": {"method": "constant", "constant_value": 35.0},
    "surface": {"fluxes": {"heat": {"constant_value": -100.0}, "tx": {"constant_value": 1.0}}},
}
_TUNAX = """import time, jax, tunax
from tunax.closures.k_epsilon import KepsParameters
state = tunax.State.zeros(tunax.Grid.linear(64, 256), ["t"]).init_t(0.0, 20.0, 2e-3)
case = tunax.Case(fcor=1e-4, ustr_sfc=1 / 1024, t_forcing=-100 / (1024 * 3985))
model = tunax.SingleColumnModel(2880, 60.0, 10, state, case, "k-epsilon")
run = jax.jit(lambda parameters: model.run(parameters))
seconds = []
for _ in range(8):
    begin = time.perf_counter()
    jax.block_until_ready(run(KepsParameters()))
    seconds.append(time.perf_counter() - begin)
print(min(seconds) / 2880)
"""


def append(report: Mapping[str, Any]) -> str:
    """Add the line of a report of the benchmarks, and show it below those before."""
    found, about = figures_of(report), report["about"]
    column, peers = found["forward_1x64_float64_us"], {"gotm": _gotm(), "tunax": _tunax()}
    numbers = {
        "column_us": column,
        "batch_us": found["forward_128x64_float64_us"],
        "gradient_over_forward": found["gradient_over_forward"],
        **{f"{name}_us": us for name, us in peers.items()},
        **{f"{name}_over_column": us / column if us and column else None for name, us in peers.items()},
    }
    row = {"date": about["date"].split()[0], "commit": machine.commit(), "machine": about["machine"]}
    row |= {name: "" if number is None else f"{number:.3g}" for name, number in numbers.items()}
    with open(FILE, "a+", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row)
        if not file.tell():
            writer.writeheader()
        writer.writerow(row)
        file.seek(0)
        header, *rows = csv.reader(file)
    return table([name.replace("_", " ") for name in header], rows)


def _gotm() -> float | None:
    """Microseconds of processor time of a step of GOTM's program; `None` without it."""
    program = os.environ.get("TUNAX_LITE_GOTM")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "gotm.yaml").write_text(yaml.safe_dump(_GOTM), encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([program, "gotm.yaml"], cwd=folder, capture_output=True, check=True)
        return MICRO * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / _GOTM_STEPS


def _tunax() -> float | None:
    """Microseconds of a step of Tunax, compiled before; `None` without it."""
    python = os.environ.get("TUNAX_LITE_TUNAX")
    if python is None:
        return None
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}  # not its own
    done = subprocess.run([python, "-c", _TUNAX], env=environment, stdout=subprocess.PIPE, check=True)
    return MICRO * float(done.stdout)
