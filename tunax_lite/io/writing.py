"""Outputs: checked before anything is computed, written under a temporary name, and renamed at the end."""

import contextlib
import csv
import dataclasses
import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

_LEAST_FREE = 2**23
"""Bytes below which a disk counts as full: a compressed file frees some space when it fails."""


class OverwriteError(FileExistsError):
    """An output that a command must not write."""


def check_outputs(
    paths: Iterable[Path],
    *,
    overwrite: bool,
    inputs: Iterable[Path] = (),
    folders: bool = False,
    advice: str = "use --overwrite to replace it, or choose another output",
) -> None:
    """Check the outputs of a command before it computes anything.

    Args:
        paths: outputs.
        overwrite: whether existing outputs may be replaced.
        inputs: files and folders that the command reads; these are never replaced.
        folders: whether the outputs are folders.
        advice: remedy for an output that exists.

    Raises:
        OverwriteError: an output that is also an input, or that exists and must not be replaced.
        IsADirectoryError: a folder in place of a file.
    """
    inputs = list(inputs)
    for path in paths:
        for read in inputs:
            output, source = Path(os.path.realpath(path)), Path(os.path.realpath(read))
            exist = os.path.exists(path) and os.path.exists(read)
            is_same = exist and os.path.samefile(path, read)  # also hard links
            if is_same or output == source or output in source.parents or source in output.parents:
                raise OverwriteError(f"{path} is also an input ({read}); choose another output.")
        if path.is_dir() and not folders:
            raise IsADirectoryError(f"{path}: expected a file to write, got a folder; name a file in it.")
        if os.path.lexists(path) and not overwrite:
            raise OverwriteError(f"{path} exists; {advice}.")


@contextlib.contextmanager
def replacing(path) -> Iterator[Path]:
    """Provide a temporary name in the folder of `path`; on success the file is renamed to `path`.

    Missing folders are created. After an exception nothing is left, and an existing file is unchanged.

    Raises:
        OSError: a path that cannot be written to; a full disk, with a remedy.
    """
    path = Path(path)
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file to write, got a folder; name a file in it.")
    temporary = _temporary(path)
    try:
        yield temporary
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:
        # NetCDF reports every failed write as an error of HDF, also for lack of space or beyond a quota.
        number, by_netcdf = getattr(error, "errno", None) or -1, "NetCDF: HDF error" in str(error)
        is_full = number in (errno.ENOSPC, errno.EDQUOT) or by_netcdf
        if not is_full and (number > 0 or shutil.disk_usage(folder).free >= _LEAST_FREE):
            raise
        advice = f"make room on the file system of {folder}, or choose another output path"
        raise OSError(f"{path}: the disk or quota is full ({error}); {advice}.") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Like `replacing`, for a folder; an earlier folder is replaced completely."""
    temporary, before = _temporary(path), _temporary(path)
    try:
        yield temporary
        if path.exists():
            path.rename(before)  # kept until the new one is complete
        temporary.rename(path)
    finally:
        if before.exists() and not path.exists():  # the second name was refused
            before.rename(path)
        for folder in (temporary, before):
            shutil.rmtree(folder, ignore_errors=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def write_text(path, text: str) -> None:
    """Write a text file, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_rows(
    path, kind: type, rows: Iterable[object], number: str | None = None, also: Iterable[str] = ()
) -> None:
    """Write the fields of dataclass instances as CSV, then the properties named in `also`, atomically.

    Numbers have full precision, or the format `number`.
    """

    def text(value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if number is None or isinstance(value, str) else format(value, number)

    columns = [*(field.name for field in dataclasses.fields(kind)), *also]
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([text(getattr(row, column)) for column in columns] for row in rows)


def file_name(text: str) -> str:
    """Turn a text into part of a file name: short, and without special characters."""
    return re.sub(r"[^\w.,@+ -]", "_", text)[:100].strip()
