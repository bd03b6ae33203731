"""Lines, times and columns of GOTM's text files, read without a Python loop over lines where it matters.

A line is `YYYY-MM-DD HH:MM:SS` in fixed columns, then numbers; lines that are blank or start with `#` or
`!` are comments. As in GOTM the separators within the date and behind it do not matter.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..io.errors import FileFormatError, check_size, decimal, reading, shortened, what_is_at
from ..io.protection import note_input
from .settings import Source

TIME_WIDTH = 19
"""Characters of a date and time."""


@dataclasses.dataclass(frozen=True)
class TextFile:
    """Lines of a file that are no comments.

    Args:
        path: of the file.
        numbers: of the lines in the file, from 1.
        texts: the lines.
    """

    path: Path
    numbers: np.ndarray
    texts: list[str]

    def error(self, index: int, expected: str, got: str, advice: str) -> FileFormatError:
        """An error about one line."""
        return FileFormatError(self.path, f"line {self.numbers[index]}", expected, got, advice)


def read_text(source: Source) -> TextFile:
    """The file of an input.

    Raises:
        FileNotFoundError: no such file; names the line of the configuration.
        FileFormatError: a file that is not text, or has no lines.
    """
    path = source.file
    found = what_is_at(path)
    if found != "a file":
        raise FileNotFoundError(
            f"{source.where}: expected the file {shortened(path)}, got {shortened(found)}; put it beside the "
            "configuration or correct its name."
        )
    note_input(path)
    with reading(path, "a text file"):
        check_size(path, "file", 8 * path.stat().st_size)
        content = path.read_bytes()
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = content.decode("latin-1").splitlines()
    kept = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] not in "#!"]
    if not kept:
        raise FileFormatError(path, "lines", "dates with values", "none", "check the file")
    numbers, texts = zip(*kept, strict=True)
    return TextFile(path, np.asarray(numbers), list(texts))


_FIELDS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))


def read_times(file: TextFile, indices: np.ndarray) -> np.ndarray:
    """Times of some lines [s] since 1970, from their first characters.

    Raises:
        FileFormatError: a line that does not start with a date and time.
    """
    texts = file.texts
    heads = np.array([texts[index][:TIME_WIDTH] for index in indices], dtype=f"U{TIME_WIDTH}")
    digits = heads.view(np.uint32).reshape(len(indices), TIME_WIDTH).astype(np.int64) - ord("0")
    digits[digits == ord(" ") - ord("0")] = 0
    fields, valid = [], np.ones(len(indices), bool)
    for begin, end in _FIELDS:
        field = digits[:, begin:end]
        valid &= np.all((field >= 0) & (field <= 9), axis=1)
        fields.append(field @ (10 ** np.arange(end - begin)[::-1]))
    year, month, day, hour, minute, second = fields
    valid &= (month >= 1) & (month <= 12) & (day >= 1) & (hour <= 24) & (minute < 60) & (second <= 60)
    months = (np.where(valid, year, 1970) - 1970) * 12 + np.where(valid, month, 1) - 1
    first = months.astype("datetime64[M]")
    valid &= day <= ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    if not valid.all():
        index = int(indices[int(np.flatnonzero(~valid)[0])])
        raise file.error(
            index,
            "a date and time YYYY-MM-DD HH:MM:SS",
            repr(texts[index][:TIME_WIDTH]),
            "correct the line, or start it with # if it is a comment",
        )
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    return days * 86400 + hour * 3600 + minute * 60 + second


def read_columns(
    file: TextFile, indices: np.ndarray, columns: tuple[int, ...], *, skip: int, names: str
) -> np.ndarray:
    """Numbers of some lines, shape `(len(indices), len(columns))`.

    Args:
        file: the lines.
        indices: of the lines.
        columns: numbers of the columns behind what is skipped, from 0.
        skip: characters to skip, those of the date.
        names: what the columns are, for messages.

    Raises:
        FileFormatError: a line with too few columns, or something that is no number.
    """
    texts = [file.texts[index][skip:] for index in indices]
    if any("," in text for text in texts[:1]):
        texts = [text.replace(",", " ") for text in texts]
    try:
        values = np.loadtxt(texts, usecols=columns, ndmin=2, comments=None)
        if values.shape[0] == len(texts):  # blank lines are passed over
            return values
    except ValueError:
        pass
    return _read_slowly(file, indices, texts, columns, names)


def _read_slowly(
    file: TextFile, indices: np.ndarray, texts: list[str], columns: tuple[int, ...], names: str
) -> np.ndarray:
    """Line by line: to name the line that is wrong, and to read Fortran's exponents `1.0D-3`."""
    values = np.empty((len(texts), len(columns)))
    for row, text in enumerate(texts):
        words = text.replace(",", " ").split()
        if len(words) <= max(columns):
            raise file.error(
                int(indices[row]),
                f"at least {max(columns) + 1} columns ({names})",
                f"{len(words)}: {file.texts[indices[row]].strip()!r}",
                "check the column number and the line",
            )
        for place, column in enumerate(columns):
            try:
                values[row, place] = decimal(words[column].lower().replace("d", "e"))
            except ValueError:
                raise file.error(
                    int(indices[row]),
                    f"a number in column {column + 1} ({names})",
                    repr(words[column]),
                    "correct the line",
                ) from None
    return values


def iso(seconds: Any) -> str:
    """A time [s] since 1970 as text."""
    return str(np.datetime64(int(seconds), "s")).replace("T", " ")
