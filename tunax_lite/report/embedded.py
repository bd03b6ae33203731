"""Figures as text, to be part of the page."""

import base64
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure


def encoded(
    captions: Mapping[str, str], stored: Mapping[str, Path], drawn: Mapping[str, Figure]
) -> Iterator[dict[str, str]]:
    """Name, caption and content of the figures that are there, in the order of the captions.

    Args:
        captions: by name.
        stored: files by name.
        drawn: those that have no file.
    """
    for name, caption in captions.items():
        if name in stored:
            content = stored[name].read_bytes()
        elif name in drawn:
            buffer = io.BytesIO()
            drawn[name].savefig(buffer, format="png", dpi=130)
            content = buffer.getvalue()
        else:
            continue
        yield {"name": name, "caption": caption, "data": base64.b64encode(content).decode()}
