"""The benchmarks of devices: what they measure and in which order, and that they always end."""

import dataclasses
import json
import os

import pytest

from benchmarks import devices, gpu
from benchmarks.gpu import Job


def result(job: Job, seconds_per_step: float) -> dict:
    return {
        **dataclasses.asdict(job),
        "seconds_per_step": seconds_per_step,
        "column_steps_per_second": job.n_columns / seconds_per_step,
        "compile_seconds": 1.0,
        "bytes": 1_000_000,
        "difference": 0.0,
    }


def test_plan_covers_everything_once_and_begins_with_the_targets():
    jobs = gpu.plan(quick=False)
    assert len(jobs) == len(set(jobs))
    covered = {(job.method, job.n_columns, job.precision, job.kind) for job in jobs}
    sizes = {job.n_columns for job in jobs}
    assert len(covered) == len(gpu.METHODS) * len(sizes) * 4 and {1, 1_000_000} <= sizes
    assert {job.command_buffers for job in jobs} == set(gpu.COMMAND_BUFFERS)
    first = [(job.n_columns, job.precision, job.kind) for job in jobs[:2]]
    assert first == [(1, "float32", "forward"), (gpu.MANY, "float32", "forward")]


def test_methods_are_compared_over_the_same_run():
    steps = {}
    for job in gpu.plan(quick=False):
        assert steps.setdefault(job.n_columns, job.n_steps) == job.n_steps


def test_targets_count_what_was_measured_only():
    slow, fast = result(Job("ThomasScan", gpu.MANY), 1.0), result(Job("VendorLibrary", gpu.MANY), 1e-3)
    failed = {**dataclasses.asdict(Job("VendorLibrary", 1)), "failed": "took too long"}
    found = gpu.targets([slow, fast, failed])
    assert found["column_steps_per_second"]["met"]
    assert found["column_steps_per_second"]["measured"] == pytest.approx(1e8)
    assert found["single_column_seconds_per_step"]["measured"] is None
    # Neither double precision nor a gradient reaches a target of the forward run in float32.
    others = [result(Job("ThomasScan", gpu.MANY, "float64"), 1e-6)]
    others += [result(Job("ThomasScan", gpu.MANY, kind="gradient"), 1e-6)]
    assert gpu.targets(others)["column_steps_per_second"]["measured"] is None


def test_choice_is_the_fastest_of_each_size():
    rows = [result(Job("ThomasScan", n), 1.0 / n) for n in (1, 32)]
    rows += [result(Job("VendorLibrary", n, command_buffers="loops"), 0.1) for n in (1, 32)]
    chosen = [(row["n_columns"], row["method"], row["command_buffers"]) for row in gpu.choices(rows)]
    assert chosen == [(1, "VendorLibrary", "loops"), (32, "ThomasScan", "default")]


def test_no_time_gives_an_empty_table():
    device, rows = gpu.measure(gpu.plan(quick=True), "cpu", seconds=0.0)
    assert (device, rows) == ({}, [])
    assert "0 of 4 measurements" in gpu.table(device, rows, 4)


def test_missing_device_is_said():
    with pytest.raises(RuntimeError, match="no device of platform tpu"):
        gpu.measure(gpu.plan(quick=True), "tpu", seconds=120.0)


@pytest.mark.slow
def test_script_runs_in_small_on_a_cpu(tmp_path, capsys):
    stored = tmp_path / "gpu.json"
    gpu.main(["--platform", "cpu", "--quick", "--json", str(stored)])
    rows = json.loads(stored.read_text())["rows"]
    assert len(rows) == len(gpu.plan(quick=True))
    assert not [row["failed"] for row in rows if "failed" in row]
    assert {row["kind"] for row in rows} == {"forward", "gradient"}
    # The second method is compared with the first, in float32.
    assert 0.0 < rows[1]["difference"] < 1e-5
    assert "ParallelCyclicReduction" in capsys.readouterr().out


@pytest.mark.slow
def test_two_devices_are_measured_against_one():
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    found = devices.two_device_speedup((core, core), n_columns=4, n_steps=8, rounds=2, with_threads=True)
    assert found["two_device_speedup"] == found["one_core_us"] / found["two_devices_us"]
    assert found["one_device_two_cores_speedup"] == found["one_core_us"] / found["one_device_two_cores_us"]


def test_two_processors_are_needed():
    with pytest.raises(ValueError, match="expected two processors"):
        devices.two_device_speedup((0,))


def test_process_that_fails_is_reported():
    with pytest.raises(RuntimeError, match="ended early"):
        devices.two_device_speedup((0, 0), precision="float16")
