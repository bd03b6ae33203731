"""`python -m benchmarks.hostile`: the campaign; a table of kinds, exit status 1 where an attack succeeded."""

import argparse
import importlib.util
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from . import configs, faults, files
from .attack import Attack
from .material import write_material
from .workers import run_attacks

_SHARES = ((files.damaged, 0.35), (files.changed, 0.3), (configs.values, 0.25), (configs.settings, 0.1))
"""What has no end fills the campaign up to its number."""
_ONCE = (files.crafted, configs.texts, configs.endless, faults.file_systems)
_BESIDE = ("benchmarks.interruptions", "benchmarks.extreme_columns")
"""Campaigns of their own: signals at every moment, and columns beyond what water does."""


def attacks_of(number: int, seed: int, *, processes: bool = True) -> list[Attack]:
    """At least so many attacks: those that there is a list of, and random ones beside."""
    chance = random.Random(seed)
    sources = [*_ONCE, faults.processes] if processes else list(_ONCE)
    found = [attack for source in sources for attack in source(chance)]
    left = max(0, number - len(found))
    for source, share in _SHARES:
        found += itertools.islice(source(chance), round(share * left) + 1)
    return found


def sample_of(number: int, seed: int) -> list[Attack]:
    """So many attacks that run in the process, of all kinds."""
    return random.Random(seed).sample(attacks_of(4 * number, seed, processes=False), number)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("--number", type=int, default=500, help="of attacks, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes at the same time")
    parser.add_argument("--only", default="", help="of kinds or names that contain this text")
    parser.add_argument("--inside", action="store_true", help="without what needs processes of its own")
    parser.add_argument("--alone", action="store_true", help="without the campaigns beside this one")
    given = parser.parse_args()
    found = attacks_of(given.number, given.seed, processes=not given.inside)
    found = [attack for attack in found if given.only in f"{attack.kind}: {attack.name}"]
    clock = time.perf_counter()
    scratch = Path(tempfile.mkdtemp(prefix="hostile_"))
    try:
        failures = _run(found, given.seed, scratch, given.workers)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print_table(found, failures, time.perf_counter() - clock)
    beside = 0 if given.alone or given.only else sum(map(_run_beside, _BESIDE))
    return 1 if failures or beside else 0


def _run(found: list[Attack], seed: int, scratch: Path, n_workers: int) -> list[Attack]:
    print(f"{len(found)} attacks, seed {seed}", flush=True)
    material = write_material(scratch / "material")
    failures = []
    for number, (attack, wrong) in enumerate(run_attacks(found, seed, material, scratch, n_workers), 1):
        if wrong:
            failures.append(attack)
            said = "\n    ".join(line for part in wrong for line in part.splitlines())
            print(f"FAILED {attack.kind}: {attack.name}\n    {said}", flush=True)
        elif number % 50 == 0:
            print(f"{number} of {len(found)}", flush=True)
    return failures


def _print_table(found: list[Attack], failures: list[Attack], seconds: float) -> None:
    tried, failed = (Counter(attack.kind for attack in attacks) for attacks in (found, failures))
    print(f"\n{'kind':16}{'attacks':>9}{'failed':>9}")
    for kind, n in tried.items():
        print(f"{kind:16}{n:9d}{failed[kind]:9d}")
    print(f"{'all':16}{len(found):9d}{len(failures):9d}   in {seconds:.0f} s")


def _run_beside(module: str) -> int:
    """Another campaign, if it is there; 1 where it failed."""
    if importlib.util.find_spec(module) is None:
        print(f"{module} is not there")
        return 0
    return int(subprocess.run([sys.executable, "-m", module]).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
