"""Sphinx configuration: `make docs` builds into docs/_build/html with warnings as errors."""

import importlib.metadata
import re

from tunax_lite.config.reference import describe, families

project = "tunax_lite"
author = "The tunax_lite developers"
release = version = importlib.metadata.version("tunax_lite")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"tunax_lite {release}"
exclude_patterns = ["_build", "figures/*.md"]  # tables that pages include


def _table(name, only=None):
    """Markdown of what a name declares itself; its parts have names of their own."""
    (each,) = [each for each in describe(name) if only is None or each.kind is only]
    rows = [row for row in each.declared if "." not in row.path]
    lines = ["| name | default | unit | range | meaning |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (f"`{row.path}`", row.default, row.unit, row.range, row.meaning.replace("|", "\\|"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if rows else ""


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
    """Put tables from the declarations in the place of `{{parameters NAME}}` and `{{all names}}`."""
    source[0] = re.sub(r"\{\{parameters (\w+)\}\}", lambda found: _table(found[1]), source[0])
    if "{{all names}}" in source[0]:
        source[0] = source[0].replace("{{all names}}", _all_names())


def setup(app):
    app.connect("source-read", _fill_in)
