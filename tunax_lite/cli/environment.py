"""Variables of the environment that JAX and XLA read: wrong ones are one message, before anything else."""

import io
import os
import subprocess
import sys
import warnings

import jax
import typer

from ..config import ConfigError
from ..runtime import is_own_flag

_VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "CUDA_VISIBLE_DEVICES")
# XLA ends the process at a flag that it does not know: a process of its own says whether it does.
_START_OF_XLA = "from jaxlib import xla_client; xla_client.make_cpu_client()"
_MOST_SECONDS = 60.0


def print_any_text() -> None:
    """Print what the encoding of the terminal does not have as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def check_flags() -> None:
    """Raise where XLA would end the process because of $XLA_FLAGS; ask only about flags of the user.

    Raises:
        ConfigError: flags that XLA does not take.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if all(is_own_flag(flag) for flag in flags.split()):
        return
    try:
        done = subprocess.run(
            [sys.executable, "-c", _START_OF_XLA],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_MOST_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):  # it will be seen
        return
    said = [line for line in done.stderr.splitlines() if "parse_flags_from_env" in line]
    if done.returncode and said:
        raise ConfigError(
            f"XLA_FLAGS={flags}: expected flags that XLA knows, or a file of them, got: "
            f"{said[-1].partition('] ')[2] or said[-1]}; correct the variable or unset it."
        )


def check_devices() -> None:
    """Start JAX where the environment says on what, so that a device that is not there is one message.

    Raises:
        ConfigError: no such device.
    """
    given = [f"{name}={os.environ[name]}" for name in _VARIABLES if os.environ.get(name)]
    if not given:
        return
    try:
        jax.devices()
    except Exception as error:  # those of plugins for devices may be any
        reason = str(error).splitlines()[0] if str(error) else "none of this kind that can be used"
        raise ConfigError(
            f"{', '.join(given)}: expected a device of this machine, got: {reason}; correct the variable or "
            "unset it."
        ) from error


def print_warnings_as_messages() -> None:
    """Print warnings in the style of errors, without the lines of the program that they come from."""

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        del category, filename, lineno, file, line
        typer.echo(f"tunax-lite: warning: {message}", err=True)

    warnings.showwarning = show
