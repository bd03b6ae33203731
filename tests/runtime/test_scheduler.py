"""A scheduler of somebody else, or none: refused, in one message within seconds."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.errors import error_naming
from tunax_lite.runtime.engine import open_engine
from tunax_lite.runtime.engine import scheduler as schedulers

posix = pytest.mark.skipif(os.name != "posix", reason="there are no owners and permissions of this kind")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give away")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(schedulers, "SECONDS", 1.0)


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
        refused(OSError, f"{path} damaged", scheduler_file=path)
    path.unlink()
    refused(FileNotFoundError, str(path), scheduler_file=path)


@posix
def test_the_file_of_somebody_else_is_not_followed(tmp_path):
    with answering(None) as port:
        folder, link = tmp_path / "shared", tmp_path / "link.json"
        folder.mkdir()
        path = folder / "scheduler.json"
        path.write_text(json.dumps({"address": f"tcp://127.0.0.1:{port}"}))
        path.chmod(0o666)
        refused(PermissionError, "scheduler.json write", scheduler_file=path)
        path.chmod(0o644)
        refused(OSError, "scheduler.json answer", scheduler_file=path)  # one's own: it is asked
        folder.chmod(0o777)
        link.symlink_to(path)
        for way in (path, link):
            refused(PermissionError, f"{folder} write", scheduler_file=way)


@posix
@root
def test_what_belongs_to_another_user_is_refused(tmp_path):
    path, link = tmp_path / "scheduler.json", tmp_path / "link.json"
    path.write_text(json.dumps({"address": "tcp://127.0.0.1:1"}))
    link.symlink_to(path)
    os.chown(link, 12345, 12345, follow_symlinks=False)
    refused(PermissionError, "link.json user", scheduler_file=link)
    os.chown(path, 12345, 12345)
    refused(PermissionError, "scheduler.json user", scheduler_file=path)


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
        yield certificate, key


@contextlib.contextmanager
def _scheduler(protocol: str):
    import distributed

    own = distributed.Security(require_encryption=protocol == "tls://")
    options: dict = {"n_workers": 1, "processes": False, "protocol": protocol, "security": own}
    with distributed.LocalCluster(dashboard_address="127.0.0.1:0", **options) as cluster:
        yield cluster.scheduler_address  # pyright: ignore[reportAttributeAccessIssue]


def test_a_scheduler_with_certificates_is_reached_with_them_only(tmp_path):
    with _certificate(tmp_path) as (certificate, key), _scheduler("tls://") as address:
        path = tmp_path / "scheduler.json"
        path.write_text(json.dumps({"address": address}))
        with open_engine(scheduler_file=path) as engine:
            assert engine.map(abs, [-1, 2]) == [1, 2]
        plain = address.replace("tls://", "tcp://")
        refused(OSError, plain, scheduler=plain)
        key.chmod(0o644)
        refused(PermissionError, "key.pem chmod 600", scheduler=address)
        key.chmod(0o600)
        certificate.chmod(0o666)
        refused(PermissionError, "certificate.pem write", scheduler=address)
        certificate.unlink()
        refused(FileNotFoundError, "ca_file certificate.pem", scheduler=address)


def test_a_scheduler_without_certificates_is_a_warning():
    with _scheduler("tcp://") as address:
        with pytest.warns(UserWarning, match="not encrypted"), open_engine(scheduler=address):
            pass
