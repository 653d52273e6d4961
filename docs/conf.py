"""The documentation site, made by Sphinx from Markdown pages, docstrings and reference runs.

``./run docs`` builds it into ``site/``, with warnings as errors. :mod:`sitekit`, beside this file, evaluates
expressions in double braces on the pages, so that no text, number or table is stored twice.
"""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

_PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _PROJECT["name"]
author = _PROJECT["authors"][0]["name"]
copyright = f"{author}, MIT licence"
version = release = _PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sitekit"]
exclude_patterns = ["sitekit", "templates", "Thumbs.db"]
nitpicky = True
# Types of other packages: their documentation would have to be fetched.
nitpick_ignore_regex = [("py:.*", r"(np|npt|numpy|scipy|sp|sklearn|pathlib|collections|typing)\..*|Path|Any")]

# Anchors as the hosts of repositories make them.
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types and shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"svmrepro {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_domain_indices = False
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {"navigation_with_keys": False}
