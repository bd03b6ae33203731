"""The shipped jobs on two nodes of a real SLURM, which runs on this machine."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "configs" / "slurm"
NODES = ("tunax1", "tunax2")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment with which the commands of SLURM reach a cluster of two nodes on this machine."""
    programs = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
    folders = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    missing = [name for name in programs if shutil.which(name, path=folders) is None]
    if missing:
        pytest.skip(f"SLURM is not installed (apt install slurm-wlm munge): no {', '.join(missing)}")
    if os.getuid() != 0:
        pytest.skip("SLURM of this test needs root")
    folder = tmp_path_factory.mktemp("slurm")
    hosts = Path("/etc/hosts")
    before = hosts.read_text()
    names = f"127.0.0.1 {' '.join(NODES)}"
    if names not in before:
        hosts.write_text(f"{before.rstrip()}\n{names}\n")
    key = folder / "munge.key"
    key.write_bytes(os.urandom(64))
    key.chmod(0o600)
    ports = free_ports(1 + len(NODES))
    host = socket.gethostname()
    (folder / "slurm.conf").write_text(
        f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
"""
        + "".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN\n"
            for name, port in zip(NODES, ports[1:], strict=True)
        )
        + "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), folders]),
        "PYTHONPATH": str(ROOT),
        "SLURM_CONF": str(folder / "slurm.conf"),
        "JAX_PLATFORMS": "cpu",
    }
    files = {"key": "key-file", "socket": "socket", "pid": "pid-file", "log": "log-file", "seed": "seed-file"}
    munge = [f"--{option}={folder}/munge.{end}" for end, option in files.items()]
    daemons = [
        ["munged", "--force", "--foreground", *munge],
        ["slurmctld", "-D"],
        *(["slurmd", "-D", "-N", name] for name in NODES),
    ]
    started = []
    try:
        for command in daemons:
            with open(folder / f"{len(started)}.log", "w") as log:
                started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            time.sleep(0.5)
        ready = lambda: command_output(environment, "sinfo", "-h", "-o", "%D %t").split() == ["2", "idle"]  # noqa: E731
        if not wait_for(ready, 30.0):
            pytest.skip(f"SLURM does not start here: {command_output(environment, 'sinfo')}")
        yield environment
    finally:
        command_output(environment, "scancel", "--full", "--user=root")
        wait_for(lambda: not command_output(environment, "squeue", "-h"), 20.0)
        for daemon in reversed(started):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(5)
            daemon.kill()
            daemon.wait()
        hosts.write_text(before)


def free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [one.getsockname()[1] for one in sockets]


def command_output(environment, *command) -> str:
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    return found.stdout.strip() or found.stderr.strip()


def wait_for(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def submit(environment, folder: Path, script: str, *arguments, options=()) -> str:
    shutil.copytree(JOBS, folder, dirs_exist_ok=True)
    command = ["sbatch", "--parsable", *options, script, *arguments]
    job = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return job.stdout.strip()


def state_of(environment, job: str) -> str:
    found = re.search(r"JobState=(\w+)", command_output(environment, "scontrol", "show", "job", job))
    return found[1] if found else ""


def log_of(folder: Path, job: str) -> str:
    return "".join(path.read_text() for path in folder.glob(f"*-{job}.log"))


def ended(environment, job: str) -> bool:
    return state_of(environment, job) in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL")


def iterations(text: str) -> list[str]:
    return [line for line in text.splitlines() if " loss " in line]


FIT = ("--columns", "6", "--iterations", "6")


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    code = (
        "import sys, pathlib; import gradient, tunax_lite as tl; tl.configure(); "
        "gradient.fit(pathlib.Path('fit.eqx'), 6, 6, 600.0)"
    )
    folder = tmp_path_factory.mktemp("one")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{JOBS}", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return iterations(found.stdout)


def test_a_job_has_the_fit_of_one_process_and_continues_after_a_kill(slurm, tmp_path, one_process):
    whole = submit(slurm, tmp_path / "whole", "gradient.sbatch", *FIT)
    assert wait_for(lambda: ended(slurm, whole), 300.0)
    found, folder = iterations(log_of(tmp_path / "whole", whole)), tmp_path / "killed"
    assert len(found) == len(one_process) == 6, log_of(tmp_path / "whole", whole)
    for two, one in zip(found, one_process, strict=True):
        both = ([float(x) for x in each.split()[2::2]] for each in (two, one))
        assert next(both) == pytest.approx(next(both), rel=1e-9)
    job = submit(slurm, folder, "gradient.sbatch", "--columns", "6", "--iterations", "400")
    assert wait_for(lambda: len(iterations(log_of(folder, job))) >= 2, 300.0), log_of(folder, job)
    subprocess.run(
        ["pkill", "-KILL", "--newest", "--full", "gradient.py.*--iterations 400"],
        check=True,
        capture_output=True,
    )
    begin = time.monotonic()
    assert wait_for(lambda: state_of(slurm, job) == "FAILED", 60.0), state_of(slurm, job)
    assert time.monotonic() - begin < 30.0  # not the 100 s after which JAX misses a process
    done = len(iterations(log_of(folder, job)))
    assert (folder / "fit.eqx").exists() and done < 400
    # Submitted again rather than requeued, which SLURM delays by minutes while it clears the nodes.
    again = submit(slurm, folder, "gradient.sbatch", "--columns", "6", "--iterations", "400")
    assert wait_for(lambda: len(iterations(log_of(folder, again))) > 2, 300.0), log_of(folder, again)
    command_output(slurm, "scancel", again)
    assert int(iterations(log_of(folder, again))[0].split()[0]) in (done, done + 1)
    # An iteration of which the file was not yet written is done twice, with the same bits.
    both = list(dict.fromkeys(iterations(log_of(folder, job) + log_of(folder, again))))
    assert [int(line.split()[0]) for line in both] == list(range(1, len(both) + 1))
    assert both[:6] == found


def variables_of(path: Path) -> dict[str, np.ndarray]:
    with xr.open_zarr(path, chunks=None) as store:
        assert store.attrs["tunax_lite_complete"]
        return {str(name): store[name].values for name in store.variables}


def test_a_job_on_two_nodes_that_loses_a_worker_has_the_bits_of_one_process(slurm, tmp_path):
    config = str(ROOT / "configs" / "maps" / "synthetic.yaml")
    tiles = "--columns", "10"  # of which some remain when the first is done
    alone = ["tunax-lite", "map", config, "--output", "one.zarr", *tiles]
    subprocess.run(alone, env=slurm, cwd=tmp_path, check=True, capture_output=True)
    job = submit(slurm, tmp_path, "map.sbatch", config, "two.zarr", *tiles)
    assert wait_for(lambda: ended(slurm, job) or any(tmp_path.glob("two.zarr/restart/*.npz")), 300.0)
    assert not ended(slurm, job), log_of(tmp_path, job)
    subprocess.run(["pkill", "-KILL", "--newest", "--full", "dask worker"], check=True)
    assert wait_for(lambda: ended(slurm, job), 300.0)
    assert state_of(slurm, job) == "COMPLETED", log_of(tmp_path, job)
    one, two = (variables_of(tmp_path / f"{number}.zarr") for number in ("one", "two"))
    assert one.keys() == two.keys()
    for key, values in one.items():
        np.testing.assert_array_equal(two[key], values, err_msg=key)
