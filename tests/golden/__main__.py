"""Compute everything again, print what changed, and store it; words restrict this to labels that hold one.

python -m tests.golden [WORD ...]
"""

import os
import sys
from pathlib import Path

import tunax_lite
from tests.golden import files, runs
from tests.golden.statistics import Item, changes, read_stored, write_stored


def update(items: list[Item], path: Path, words: list[str]) -> None:
    """Store statistics of the items that changed, and drop items that are no longer listed."""
    stored = read_stored(path)
    for label in sorted(stored.keys() - {item.label for item in items}):
        print(f"{label}: removed")
        del stored[label]
    for item in items:
        if words and not any(word in item.label for word in words):
            continue
        if item.needs and not os.environ.get("TUNAX_LITE_DATA"):
            print(f"{item.label}: unchanged, because $TUNAX_LITE_DATA is not set")
            continue
        new = item.compute()
        is_new = item.label not in stored
        lines = ["new"] if is_new else changes(stored[item.label], new, item.tolerance)
        for line in lines:
            print(f"{item.label}: {line}", flush=True)
        if lines:  # what is within the tolerance keeps its digits
            stored[item.label] = new
    write_stored(path, stored)


def main() -> None:
    tunax_lite.configure(precision="float64", cache_folder=os.environ.get("JAX_COMPILATION_CACHE_DIR"))
    words = sys.argv[1:]
    with runs.compiled_quickly():
        if os.environ.get("TUNAX_LITE_DATA"):
            found = [files.file_item(label) for label in files.labels()]
            update(found, files.STORED, words)
        update(runs.items(), runs.STORED, words)


if __name__ == "__main__":
    main()
