"""The files around the package agree with it and with each other."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nablasso

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "nablasso"
MODULES = sorted(PACKAGE.rglob("*.py"))
USUAL_LINES, MAX_LINES, FEW = 520, 860, 14  # one idea a file, whole; a few ideas are long


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def first_match(pattern: str, name: str) -> str:
    match = re.search(pattern, read(name), flags=re.MULTILINE)
    assert match, f"{name}: expected a line of the form {pattern}"
    return match[1]


def commands(markdown: str) -> list[str]:
    """The commands in the fenced blocks of a Markdown text, without prompts and comments."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", markdown, flags=re.MULTILINE | re.DOTALL)
    lines = (line.removeprefix("$ ") for block in blocks for line in block.splitlines())
    stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
    return [line for line in stripped if line]


def test_the_tests_see_this_working_tree():
    assert Path(nablasso.__file__).resolve() == (PACKAGE / "__init__.py").resolve(), (
        f"expected the package of {PACKAGE}, got {nablasso.__file__}; run `make clean test`"
    )


def test_names_of_the_package_are_loaded_when_asked_for():
    asked = (
        "import sys, nablasso\n"
        "assert 'sklearn' not in sys.modules and nablasso.__version__\n"
        "assert nablasso.NablassoRegressor is nablasso.estimators.NablassoRegressor\n"
        "assert nablasso.kernels.Gaussian and nablasso.load is nablasso.persistence.load\n"
        "assert set(nablasso.__all__) <= set(dir(nablasso))\n"
    )
    subprocess.run([sys.executable, "-c", asked], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'Absent'"):
        nablasso.Absent  # noqa: B018 (asking is the point)


def test_pyproject_takes_the_version_from_the_package():
    project = tomllib.loads(read("pyproject.toml"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "nablasso.__version__"}


def test_citation_has_the_version():
    assert first_match(r"^version: (\S+)$", "CITATION.cff") == nablasso.__version__


def test_changelog_begins_with_the_version():
    assert first_match(r"^## \[(\d[^\]]*)\]", "CHANGELOG.md") == nablasso.__version__


def test_readme_begins_with_demo_and_test():
    assert commands(read("README.md"))[:2] == ["make demo", "make test"]


def test_commands_are_read_from_fenced_blocks():
    text = "```sh\n# first\n$ make demo   # shows\n\nmake test\n```\nmake no\n```\nls\n```\n"
    assert commands(text) == ["make demo", "make test", "ls"]


def test_continuous_integration_runs_make_test():
    assert "make test" in read(".ci/run").splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK), "chmod +x .ci/run"


def test_workflows_run_targets_of_the_makefile_alone():
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert {path.stem for path in workflows} == {"docs", "nightly", "release", "test"}
    for path in workflows:
        text = path.read_text("utf-8")
        runs = re.findall(r"run: (.+)", text)
        assert runs, f"{path.name} runs nothing"
        for line in runs:
            called = re.fullmatch(r"make (\w+|\$\{\{ matrix.target \}\})( TAG=.*)?", line)
            assert called, f"{path.name}: {line!r} is not a target of the Makefile"
            names = [called[1]]
            if "matrix" in called[1]:
                names = re.search(r"target: \[(.*)\]", text)[1].split(", ")
            assert set(names) <= targets


def test_workflows_know_every_python_that_the_package_names():
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', read("pyproject.toml"))
    tested = first_match(r"^\s+python: \[(.+)\]$", ".github/workflows/test.yml")
    assert re.findall(r'"([\d.]+)"', tested) == named
    assert f'requires-python = ">={named[0]}"' in read("pyproject.toml")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_module_has_a_docstring_and_one_concept(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring; say what it holds"
    n_lines = len(text.splitlines())
    assert n_lines <= MAX_LINES, f"{path} has {n_lines} lines, at most {MAX_LINES}; split it"


def test_few_modules_are_long():
    counts = {path: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    long = {path.name: lines for path, lines in counts.items() if lines > USUAL_LINES}
    assert len(long) <= FEW, f"more than {FEW} files have over {USUAL_LINES} lines: {long}"
