"""Sphinx configuration: `make docs` builds into docs/_build/html with warnings as errors.

`make site` executes the gallery too, each example that changed since it was last executed.
"""

import gc
import importlib.metadata
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import interface  # noqa: E402
import pages  # noqa: E402

from tunax_lite.closures import AbstractClosure  # noqa: E402
from tunax_lite.config.reference import describe, families  # noqa: E402

gc.set_threshold(100_000, 20, 20)  # with JAX loaded, looking for cycles takes a tenth of the time

project = "tunax_lite"
author = "The tunax_lite developers"
release = version = importlib.metadata.version("tunax_lite")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
default_role = "code"  # docstrings quote names with single backticks
html_theme = "furo"
html_title = f"tunax_lite {release}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
python_maximum_signature_line_length = 88
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]  # made by scripts of the page
linkcheck_ignore = [r"[\w/]+\.html$"]  # own pages: pages.check
linkcheck_report_timeouts_as_broken = False
exclude_patterns = ["_build", "figures/*.md", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
sphinx_gallery_conf = {
    "examples_dirs": "../gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "capture_repr": (),
    "reset_modules": ("matplotlib", "pages.forget_programs"),
    "image_srcset": ["2x"],
}


def _table(name, only=None):
    """Markdown of what a name declares itself, the closure of several; its parts have names of their own."""
    named = [each for each in describe(name) if only is None or each.kind is only]
    each = max(named, key=lambda each: issubclass(each.kind, AbstractClosure))
    rows = [row for row in each.declared if "." not in row.path]
    lines = ["| name | default | unit | range | meaning |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (f"`{row.path}`", row.default, row.unit, row.range, row.meaning.replace("|", "\\|"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if rows else ""


def _cost(names):
    """Markdown of the times per step that the page of the comparison has for closures, and over k-epsilon."""
    text = (Path(__file__).parent / "closures" / "comparison.md").read_text(encoding="utf-8")
    measured = {}
    for row in re.finditer(r"^\| `(\w+)` (?:\|[^|\n]*){8}\| ([\d.]+) \|$", text, flags=re.MULTILINE):
        measured.setdefault(row[1], float(row[2]))  # the first table: default constants
    lines = ["| closure | step of one column of 64 cells [µs] | over `k_epsilon` |", "| --- | ---: | ---: |"]
    for name in names:
        ratio = measured[name] / measured["k_epsilon"]
        lines.append(f"| `{name}` | {measured[name]:g} | {ratio:.1f} |")
    return (
        "\n".join(lines)
        + "\n\nOne core, float64; [how it was measured](comparison.md#with-default-constants)."
    )


def _all_names():
    """Markdown of all families of names, with a table for each."""
    lines = []
    for title, names in families().items():
        lines.append(f"## {title}\n")
        for each in names:
            (said,) = [said for said in describe(each.name) if said.kind is each.kind]
            source = f" Source: {said.source}" if said.source else ""
            lines.append(f"### `{each.name}`\n\n{said.summary}{source}\n\n{_table(each.name, each.kind)}\n")
    return "\n".join(lines)


def _fill_in(app, page, source):
    """Put what is declared and measured in the place of lines in double braces.

    `{{parameters NAME}}`, `{{cost NAME NAME}}`, `{{all names}}`, `{{api MODULE}}`.
    """
    source[0] = re.sub(r"\{\{parameters (\w+)\}\}", lambda found: _table(found[1]), source[0])
    source[0] = re.sub(r"\{\{cost ([\w ]+)\}\}", lambda found: _cost(found[1].split()), source[0])
    if "{{all names}}" in source[0]:
        source[0] = source[0].replace("{{all names}}", _all_names())
    source[0] = interface.directives(source[0])


def _tables(app, what, name, value, options, lines):
    interface.with_tables(value, lines)
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"  # napoleon takes what is in front of the first colon as a type


def _signature(app, what, name, value, options, arguments, returned):
    return interface.signature(value, arguments), interface.signature(None, returned)


def _skipped(app, what, name, value, skip, options):
    return True if "Alias for field number" in (getattr(value, "__doc__", None) or "") else None


def setup(app):
    app.connect("source-read", _fill_in)
    app.connect("autodoc-process-docstring", _tables, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skipped)
    app.connect("build-finished", pages.write_fonts)
    app.connect("build-finished", pages.check)
    app.add_html_math_renderer("mathml", (pages.inline_math, None), (pages.displayed_math, None))
