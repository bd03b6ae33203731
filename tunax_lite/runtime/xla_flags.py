"""What XLA is told about compiling for a CPU: one kernel for a whole time loop, and wide vectors.

By default XLA turns every group of operations of a step into a kernel of its own, and calling some forty of
them for every step of a column takes as long as their arithmetic. It has a pass that makes one kernel of a
loop, for loops that touch less than 1 kB per turn; these options lift that limit. It also takes half of the
registers of processors that have 512 bits of them, as early ones ran slower for all of it.
"""

import os

EXTRA_OPTIONS = "--xla_backend_extra_options"
_LOOP_LIMIT = "xla_cpu_small_while_loop_byte_threshold"
# Loops over the levels stay loops: unrolled, they compile longer and run slower. XLA passes over keys that
# it does not know.
FUSION_FLAG = f"{EXTRA_OPTIONS}={_LOOP_LIMIT}=1000000000,xla_cpu_disable_loop_unrolling=true"
VECTOR_OPTION = "--xla_cpu_prefer_vector_width"


def vector_flag(bits: int) -> str:
    """The flag for vectors of at most so many bits; a processor without such takes shorter ones."""
    return f"{VECTOR_OPTION}={bits}"


def is_own_flag(flag: str) -> bool:
    """Whether a flag is one that `configure` sets."""
    return flag == FUSION_FLAG or flag in [vector_flag(bits) for bits in (128, 256, 512)]


def time_loop_is_fused() -> bool:
    """Whether the environment tells XLA to make one kernel of loops of any size."""
    for flag in os.environ.get("XLA_FLAGS", "").split():
        name, _, options = flag.partition("=")
        if name == EXTRA_OPTIONS:
            for option in options.split(","):
                key, _, value = option.partition("=")
                if key == _LOOP_LIMIT and value.isdecimal():
                    return int(value) >= 10**8
    return False
