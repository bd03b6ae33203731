"""Two ways of a value through the package, counted: `python -m benchmarks.ways`, `--list` with names.

Every function of the package called on a way counts once, with its comprehensions and lambdas; what runs
while modules are imported does not. The value, a number that nothing else has, passes a function that returns
it or has it in a local variable. The stress goes from its section to the flux in the time loop, the parameter
from its file to loss and gradient. Containers are the classes that hold the value.
"""

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

import tunax_lite as tl
from tunax_lite.calibration import calibrate
from tunax_lite.config import build_calibration, build_run, load_calibration, load_run

ROOT = str(Path(tl.__file__).parent) + "/"
MARK = 0.6123456789
_LOOKS, _DEEPEST, _LARGEST = 6, 6, 1000  # of a function; of values that are searched

STRESS = """
case: {format: site, latitude: 50.0, longitude: -145.0, start_time: 2012-06-10T00:00:00, duration: 3600.0,
  depth: 10.0, temperature: 12.0, salinity: 33.0, fluxes: {stress_u: {path: stress.csv, variable: tau}}}
grid: {kind: uniform, n_cells: 4}
time: {dt: 600.0, output_interval: 3600.0}
"""
PARAMETER = """
{cases: [{case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}}], time: {dt: 3600.0},
 grid: {kind: uniform, n_cells: 8}, model: {closure: {name: k_epsilon}}, optimiser: {name: adam},
 parameters: {sigma_k: {lower: 0.1, upper: 2.5, start: 0.6123456789}}, n_iterations: 1}
"""


class Way:
    """Functions called, whether the value passes them, and its containers."""

    def __init__(self):
        self.passed: dict[str, bool] = {}
        self.containers: dict[str, None] = {}
        self._looks: Counter = Counter()
        self._begin: str | None = None

    def follow(self, function: Callable[..., Any], *arguments: object, begin: str | None = None) -> Any:
        self._begin = begin
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            return function(*arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, result: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(ROOT):
            return
        name, above, place = code.co_qualname.partition(".<locals>.<")[0], [], frame
        if self._looks[code] > _LOOKS or name.startswith("<"):
            return
        while place is not None:
            above += [place.f_code.co_name] if place.f_code.co_filename.startswith(ROOT) else []
            place = place.f_back
        if "<module>" in above or self._begin not in (None, *above):
            return
        self._looks[code] += 1
        kinds = dict.fromkeys(holders(result if event == "return" else [*frame.f_locals.values()]))
        where = f"{code.co_filename.removeprefix(ROOT)}: {name}"
        self.passed[where] = self.passed.get(where, False) or bool(kinds)
        self.containers |= {kind: None for kind in kinds if kind}

    def show(self, title: str, names: bool) -> None:
        """Print the counts by room; with names, those that the value passes have a star."""
        print(f"{title}\n    {len(self.containers)} containers: {', '.join(self.containers)}")
        star = [where for where, is_passed in self.passed.items() if is_passed]
        for how, functions in (("called", [*self.passed]), ("passed", star)):
            rooms = Counter(where.split("/")[0].partition(":")[0] for where in functions).most_common()
            print(f"    {len(functions)} {how}: {', '.join(f'{n} {room}' for room, n in rooms)}")
        for where, is_passed in self.passed.items() if names else ():
            print(f"        {'*' if is_passed else ' '} {where}")


def holders(value: Any, depth: int = 0) -> Iterator[str]:
    """Classes of the package around each place that holds the mark; an empty text for the mark itself."""
    is_ours, parts = type(value).__module__.startswith("tunax_lite"), []
    if isinstance(value, str):
        yield from [""] * (str(MARK) in value[:_LARGEST])
    elif isinstance(value, (float, np.ndarray, jax.Array)) and not isinstance(value, Tracer):
        if np.size(value) < _LARGEST and np.asarray(value).dtype.kind == "f":
            yield from [""] * bool(np.isclose(np.asarray(value), MARK, rtol=1e-6, atol=0.0).any())
    elif isinstance(value, (dict, list, tuple)):
        parts = [*(value.values() if isinstance(value, dict) else value)][:_LARGEST]
    elif is_ours and not isinstance(value, type):
        parts = [*getattr(value, "__dict__", {}).values()]
    within = {name for part in parts if depth < _DEEPEST for name in holders(part, depth + 1)}
    if within and is_ours:
        yield type(value).__name__
    yield from within


def main() -> None:
    tl.configure(cache_folder=None)
    stress, parameter, names = Way(), Way(), "--list" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        file, rows = Path(folder) / "way.yaml", f"2012-06-10,{MARK}\n2012-06-11,{MARK}\n"
        file.with_name("stress.csv").write_text(f"time,tau [N m-2]\n{rows}", encoding="utf-8")
        file.write_text(STRESS, encoding="utf-8")
        run = stress.follow(build_run, load_run(file), begin="prescribed_forcing")
        stress.follow(run.case.forcing.at, 0.0)
        stress.show("stress from a CSV file to the flux", names)
        file.write_text(PARAMETER, encoding="utf-8")
        made = parameter.follow(lambda: build_calibration(load_calibration(file)))
    parameter.follow(calibrate, made.model, made.free_parameters, made.targets, made.method, 1)
    parameter.show("a parameter from YAML to the gradient", names)


if __name__ == "__main__":
    main()
