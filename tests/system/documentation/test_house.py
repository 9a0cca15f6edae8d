"""The page that a newcomer reads first is held to the tree."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from benchmarks import files_entered

TEXT = files_entered.PAGE.read_text("utf-8")
ROOT = files_entered.PAGE.parents[1]
LAYERS = runpy.run_path(str(ROOT / "tests" / "test_layers.py"))["LAYERS"]
NEAR = 5  # files: a fall-back of a solver may be needed on one processor and not on another


def paths(text: str) -> list[str]:
    """Paths in backquotes: with a slash, or the name of a module."""
    quoted = re.findall(r"`([\w./]+)`", text)
    return [name for name in quoted if "/" in name or name.endswith(".py")]


def listed(call: str) -> list[str]:
    """Files of a walk, in the order of the page: the numbered lines below its name."""
    section = TEXT.partition(f"**`{call}")[2].partition("\n**`")[0].partition("\n## ")[0]
    lines = re.findall(r"^\d+\. (.*)$", section, flags=re.MULTILINE)
    return [name for line in lines for name in paths(line)]


@pytest.fixture(scope="module")
def walks() -> dict[str, files_entered.Walk]:
    if sys.gettrace() is not None or sys.getprofile() is not None:
        pytest.skip("another tracer is at work")
    return {name: files_entered.walked(call) for name, call in files_entered.CALLS.items()}


def test_every_path_exists():
    named = set(paths(TEXT))
    assert len(named) > 50
    missing = {
        name
        for name in named
        if not (files_entered.PACKAGE / name).exists() and not (ROOT / name).exists()
    }
    assert not missing, f"docs/house.md names {sorted(missing)}"


def test_the_folders_are_the_layers():
    table = TEXT.partition("## Folders")[2].partition("## ")[0]
    cells = re.findall(r"^\| (.*?) \|", table, flags=re.MULTILINE)
    named = [n.removesuffix(".py") for cell in cells for n in re.findall(r"`([\w.]+)`", cell)]
    assert named == list(LAYERS)


@pytest.mark.parametrize("call", files_entered.CALLS)
def test_the_files_of_a_walk_are_entered_in_order(walks, call):
    names = listed(call)
    entered = walks[call].files
    assert 8 <= len(names) <= 20
    assert not set(names) - set(entered), "never entered"
    assert sorted(names, key=entered.index) == names


def test_the_figures_are_those_traced(walks):
    for name, walk in walks.items():
        count = re.search(rf"^\| `{re.escape(name)}` \| (\d+) \|", TEXT, flags=re.MULTILINE)
        assert count, f"run python -m benchmarks.files_entered --write; {name} has no line"
        assert abs(int(count[1]) - len(walk.files)) <= NEAR
