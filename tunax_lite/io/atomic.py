"""Files that are complete or not there at all."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from ..interrupts import deferred
from .full_disk import with_reason


@contextlib.contextmanager
def replacing(path) -> Iterator[Path]:
    """Give a temporary name in the folder of `path`; on success the file takes the name `path`.

    Missing folders are created. After any failure nothing is left, and an older file stays as it was.

    Raises:
        OSError: a folder that cannot be created or written to, or no room, with the name and what to do.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"{path}: expected a folder {path.parent} that can be created, got: {error.strerror}; "
            "choose another output path."
        ) from error
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file to write, got a folder; name a file in it.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"{path}: expected a folder with write permission, got {path.parent} without; "
            "choose another output path."
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    with deferred(temporary):
        try:
            yield temporary
            os.replace(temporary, path)
        except Exception as error:
            reason = with_reason(error, path, temporary)
            if reason is error:
                raise
            raise reason from error
        finally:
            temporary.unlink(missing_ok=True)


def file_name(text: str) -> str:
    """A text as part of the name of a file: short, and without what means something to a file system."""
    return re.sub(r"[^\w.,@+ -]", "_", text)[:100].strip()
