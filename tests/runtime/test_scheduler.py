"""Refuse other servers in place of a scheduler, in one message within seconds."""

import contextlib
import json
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.errors import error_naming
from tunax_lite.runtime.engine import cluster, open_engine


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 1.0)


@contextlib.contextmanager
def answering(reply: bytes | None):
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    if reply is not None:
                        held[-1].sendall(reply)
                        held[-1].shutdown(socket.SHUT_WR)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
    for one in held:
        one.close()


def refused(kind: type[Exception], parts: str, **given) -> None:
    started = time.monotonic()
    with error_naming(kind, parts), open_engine(**given):
        pass
    assert time.monotonic() - started < 8.0


def test_what_is_no_scheduler_is_refused_within_seconds():
    html = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    for reply in (None, html, b"\xff" * 64):
        with answering(reply) as port:
            refused(OSError, f"--scheduler {port}", scheduler=f"tcp://127.0.0.1:{port}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    for address in (f"tcp://127.0.0.1:{free}", "nonsense://node1:1", "tcp://127.0.0.1:port", "::::"):
        refused(OSError, address, scheduler=address)


def test_a_damaged_file_of_a_scheduler_is_one_message(tmp_path):
    path = tmp_path / "scheduler.json"
    for text in ("", "[]", "[" * 100000, '{"address": 3}', '{"address": "http"}'):
        path.write_text(text)
        refused(OSError, f"{path} address", scheduler=str(path))
    path.unlink()
    refused(OSError, str(path), scheduler=str(path))


@contextlib.contextmanager
def _certificate(folder: Path):
    """Certificate and key as the jobs for SLURM make them, named in the configuration of Dask."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=dask", "-days", "1"]
    made = ["openssl", "req", *kind, "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(made, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    import dask.config

    names = {"ca-file": certificate, "client.cert": certificate, "client.key": key}
    for role in ("scheduler", "worker"):
        names |= {f"{role}.cert": certificate, f"{role}.key": key}
    with dask.config.set({f"distributed.comm.tls.{name}": str(path) for name, path in names.items()}):
        yield certificate


@contextlib.contextmanager
def _scheduler(protocol: str):
    import distributed

    own = distributed.Security(require_encryption=protocol == "tls://")
    options: dict = {"n_workers": 1, "processes": False, "protocol": protocol, "security": own}
    with distributed.LocalCluster(dashboard_address="127.0.0.1:0", **options) as cluster:
        yield cluster.scheduler_address  # pyright: ignore[reportAttributeAccessIssue]


def test_a_scheduler_with_certificates_is_reached_with_them_only(tmp_path):
    with _certificate(tmp_path) as certificate, _scheduler("tls://") as address:
        path = tmp_path / "scheduler.json"
        path.write_text(json.dumps({"address": address}))
        with open_engine(scheduler=str(path)) as engine:
            assert engine.map(abs, [-1, 2]) == [1, 2]
        plain = address.replace("tls://", "tcp://")
        refused(OSError, plain, scheduler=plain)
        certificate.unlink()
        refused(OSError, f"{address} certificates", scheduler=address)


def test_a_scheduler_without_certificates_is_a_warning():
    with _scheduler("tcp://") as address:
        with pytest.warns(UserWarning, match="not encrypted"), open_engine(scheduler=address):
            pass
