"""Settings of the documentation: ``make docs`` builds it, and a warning is an error."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import nablasso

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from command_pages import write_command_pages  # noqa: E402 (found beside this file)

project = "nablasso"
author = "The nablasso developers"
copyright = author
version = release = nablasso.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "generated/commands.md",
    "auto_examples/**/*.ipynb",
    "auto_examples/**/*.py",
]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
smartquotes = False  # they would turn --option into a dash

# Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = [
    "config.cache",  # the gallery's settings hold functions, which cannot be stored
    "myst.header",  # included result files begin at a level of their own
]

# Reference
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Gallery. Examples that did not change since the last build are not run again: docs/auto_examples
# keeps their digests. `make clean` forgets them.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "subsection_order": [
        f"../examples/{name}"
        for name in (
            "selection",
            "plots",
            "interactions",
            "gradients",
            "nonnegative",
            "error_control",
        )
    ],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "doc_module": ("nablasso",),
    "backreferences_dir": "backreferences",
    "inspect_global_variables": False,
    "capture_repr": ("_repr_html_",),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "thumbnail_size": (400, 280),
}
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)

# Pages
html_theme = "furo"
html_title = f"nablasso {release}"
html_static_path = ["_static"]
html_css_files = ["nablasso.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7fb4f0", "color-brand-content": "#7fb4f0"},
}


def keep_our_members(_app: Any, kind: str, _name: str, member: Any, *_: Any) -> bool | None:
    """Leave out what scikit-learn documents: its methods refer to pages of its own."""
    if kind == "module":
        return None
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None) or ""
    return None if module.startswith("nablasso") else True


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", keep_our_members)
    write_command_pages(HERE / "generated" / "commands.md")
