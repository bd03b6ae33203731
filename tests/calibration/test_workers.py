"""The same bits on workers, whatever happens to these; and what is said where none is left."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.calibration.twins import assert_same_history, calibrate_cheap
from tests.errors import error_naming
from tests.kills import kill_at_random, started
from tunax_lite.runtime.engine import ThisProcess, WorkersLost, open_engine


@pytest.fixture(scope="module")
def workers():
    with open_engine(workers=2) as engine:
        yield engine


def processes(engine) -> list[int]:
    return list(engine._client.run(os.getpid).values())


@pytest.mark.long
@pytest.mark.parametrize("method", ["adam", "levenberg_marquardt", "ensemble_kalman"])
def test_two_workers_give_the_bits_of_one_process_and_resume_goes_on(workers, tmp_path, method):
    one = calibrate_cheap(None, method, 6, engine=ThisProcess())
    calibrate_cheap(tmp_path, method, 3, engine=ThisProcess(2))
    two = calibrate_cheap(tmp_path, method, 6, resume=True, engine=workers)
    assert_same_history(two, one)
    assert two.best == one.best


KILLED = """
import sys
from pathlib import Path
from tunax_lite.runtime import configure

configure()  # before there are any numbers
from tests.calibration.twins import calibrate_cheap
from tunax_lite.runtime.engine import open_engine

if __name__ == "__main__":
    with open_engine(int(sys.argv[2])) as engine:
        calibrate_cheap(Path(sys.argv[1]), "adam", 60, resume=True, engine=engine)
"""


@pytest.mark.study
@pytest.mark.parametrize("n_workers", [2, 7])
def test_twenty_kills_of_command_and_workers_at_random_moments(tmp_path, n_workers):
    one = calibrate_cheap(None, "adam", 60, engine=ThisProcess())
    folder, errors, script = tmp_path / "fit", tmp_path / "errors", tmp_path / "run.py"
    script.write_text(KILLED)

    def go_on() -> None:
        found = calibrate_cheap(folder, "adam", 60, resume=True, engine=ThisProcess())
        assert_same_history(found, one)
        assert found.best == one.best
        shutil.rmtree(folder)

    kill_at_random(
        lambda: started(script, folder, n_workers, errors=errors),
        errors, lambda since: any(path.stat().st_mtime_ns > since for path in folder.glob("*")),
        lambda: None, go_on,
    )  # fmt: skip
    go_on()


def slow_square():
    """A function that goes to the workers as it is: they need not import these tests."""
    return lambda number: time.sleep(0.2) or number**2


@pytest.mark.long
def test_the_item_of_a_worker_that_ends_is_done_again(workers):
    one = processes(workers)[0]
    reported: list[int] = []

    def report(item: int, result: int) -> None:
        reported.append(item)
        if len(reported) == 3:
            os.kill(one, signal.SIGKILL)

    assert workers.map(slow_square(), range(12), report) == [i**2 for i in range(12)]
    assert sorted(reported) == list(range(12))
    workers._client.wait_for_workers(2, timeout=60)
    assert one not in processes(workers)


@pytest.mark.long
def test_functions_side_by_side_share_the_workers_and_end_together(workers):
    three = lambda check: sum(workers.map(slow_square(), [1, 2, 3]))  # noqa: E731
    assert workers.side_by_side([three] * 4) == [14] * 4
    failed = threading.Event()

    def fails(check):
        failed.set()
        raise FloatingPointError("broken")

    def never_ends(check):
        failed.wait()
        while True:
            check()
            time.sleep(0.01)

    for engine in (workers, ThisProcess(2)):
        failed.clear()
        with error_naming(FloatingPointError, "broken"):
            engine.side_by_side([never_ends, fails])


@pytest.mark.long
def test_no_port_of_a_run_answers_without_its_certificate(workers):
    import psutil
    from distributed import Security
    from distributed.comm.core import connect

    async def is_refused(address: str, security: Security) -> bool:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            comm = await connect(address, timeout=2.0, **security.get_connection_args("client"))
            comm.abort()
            return False
        return True

    def talk(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=5.0) as plain:
            plain.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                return plain.recv(100)
        return b""

    opened = [psutil.Process(pid).net_connections("tcp") for pid in (os.getpid(), *processes(workers))]
    ports = [each.laddr.port for found in opened for each in found if each.status == psutil.CONN_LISTEN]
    assert len(ports) >= 5  # scheduler, two nannies, two workers
    address = workers._client.scheduler.address
    assert address.startswith("tls://127.0.0.1:") and int(address.rpartition(":")[2]) in ports
    for port in ports:
        for scheme, security in (("tcp", Security()), ("tls", Security.temporary())):
            assert asyncio.run(is_refused(f"{scheme}://127.0.0.1:{port}", security)), (port, scheme)
        assert b"HTTP" not in talk(port), port
    assert not asyncio.run(is_refused(address, workers._client.security))  # so that the test can fail
    for folder in workers._client.run(lambda dask_worker: dask_worker.local_directory).values():
        private = next(one for one in Path(folder).parents if one.name.startswith("tunax-lite-"))
        assert private.stat().st_mode & 0o777 == 0o700


def _without_start(**_):
    raise RuntimeError("Nanny failed to start.")


@pytest.mark.long
def test_workers_that_do_not_start_are_said(monkeypatch):
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", _without_start)
    with error_naming(WorkersLost, "--workers 2 Nanny"):
        with open_engine(workers=2):
            pass
