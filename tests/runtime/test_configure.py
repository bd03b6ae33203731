"""The set-up of JAX, each time in a process of its own."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.errors import error_naming, missing_from
from tunax_lite.runtime import configure
from tunax_lite.runtime.jax_setup import FLAGS, time_loop_is_fused

FUSION_FLAG, VECTOR_FLAG = (f"{option}={value}" for option, value in FLAGS.items())

REPORT = """
import json, jax, jax.numpy as jnp
from tunax_lite.runtime.jax_setup import configuration
now = configuration()._asdict()
now["cache_folder"] = now["cache_folder"] and str(now["cache_folder"])
now["seconds"] = jax.config.jax_persistent_cache_min_compile_time_secs
print(json.dumps(now | {"dtype": str(jnp.zeros(1).dtype)}))
"""
START = "from tunax_lite.runtime import configure\n"
JAX_VARIABLES = (
    *("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE", "JAX_ENABLE_X64"),
    "JAX_DISABLE_MOST_OPTIMIZATIONS",
)


def run_python(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess:
    """Run a program without the settings of this process, with `folder` as the user's cache."""
    kept = {name: value for name, value in os.environ.items() if name not in JAX_VARIABLES}
    environment = kept | {"XDG_CACHE_HOME": str(folder), "JAX_PLATFORMS": "cpu"} | variables
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def configured(arguments: str, folder: Path, **variables: str) -> dict:
    done = run_python(f"{START}configure({arguments})\n{REPORT}", folder, **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the user's cache folder has another name elsewhere")
def test_defaults(tmp_path):
    found = configured("", tmp_path)
    assert found == {
        "precision": "float64",
        "cache_folder": str(tmp_path / "tunax_lite" / "compiled"),
        "seconds": 0.0,
        "fuse_time_loop": True,
        "xla_flags": f"{FUSION_FLAG} {VECTOR_FLAG}",
        "dtype": "float64",
    }


def test_arguments_win_over_variables_and_the_second_call_keeps_them(tmp_path):
    mine = tmp_path / "mine"
    variables = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "other"),
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "7",
        "XLA_FLAGS": "--xla_cpu_enable_fast_math=false",
    }
    arguments = f"precision='float32', cache_folder={str(mine)!r}"
    found = configured(f"{arguments})\nconfigure(precision=None", tmp_path, **variables)
    assert (found["precision"], found["dtype"]) == ("float32", "float32")
    assert (found["cache_folder"], stat.S_IMODE(mine.stat().st_mode)) == (str(mine), 0o700)
    assert found["xla_flags"] == f"--xla_cpu_enable_fast_math=false {FUSION_FLAG} {VECTOR_FLAG}"


@pytest.mark.long
def test_variables_of_jax_win_over_defaults(tmp_path):
    variables = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "other"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1.0",  # what JAX would take anyway
        "JAX_ENABLE_X64": "true",
    }
    found = configured("precision=None", tmp_path, XLA_FLAGS=VECTOR_FLAG, **variables)
    assert found["cache_folder"] == str(tmp_path / "other")
    assert found["seconds"] == 1.0
    assert (found["precision"], found["xla_flags"]) == ("float64", f"{VECTOR_FLAG} {FUSION_FLAG}")
    assert configured("", tmp_path, JAX_ENABLE_COMPILATION_CACHE="false")["cache_folder"] is None


@pytest.mark.long
def test_flags_of_the_user_are_left_alone(tmp_path):
    (tmp_path / "flags.txt").write_text("--xla_cpu_enable_fast_math=false")
    own = f"--xla_backend_extra_options=xla_cpu_disable_loop_unrolling=false {VECTOR_FLAG}"
    for flags in (own, str(tmp_path / "flags.txt")):  # XLA_FLAGS may name a file that holds them
        found = configured("cache_folder=None", tmp_path, XLA_FLAGS=flags)
        assert (found["xla_flags"], found["fuse_time_loop"], found["cache_folder"]) == (flags, False, None)


@pytest.mark.long
def test_too_late_is_an_error_unless_the_flag_is_not_wanted(tmp_path):
    code = f"""
import jax, sys
jax.devices()
{START}
try:
    configure()
except RuntimeError as error:
    print(error, file=sys.stderr)
configure(fuse_time_loop=False)
{REPORT}"""
    done = run_python(code, tmp_path)
    assert not missing_from(done.stderr, "fuse_time_loop=False")
    assert json.loads(done.stdout)["fuse_time_loop"] is False


def test_unusable_arguments(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    for folder in (tmp_path / "file", "gs://bucket/cache", tmp_path / "ring"):
        with error_naming(PermissionError, "cache_folder=None"):
            configure(cache_folder=folder)


def test_the_solver_knows_whether_the_time_loop_is_fused(monkeypatch):
    threshold = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold="
    for flags, fused in (
        ("", False),
        (f"--xla_cpu_enable_fast_math=false {FUSION_FLAG}", True),
        (f"{threshold}65536", False),
        (threshold, False),
        ("--xla_backend_extra_options=xla_cpu_optimize_for_size=true", False),
    ):
        monkeypatch.setenv("XLA_FLAGS", flags)
        assert time_loop_is_fused() is fused, flags
