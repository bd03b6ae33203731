"""The shipped jobs without SLURM: what they start is reached with the certificates of the job only."""

import json
import os
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
