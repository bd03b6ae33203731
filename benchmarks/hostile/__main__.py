"""`python -m benchmarks.hostile`: the campaign; a table of kinds, exit status 1 where an attack succeeded."""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .attack import Attack
from .catalogue import attacks_of
from .material import write_material
from .workers import MATERIAL, run_attacks

_BESIDE = ("benchmarks.interruptions", "benchmarks.extreme_columns")
"""Campaigns of their own: signals at every moment, and columns beyond what water does."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("--number", type=int, default=500, help="of attacks, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes at the same time")
    parser.add_argument("--only", default="", help="of kinds or names that contain this text")
    parser.add_argument("--inside", action="store_true", help="without what needs processes of its own")
    parser.add_argument("--alone", action="store_true", help="without the campaigns beside this one")
    given = parser.parse_args()
    recipe = (given.number, given.seed, not given.inside)
    attacks = attacks_of(*recipe)
    chosen = [n for n, one in enumerate(attacks) if given.only in f"{one.kind}: {one.name}"]
    found = [attacks[number] for number in chosen]
    clock = time.perf_counter()
    scratch = Path(tempfile.mkdtemp(prefix="hostile_"))
    try:
        failures = _run(found, run_attacks(recipe, chosen, scratch, given.workers), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print_table(found, failures, time.perf_counter() - clock)
    beside = 0 if given.alone or given.only else sum(map(_run_beside, _BESIDE))
    return 1 if failures or beside else 0


def _run(found: list[Attack], outcomes: Iterator[tuple[Attack, list[str]]], scratch: Path) -> list[Attack]:
    print(f"{len(found)} attacks", flush=True)
    write_material(scratch / MATERIAL)
    failures = []
    for number, (attack, wrong) in enumerate(outcomes, 1):
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
