"""Why a file could not be written: libraries say `HDF error`, the system says that there is no room."""

import errno
import os
from pathlib import Path

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PROBE = 8 * 2**20  # bytes; a file that is compressed leaves some room behind when it fails


def with_reason(error: Exception, path: Path, temporary: Path) -> Exception:
    """The error to raise in place of one: an `OSError` that names file and remedy where there was no room.

    Args:
        error: of the write.
        path: what the file was to be called.
        temporary: what it is called until it is complete; it is spoilt here.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number not in _NO_ROOM and isinstance(error, (OSError, RuntimeError)):
        number = _error_of_appending(temporary)
    if number not in _NO_ROOM:
        return error
    if number == errno.EFBIG:
        limit, remedy = f"the limit of this process ({_limit()})", "raise it (ulimit -f)"
    elif number == errno.EDQUOT:
        limit, remedy = "your quota", f"remove files of yours from the file system of {path.parent}"
    else:
        limit, remedy = "a full disk", f"make room on the file system of {path.parent}"
    return OSError(
        f"{path}: expected room to write it, got {limit}; {remedy}, or choose another output path. "
        "Nothing half-written is left."
    )


def _error_of_appending(temporary: Path) -> int | None:
    """What the system says to more bytes in a file; `None` where it takes them."""
    try:
        with open(temporary, "ab", buffering=0) as file:
            file.write(bytes(_PROBE))
            os.fsync(file.fileno())
            file.write(bytes(1))  # the first write may have been cut short
    except OSError as error:
        return error.errno
    return None


def _limit() -> str:
    import resource  # not on Windows, which has no such limit

    return f"{resource.getrlimit(resource.RLIMIT_FSIZE)[0]} bytes"
