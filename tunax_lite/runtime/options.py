"""Whether XLA still does what `configure` asks of it: options whose names it does not know have no effect."""

import os
import struct
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.stages import Lowered

from .jax_setup import VECTOR_OPTION, time_loop_is_fused

_ELF = b"\x7fELF\x02\x01"  # 64 bits, little-endian


def options_without_effect() -> list[str]:
    """What of a loop of `configure` this process does not get on its CPU, as sentences; usually none.

    Vectors are compared where the compiler writes object files of Linux, with a program for the shortest.
    """
    with jax.default_device(jax.devices("cpu")[0]):
        lowered = jax.jit(_loop).lower(jnp.ones(1024))  # more than what becomes one kernel unasked
    flags = os.environ.get("XLA_FLAGS", "")
    lost, asked_for, one_kernel = [], time_loop_is_fused(), is_one_kernel(lowered)
    if asked_for and not one_kernel:
        lost.append("the time loop is not one kernel (fuse_time_loop): a step takes about twice as long")
    asked = flags.partition(f"{VECTOR_OPTION}=")[2].split(" ")[0]
    # Many small kernels hold too little of the loop to tell: jax before 0.12, if not asked for one.
    if asked in ("256", "512") and (asked_for or one_kernel):
        if not has_longer_vectors(lowered):
            lost.append(f"vectors are of 128 bits (vector_bits={asked}): a step takes up to twice as long")
    return lost


def _loop(x: jax.Array) -> jax.Array:
    """A loop over time of operations on levels, some of which XLA cannot put into one group."""

    def step(_, x):
        y = jnp.concatenate([x[1:], x[:1]]) / jnp.sum(x)
        for i in range(12):
            y = x * (y + 0.1 * i)
        return jnp.sqrt(y)

    return jax.lax.fori_loop(0, 1000, step, x)


def is_one_kernel(lowered: Lowered) -> bool:
    """Whether the loop of a program became one kernel on a CPU, by the name that XLA gives such a call."""
    return "xla_cpu_small_call" in (lowered.compile().as_text() or "")


def has_longer_vectors(lowered: Lowered) -> bool:
    """Whether the code of a program of many operations on levels is not that of vectors of 128 bits.

    Instructions on longer vectors are longer: 10 % of the code, beside 1 % from one compilation to the next.
    """
    shortest = len(machine_code(lowered, xla_cpu_prefer_vector_width=128))
    return shortest == 0 or len(machine_code(lowered)) > 1.05 * shortest


def machine_code(lowered: Lowered, **options: Any) -> bytes:
    """Machine code of a program with these options of XLA; empty if it is not in a known format."""
    with tempfile.TemporaryDirectory() as folder:
        lowered.compile(compiler_options={"xla_dump_to": folder, **options})
        return b"".join(map(_text, sorted(Path(folder).glob("*.o"))))


def _text(path: Path) -> bytes:
    """Sections of an object file that hold code: names of programs in the others differ from call to call.

    Source: Tool Interface Standard, Executable and Linking Format, version 1.2.
    """
    content = path.read_bytes()
    if not content.startswith(_ELF):
        return b""
    table = struct.unpack_from("<Q", content, 40)[0]
    size, number, names = struct.unpack_from("<HHH", content, 58)
    # Name, type, flags, address, offset, size.
    sections = [struct.unpack_from("<IIQQQQ", content, table + i * size) for i in range(number)]
    first_name = sections[names][4]
    of_code = (s for s in sections if b"text" in content[first_name + s[0] :].split(b"\0", 1)[0])
    return b"".join(content[s[4] : s[4] + s[5]] for s in of_code if s[1] == 1)  # the program's own
