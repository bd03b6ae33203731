"""Sphinx configuration: `make docs` builds into docs/_build/html with warnings as errors."""

import importlib.metadata

project = "tunax_lite"
author = "The tunax_lite developers"
release = version = importlib.metadata.version("tunax_lite")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"tunax_lite {release}"
exclude_patterns = ["_build", "figures/*.md"]  # tables that pages include
