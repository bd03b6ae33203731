"""Connections to a Dask scheduler that the user started.

Whoever controls a scheduler runs code in this process, and so does whoever reaches its port, unless it asks
for certificates.
"""

import asyncio
import json
import queue
import re
import threading
import warnings
from pathlib import Path

import distributed
from distributed.comm.core import connect

SECONDS = 4.0
"""In which a scheduler answers: it only says what it is."""
_LONGEST = 2**20
"""Bytes of the file of a scheduler with some thousand workers."""


def client_of(scheduler: str | None, scheduler_file: Path | None) -> distributed.Client:
    """The client of a scheduler, by its address or file; `OSError` within seconds if there is none."""
    where = f"--scheduler {scheduler}" if scheduler_file is None else f"--scheduler-file {scheduler_file}"
    address = scheduler or ("" if scheduler_file is None else _address_in(scheduler_file, where))
    security = distributed.Security()
    if address.startswith("tls://"):
        _check_certificates(security, where)
    _check_answer(address, security, where)
    try:
        client = distributed.Client(address, security=security)
    except Exception as error:  # of a peer that speaks another version, or ends at this moment
        raise _refused(where, repr(error)) from error
    if address.startswith("tcp://"):
        warnings.warn(
            f"{where}: its connections are not encrypted, and everybody who reaches its port can run code as "
            "you; where others can, start it with certificates, and name tls://.",
            stacklevel=2,
        )
    return client


def _refused(where: str, got: str) -> OSError:
    return OSError(
        f"{where}: expected a Dask scheduler that answers, got: {got}; start it, or correct the address or "
        "its certificates (distributed.comm.tls)."
    )


def _address_in(path: Path, where: str) -> str:
    """The address in the file that a scheduler wrote."""
    what, todo = "the file of a Dask scheduler", "start the scheduler, and name the file that it writes"
    if not path.is_file():
        raise FileNotFoundError(f"{where}: expected {what}, got none; {todo}.")
    with path.open("rb") as file:
        text = file.read(_LONGEST)
    try:
        address = json.loads(text)["address"]
    except (ValueError, KeyError, TypeError, RecursionError):
        address = None
    if not isinstance(address, str) or not re.fullmatch(r"[a-z]+://[\w.:\[\]%-]+", address):
        raise OSError(f"{where}: expected {what} with its address, got a damaged or another one; {todo}.")
    return address


def _check_certificates(security: distributed.Security, where: str) -> None:
    """Raise unless the configuration names existing certificates."""
    given = security.get_tls_config_for_role("client")
    for role in ("ca_file", "cert", "key"):
        what = f"distributed.comm.tls: {role} of the client"
        text = given[role]
        if text is None and role == "key":
            continue  # in the file of the certificate
        if text is None or ("\n" not in text and not Path(text).is_file()):
            todo = "name those that the scheduler was started with (DASK_DISTRIBUTED__COMM__TLS__CA_FILE ...)"
            raise FileNotFoundError(f"{where}: {what}: expected a file, got {text or 'none'}; {todo}.")


def _check_answer(address: str, security: distributed.Security, where: str) -> None:
    """Raise unless a scheduler says within seconds that it is one."""

    async def ask() -> str:
        comm = await connect(address, timeout=SECONDS, **security.get_connection_args("client"))
        try:
            await comm.write({"op": "identity", "reply": True})
            return str((await comm.read())["type"])
        finally:
            comm.abort()

    def answer() -> None:
        try:
            found = asyncio.run(asyncio.wait_for(ask(), SECONDS))
            answers.put("" if found == "Scheduler" else f"a {found} of Dask")
        except TimeoutError:
            answers.put(f"no answer within {SECONDS:g} s")
        except Exception as error:  # whatever is made of what is not the protocol of Dask
            answers.put(f"no scheduler of Dask ({type(error).__name__}: {str(error)[:200]})")

    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    # A thread of its own: resolving a name cannot be interrupted.
    threading.Thread(target=answer, daemon=True).start()
    try:
        got = answers.get(timeout=SECONDS + 1.0)
    except queue.Empty:
        got = f"no answer within {SECONDS:g} s"
    if got:
        raise _refused(where, got.rstrip("."))
