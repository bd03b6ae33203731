"""The shipped jobs without SLURM: what they start is reached with the certificates of the job only."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.cli.test_cli import CONFIGS
from tests.io.test_writing import SMALL
from tests.runtime.test_slurm import JOBS

SRUN = """#!/bin/bash
# Starts the workers here; before, it notes what others could see of the job.
file=$(sed 's/.*--scheduler-file \\([^ ]*\\).*/\\1/' <<<"$*")
until [ -s "$file" ]; do sleep 0.2; done
cp "$file" scheduler.json
stat -c '%a %n' "$(dirname "$file")" "$(dirname "$file")"/*.pem >modes.txt
exec "$@"
"""

STEP = """#!/bin/bash
# Starts the one task of a step here, in the environment that SLURM gives it.
while [[ $1 == -* ]]; do shift; done
export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=1
export SLURM_STEP_NODELIST=localhost SLURM_STEP_TASKS_PER_NODE=1
exec "$@"
"""


@pytest.mark.long  # the certificates of a job: test_scheduler
@pytest.mark.skipif(os.name != "posix", reason="a job is a script of bash")
def test_a_job_keeps_others_out_and_leaves_only_its_results(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "srun").write_text(SRUN)
    (programs / "tunax-lite").write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from tunax_lite.cli import main; main()" "$@"\n'
    )
    (programs / "dask").write_text(f'#!/bin/sh\nexec {sys.executable} -m dask "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o700)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "SLURM_JOB_ID": "7", "PYTHONPATH": str(JOBS.parents[1])}
    command = ["bash", JOBS / "calibrate.sbatch", CONFIGS / "calibrations/synthetic.yaml", "results/fit"]
    command += [*SMALL, "--set", "output.figures=false"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "scheduler.json").read_text())["address"].startswith("tls://")
    modes = [line.split()[0] for line in (tmp_path / "modes.txt").read_text().splitlines()]
    assert modes == ["700", "600", "600"]
    assert (tmp_path / "results/fit/parameters.yaml").exists() and "not encrypted" not in done.stderr


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="a job is a script of bash")
def test_the_job_of_four_gpus_on_four_devices_of_a_cpu_prints_what_the_page_says(tmp_path):
    page = (JOBS.parents[1] / "docs" / "cluster.md").read_text(encoding="utf-8")
    (options,) = re.findall(r"^sbatch four_gpus.sbatch (.*)$", page, re.MULTILINE)
    (expected,) = re.findall(r"^```text\n(process .*?)```", page, re.MULTILINE | re.DOTALL)
    folder = tmp_path / "job"
    shutil.copytree(JOBS, folder)
    for name, text in (("srun", STEP), ("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    environment = os.environ | {"PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}
    environment |= {"SLURM_JOB_ID": str(os.getpid()), "PYTHONPATH": str(JOBS.parents[1]), "XLA_FLAGS": flags}
    environment |= {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        ["bash", "four_gpus.sbatch", *options.replace("4096", "8").split()],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line for line in expected.replace("gpu:", "cpu:").splitlines() if line not in done.stdout] == []
    assert done.stdout.count(" loss ") == 2 and (folder / "fit.eqx").exists()
