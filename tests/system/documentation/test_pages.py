"""What the pages show is what comes out; what they list is what there is."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

import nablasso
from benchmarks.pages import readme
from nablasso import inspection

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*/*.py"))
LONG = {"tutorial.md"}  # a fit with default settings


def blocks(text: str, language: str) -> list[str]:
    """Fenced blocks of a language in a Markdown text."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def pages_with_sessions() -> list:
    paths = [path for path in sorted(DOCS.glob("*.md")) if "```pycon" in path.read_text("utf-8")]
    return [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name in LONG else [])
        for path in paths
    ]


@pytest.mark.parametrize("path", pages_with_sessions())
def test_the_sessions_of_a_page_print_what_they_show(path):
    session = "\n".join(blocks(path.read_text("utf-8"), "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, path.name, str(path), 0)
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.write)
    assert runner.failures == 0, said.getvalue()


def test_the_readme_shows_the_real_output():
    text = (ROOT / "README.md").read_text("utf-8")
    code, shown = blocks(text, "python")[0], blocks(text, "text")[0]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "README.md", "exec"), {})
    beginning, dots, _ = shown.partition("\n...")
    assert dots, "the shown output ends in ..."
    assert " ".join(said.getvalue().split()).startswith(" ".join(beginning.split()))


@pytest.mark.slow  # rows are added while benchmarks run: once a night is often enough
def test_the_results_of_the_readme_are_those_stored():
    text = (ROOT / "README.md").read_text("utf-8")
    assert readme.replaced(text) == text, "run make results"


def test_the_reference_lists_every_public_name():
    listed = set(
        re.findall(r"^   (\w+)$", (DOCS / "api.rst").read_text("utf-8"), flags=re.MULTILINE)
    )
    missing = set(nablasso.__all__) - listed - {"__version__"}
    assert not missing, f"add to docs/api.rst: {sorted(missing)}"


def test_every_method_and_plot_has_an_example():
    text = "\n".join(path.read_text("utf-8") for path in EXAMPLES)
    shown = set(re.findall(r"\w+", text))
    methods = {
        name
        for name in nablasso.__all__
        if hasattr(getattr(nablasso, name), "fit") and not name.endswith("CV")
    }
    plots = {name for name in inspection.__all__ if name.endswith("Display")}
    covered_by_regressor = {
        name
        for name in methods
        if name.endswith("Classifier") and name.replace("Classifier", "Regressor") in shown
    }
    missing = (methods | plots) - shown - covered_by_regressor
    assert not missing, f"write examples for {sorted(missing)}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_a_title(path):
    docstring = path.read_text("utf-8").split('"""')[1].strip().splitlines()
    title, line = docstring[:2]
    assert set(line) == {"="}
    assert len(line) == len(title)


def test_the_picture_is_small():
    assert (DOCS / "_static" / "picture.svg").stat().st_size < 150_000


def test_continuous_integration_builds_the_pages():
    assert "make docs" in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
