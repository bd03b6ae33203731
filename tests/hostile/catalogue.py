"""Which attacks a campaign has; the same number and seed always give the same."""

import itertools
import random

from . import configs, faults, files
from .attack import Attack

_SHARES = (
    (files.damaged, 0.3),
    (files.changed, 0.3),
    (configs.values, 0.2),
    (configs.results, 0.05),
    (configs.settings, 0.1),
    (configs.options, 0.05),
)
"""What has no end fills the campaign up to its number."""
_ONCE = (files.crafted, configs.names, configs.texts, configs.endless, faults.file_systems)


def attacks_of(number: int, seed: int, processes: bool = True) -> list[Attack]:
    """At least so many attacks: those that there is a list of, and random ones beside."""
    chance = random.Random(seed)
    sources = [*_ONCE, *faults.processes] if processes else _ONCE
    found = [attack for source in sources for attack in source(chance)]
    left = max(0, number - len(found))
    for source, fraction in _SHARES:
        found += itertools.islice(source(chance), round(fraction * left) + 1)
    return found


def sample_of(number: int, seed: int) -> list[Attack]:
    """So many attacks that run in the process, of all kinds."""
    return random.Random(seed).sample(attacks_of(4 * number, seed, processes=False), number)
