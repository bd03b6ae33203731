"""Which GPUs a process takes; how one that hangs ends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.errors import error_naming
from tunax_lite.runtime import join_processes
from tunax_lite.runtime.processes import local_gpus

ROOT = Path(__file__).parents[2]


def step(task: int, tasks: str, gpus: str | None, on_node: str | None = None, node: int = 0) -> dict:
    found = {"SLURM_PROCID": "9", "SLURM_LOCALID": str(task), "SLURM_NODEID": str(node)}
    found |= {"SLURM_STEP_TASKS_PER_NODE": tasks, "CUDA_VISIBLE_DEVICES": gpus, "SLURM_GPUS_ON_NODE": on_node}
    return {name: value for name, value in found.items() if value is not None}


def test_gpus_of_a_process():
    for environment, n_present, expected in (
        (step(0, "1(x4)", "0,1,2,3", "4"), 4, [0, 1, 2, 3]),  # one process for the node
        (step(2, "4(x2)", "0,1,2,3", "4"), 4, [2]),
        (step(1, "2(x2)", "0,1,2,3", "4"), 4, [2, 3]),
        (step(3, "4(x2)", "3", "4"), 4, [0]),  # bound to one each
        (step(0, "2(x1),1", None, None, node=1), 2, [0, 1]),  # no GPUs by SLURM: those of the host
        (step(0, "1", None), 0, None),
        ({}, 4, None),  # not under SLURM
    ):
        assert local_gpus(environment, n_present) == expected, environment


def test_what_is_given_must_suffice(monkeypatch):
    with error_naming(ValueError, "4 2"):
        local_gpus(step(0, "4", "0,1", "2"), 2)
    monkeypatch.delenv("SLURM_PROCID", raising=False)
    with error_naming(ValueError, "srun coordinator n_processes process"):
        join_processes("localhost:1234", 2)


@pytest.mark.long
def test_process_that_hangs_ends_and_says_where():
    code = "import time\nfrom tunax_lite.runtime import deadline\nwith deadline(0.2):\n    time.sleep(60)\n"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert found.returncode == 1
    assert re.search(r"Timeout.*line 4 in <module>", found.stderr, re.DOTALL)
