"""What makes the pages stand alone: math as MathML with its fonts, and a check of the links."""

import html
import logging
import re
from pathlib import Path
from urllib.parse import unquote

from docutils import nodes
from fontTools import subset
from latex2mathml.converter import convert
from matplotlib import get_data_path

# One with the measures of formulae (its table MATH), and one for italic letters and signs that it lacks.
LETTERS = [*range(0x2100, 0x2150), *range(0x1D400, 0x1D800)]
SIGNS = [*range(0x20, 0x180), *range(0x370, 0x400), *range(0x2000, 0x2400), *range(0x27E0, 0x2800)]
FONTS = {"math": ("DejaVuSerif.ttf", SIGNS + LETTERS), "letters": ("STIXGeneral.ttf", LETTERS)}
MEASURES = {  # [em]
    "SubscriptShiftDown": 0.22,
    "SuperscriptShiftUp": 0.38,
    "SuperscriptBottomMin": 0.12,
    "SuperscriptBaselineDropMax": 0.35,
}

FETCHED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?\s(?:src|href)=\"([^\"]*)\"", re.IGNORECASE)
LINKED = re.compile(r"<a\b[^>]*?\shref=\"([^\"]*)\"", re.IGNORECASE)
PLACES = re.compile(r"\s(?:id|name)=\"([^\"]+)\"")
NOT_FETCHED = re.compile(r"<link\b[^>]*\brel=\"(?:canonical|next|prev|index|search)\"[^>]*>", re.IGNORECASE)


def inline_math(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_math(translator, node):
    translator.body.append(f"{convert(node.astext(), display='block')}\n")
    raise nodes.SkipNode


def write_fonts(app, failed):
    """Fonts of formulae for browsers without one, from those of matplotlib."""
    if failed is None and app.builder.name == "html":
        logging.getLogger("fontTools").setLevel(logging.WARNING)
        options = subset.Options(flavor="woff", drop_tables=["FFTM"], layout_features=[], hinting=False)
        for name, (file, characters) in FONTS.items():
            font = subset.load_font(Path(get_data_path(), "fonts", "ttf", file), options)
            chosen = subset.Subsetter(options)
            chosen.populate(unicodes=characters)
            chosen.subset(font)
            if "MATH" in font:  # in which this font leaves some at zero
                for measure, size in MEASURES.items():
                    constant = getattr(font["MATH"].table.MathConstants, measure)
                    constant.Value = round(size * font["head"].unitsPerEm)
            subset.save_font(font, Path(app.outdir, "_static", f"{name}.woff"), options)


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


def broken_links(pages: dict[Path, str]) -> list[str]:
    """Links between pages, by their paths, to files or places in them that do not exist."""
    places = {path: {"", *map(html.unescape, PLACES.findall(page))} for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        for url in sorted(set(LINKED.findall(page))):
            file, _, place = unquote(html.unescape(url)).partition("#")
            if re.match(r"\w+:", file):
                continue
            target = (path.parent / file).resolve() if file else path
            if not target.exists() or place not in places.get(target, {place}):
                found.append(f"{path}: {url} leads nowhere")
    return found


def check(app, failed):
    """Refuse a site that needs the network, lacks a file, or has links that lead nowhere."""
    if failed is None and app.builder.name == "html":
        files = sorted(Path(app.outdir).resolve().rglob("*.html"))
        pages = {path: path.read_text(encoding="utf-8") for path in files}
        found = [f"{path}: {fault}" for path, page in pages.items() for fault in faults(page, path.parent)]
        found += broken_links(pages)
        if found:
            raise ValueError("\n".join(found))


def forget_programs(gallery, name):
    """Between two examples of the gallery: compiled programs take memory."""
    import jax

    jax.clear_caches()
