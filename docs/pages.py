"""What makes the pages stand alone: math as MathML, and a check that nothing comes from the network."""

import html
import re
from pathlib import Path
from urllib.parse import unquote

from docutils import nodes
from latex2mathml.converter import convert

FETCHED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?\s(?:src|href)=\"([^\"]*)\"", re.IGNORECASE)
NOT_FETCHED = re.compile(r"<link\b[^>]*\brel=\"(?:canonical|next|prev|index|search)\"[^>]*>", re.IGNORECASE)


def inline_math(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_math(translator, node):
    translator.body.append(f"{convert(node.astext(), display='block')}\n")
    raise nodes.SkipNode


def faults(page: str, folder: Path) -> list[str]:
    """Scripts, styles and images of an HTML page that come from the network, or that do not exist."""
    found = []
    for url in FETCHED.findall(NOT_FETCHED.sub("", page)):
        path = unquote(html.unescape(url)).partition("?")[0].partition("#")[0]
        if re.match(r"(?:\w+:)?//", path):
            found.append(f"{url} comes from the network")
        elif path and not path.startswith("data:") and not (folder / path).is_file():
            found.append(f"{url} does not exist")
    return found


def check(app, failed):
    """Refuse a site that needs the network, or lacks a file."""
    if failed is None and app.builder.name == "html":
        pages = sorted(Path(app.outdir).rglob("*.html"))
        found = {page: faults(page.read_text(encoding="utf-8"), page.parent) for page in pages}
        if any(found.values()):
            raise ValueError("\n".join(f"{page}: {fault}" for page in pages for fault in found[page]))


def forget_programs(gallery, name):
    """Between two examples of the gallery: compiled programs take memory."""
    import jax

    jax.clear_caches()
