"""What a test expects of an error: its kind, and the keys, files and numbers that it names; no wording."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")


def missing_from(message: str, parts: str) -> list[str]:
    """Those of the parts, separated by spaces, that a message lacks, wherever they stand in it.

    A number is equal to one in the message (1e3 is 1000); everything else is a whole word of it, so that
    `u` does not hide in `but`, or words of it that points join: `surface.u10` in `surface.u10.file`.
    """
    numbers = [float(found) for found in _NUMBER.findall(message)]

    def is_there(part: str) -> bool:
        if _NUMBER.fullmatch(part):
            return any(math.isclose(float(part), found, rel_tol=1e-12) for found in numbers)
        return bool(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", message))

    return [part for part in parts.split() if not is_there(part)]


@contextmanager
def error_naming(
    kind: type[Exception] | tuple[type[Exception], ...], parts: str
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error of this kind that names all parts; yields what `pytest.raises` does."""
    assert parts.split(), "expected keys, files or numbers that the error names"
    with pytest.raises(kind) as caught:
        yield caught
    missing = missing_from(str(caught.value), parts)
    assert not missing, f"{missing} not in: {caught.value}"


def notes_in(recwarn) -> list[str]:
    """Texts of the warnings since the last call, each once."""
    texts = dict.fromkeys(str(warning.message) for warning in recwarn)
    recwarn.clear()
    return list(texts)
