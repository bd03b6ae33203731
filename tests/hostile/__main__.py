"""`python -m tests.hostile`: the campaign; a table of kinds, exit status 1 where an attack succeeded."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .catalogue import attacks_of
from .material import write_material
from .workers import MATERIAL, run_attacks


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--number", type=int, default=500, help="of attacks, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes at the same time")
    parser.add_argument("--only", default="", help="of kinds or names that contain this text")
    given = parser.parse_args()
    attacks = attacks_of(given.number, given.seed)
    chosen = [n for n, one in enumerate(attacks) if given.only in f"{one.kind}: {one.name}"]
    tried, failed, clock = Counter(), Counter(), time.perf_counter()
    print(f"{len(chosen)} attacks", flush=True)
    with tempfile.TemporaryDirectory(prefix="hostile_", ignore_cleanup_errors=True) as scratch:
        write_material(Path(scratch) / MATERIAL)
        outcomes = run_attacks((given.number, given.seed), chosen, Path(scratch), given.workers)
        for number, (attack, wrong) in enumerate(outcomes, 1):
            tried[attack.kind] += 1
            failed[attack.kind] += bool(wrong)
            if wrong:
                said = "\n    ".join(line for part in wrong for line in part.splitlines())
                print(f"FAILED {attack.kind}: {attack.name}\n    {said}", flush=True)
            elif number % 50 == 0:
                print(f"{number} of {len(chosen)}", flush=True)
    print(f"\n{'kind':16}{'attacks':>9}{'failed':>9}")
    for kind, n in [*sorted(tried.items()), ("all", tried.total())]:
        print(f"{kind:16}{n:9d}{failed.total() if kind == 'all' else failed[kind]:9d}")
    print(f"in {time.perf_counter() - clock:.0f} s")
    return int(failed.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
