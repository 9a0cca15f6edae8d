"""Imports point only up the list of layers, and the core needs no optional package."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "nablasso"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# A module imports only from layers at or before its own.
LAYERS = (
    "types",
    "rules",
    "errors",
    "progress",
    "persistence",
    "data",
    "kernels",
    "losses",
    "penalties",
    "spaces",
    "streaming",
    "regression",
    "problems",
    "solvers",
    "paths",
    "search",
    "prediction",
    "screening",
    "hierarchy",
    "gradients",
    "nonnegative",
    "inference",
    "reading",
    "answer",
    "estimators",
    "datasets",
    "inspection",
    "report",
    "cli",
)

OUTER_LAYERS = ("report", "cli")
OPTIONAL_PACKAGES = ("pandas", "matplotlib", "typer", "rich", "pyarrow", "dask", "skops", "cvxpy")

# Every optional package is made absent, and who asks for one is noted. To look into sys.modules
# would not do: scikit-learn loads pandas where it is installed.
PROBE = """
import importlib, json, sys

modules, optional = json.loads(sys.argv[1])
noted = set()

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in optional:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            noted.add((frame.f_globals["__name__"], name))
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
for module in modules:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in optional:
            raise
print(json.dumps(sorted(f"{who}: {name}" for who, name in noted if who.startswith("nablasso"))))
"""


def module_name(path: Path) -> str:
    """``kernels/__init__.py`` becomes ``nablasso.kernels``."""
    parts = ("nablasso", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    """The layer of an absolute module name; "" for the package itself."""
    layer = module.partition(".")[2].partition(".")[0]
    return "cli" if layer == "__main__" else layer


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module that a from-import, standing in ``package``, names."""
    if node.level == 0:
        return node.module or ""
    parents = package.split(".")
    assert node.level <= len(parents), f"line {node.lineno}: relative import leaves the package"
    base = parents[: len(parents) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and absolute name of each import from nablasso, wherever it stands in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = absolute(node, package)
            names = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "nablasso")


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Say which imports of ``source``, the text of ``module``, break the order of the layers.

    ``nablasso`` itself imports everything, so only the last layer may take its names from there.
    The version is free for all.
    """
    own = layer_of(module)
    if own not in LAYERS:
        return [f"{module}: {own!r} is not in LAYERS; give it a place in tests/test_layers.py"]
    package = module if is_package else module.rpartition(".")[0]
    found = []
    for line, name in imported(ast.parse(source), package):
        if name == "nablasso.__version__":
            continue
        layer = layer_of(name)
        target = layer if layer in LAYERS else LAYERS[-1]
        if LAYERS.index(target) > LAYERS.index(own):
            found.append(
                f"{module}, line {line}: imports {name}; {own!r} may import only from "
                f"{', '.join(LAYERS[: LAYERS.index(own) + 1])}. Move the code, or the import."
            )
    return found


def optional_imports(modules: list[str], folder: Path | None = None) -> list[str]:
    """Import ``modules`` in a fresh interpreter; return "importer: optional package" for ours."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps([modules, OPTIONAL_PACKAGES])],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path != PACKAGE / "__init__.py"],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_imports_point_up_the_layers(path):
    found = violations(
        path.read_text(encoding="utf-8"), module_name(path), is_package=path.stem == "__init__"
    )
    assert not found, "\n".join(found)


def test_no_core_module_imports_an_optional_package():
    names = [module_name(path) for path in SOURCES if path.stem != "__main__"]
    core = [name for name in names if layer_of(name) not in OUTER_LAYERS]
    assert "nablasso" in core
    assert optional_imports(core) == [], "import it in the function that needs it"


@pytest.mark.parametrize(
    "source",
    [
        "from nablasso.cli import main",
        "from nablasso.cli.select import select",
        "from nablasso import cli",
        "from nablasso import errors, cli",
        "from nablasso import DerivativeLasso",
        "from nablasso import *",
        "import nablasso",
        "import nablasso.cli",
        "import numpy, nablasso.cli.select as select",
        "from .. import cli",
        "from ..cli import main",
        "from ..cli.select import select",
        "from nablasso.unheard_of import thing",
        "def f():\n    from nablasso.cli import main",
        "class C:\n    def f(self):\n        import nablasso.cli",
        "if TYPE_CHECKING:\n    from nablasso.problems import Problem",
    ],
)
def test_the_checker_catches_an_import_down_the_layers(source):
    (message,) = violations(source, "nablasso.kernels.radial")
    assert "nablasso.kernels.radial, line " in message


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from scipy import linalg",
        "import nablasso_extras",
        "from nablasso import __version__",
        "from nablasso import errors",
        "from nablasso.errors import NablassoError",
        "import nablasso.kernels.dot_product",
        "from . import dot_product",
        "from .dot_product import DotProduct",
        "from ..errors import NablassoError",
        "from .. import progress",
    ],
)
def test_the_checker_allows_an_import_up_the_layers(source):
    assert violations(source, "nablasso.kernels.radial") == []


def test_the_checker_resolves_relative_imports_in_packages_and_modules():
    package = {"module": "nablasso.kernels", "is_package": True}
    assert violations("from .cli import x", **package) == []  # nablasso.kernels.cli
    assert violations("from ..cli import x", **package)
    assert violations("from .cli import x", "nablasso.problems")  # nablasso.cli
    assert violations("from .losses import x", "nablasso.problems") == []


def test_the_checker_asks_for_a_place_in_the_list():
    (message,) = violations("", "nablasso.utils")
    assert "'utils' is not in LAYERS" in message


def test_main_counts_as_the_command():
    assert violations("from nablasso.cli import main", "nablasso.__main__") == []


def test_the_probe_notes_our_optional_imports_and_no_others(tmp_path):
    (tmp_path / "nablasso_plain.py").write_text("import pandas.api")
    (tmp_path / "nablasso_guarded.py").write_text("try:\n    import rich\nexcept ImportError: ...")
    (tmp_path / "nablasso_late.py").write_text("def f():\n    import rich")
    (tmp_path / "stranger.py").write_text("try:\n    import dask\nexcept ImportError: ...")
    modules = ["nablasso_plain", "nablasso_guarded", "nablasso_late", "stranger"]
    expected = ["nablasso_guarded: rich", "nablasso_plain: pandas"]
    assert optional_imports(modules, tmp_path) == expected
