"""Sphinx configuration: `make docs` builds into docs/_build/html with warnings as errors.

`make site` executes the gallery too, each example that changed since it was last executed.
"""

import gc
import importlib.metadata
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generated  # noqa: E402
import interface  # noqa: E402
import pages  # noqa: E402
import published  # noqa: E402

DOCS = Path(__file__).parent
REPOSITORY = os.environ.get("GITHUB_REPOSITORY", "")  # OWNER/NAME, in a hosted build
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
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
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


INDEXES = ("index", "calibration/index", "closures/index", "api/index")
"""Pages whose links are the structure of the site."""


def _structure(page, text):
    """Hidden tables of contents of the links of a page, one below each heading of the second level."""
    folder, caption, lines = Path(page).parent, "", []
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        if page == "index" and not part.startswith("## "):
            continue  # figures, which lead to pages of the lists below
        caption = f":caption: {part.splitlines()[0][3:]}\n" if page == "index" else ""
        linked = re.findall(r"^(?:- |\| )\[.*?\]\(([\w/.-]+)\.md\)", part, flags=re.MULTILINE)
        entries = [name for name in linked if page == "index" or (DOCS / folder / f"{name}.md").is_file()]
        if entries:
            lines += [f"```{{toctree}}\n:hidden:\n{caption}", *entries, "```", ""]
    return "\n".join(lines).replace("../gallery/README", "gallery/index")


def _fill_in(app, page, source):
    """Make a page of the site of one that is read as it is stored: structure, docstrings, gallery."""
    text = generated.filled(source[0])
    if page in INDEXES:
        text = f"{text}\n\n{_structure(page, text)}"
    if REPOSITORY:
        text = published.with_links(text, REPOSITORY)
    text = re.sub(r"\]\((?:\.\./)+gallery/README\.md\)", "](/gallery/index.rst)", text)
    text = re.sub(r"\]\((?:\.\./)+gallery/(\w+)\.py\)", r"](/gallery/\1.rst)", text)
    source[0] = interface.directives(text)


def _tables(app, what, name, value, options, lines):
    interface.with_tables(value, lines)
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"  # napoleon takes what is in front of the first colon as a type


def _signature(app, what, name, value, options, arguments, returned):
    return interface.signature(value, arguments), interface.signature(None, returned)


def _skipped(app, what, name, value, skip, options):
    return True if "Alias for field number" in (getattr(value, "__doc__", None) or "") else None


def _write_notebooks(app, failed):
    if REPOSITORY and failed is None and app.builder.name == "html":
        published.write_notebooks(Path(app.outdir, "notebooks"), REPOSITORY)


def setup(app):
    app.connect("source-read", _fill_in)
    app.connect("autodoc-process-docstring", _tables, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skipped)
    app.connect("build-finished", pages.write_fonts)
    app.connect("build-finished", _write_notebooks)
    app.connect("build-finished", pages.check)
    app.add_html_math_renderer("mathml", (pages.inline_math, None), (pages.displayed_math, None))
