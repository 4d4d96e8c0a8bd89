"""Sphinx configuration: `make docs` builds the site, and a warning is an error."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "rtl-agent"
author = "the rtl-agent developers"
release = version = version_of("rtl-agent")
html_title = f"rtl-agent {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference_pages"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_theme_options = {"sidebar_hide_name": False}
html_static_path: list[str] = []

# GitHub's anchors, so that a link to a heading works there and here.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
