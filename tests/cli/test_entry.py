"""The way in and out: help, version, exit codes, interruption, a missing extra."""

import io
import re
import subprocess
import sys

import pytest

import nablasso
from nablasso import cli
from nablasso.cli import app
from nablasso.cli.app import EXIT_CODES
from nablasso.kernels import KERNELS

COMMANDS = ("select", "predict", "explain", "density", "quantiles", "reproduce", "demo")

# Makes packages absent, runs the command, gives one of them back, runs it again.
WITHOUT = """
import sys

absent = ["typer", "rich", "pandas"]
sys.modules |= dict.fromkeys(absent)
from nablasso.cli import main
while absent:
    try:
        main(["demo"])
    except SystemExit as leaving:
        del sys.modules[absent[0]]
        print(absent.pop(0), leaving.code)
"""


HELPED = """
import sys
from nablasso.cli import main
try:
    main(["--help"])
except SystemExit:
    print("loaded", *{"numpy", "pandas", "rich", "sklearn"} & set(sys.modules))
"""


def plain(text: str) -> str:
    """Without colours and frames, as one line."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


def test_version(run):
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, f"nablasso {nablasso.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], *([name, "-h"] for name in COMMANDS)])
def test_every_help_explains_the_exit_codes(run, arguments):
    outcome = run(*arguments)
    assert outcome.code == 0
    assert EXIT_CODES in plain(outcome.out)
    assert EXIT_CODES == (
        "Exit codes: 0 done, 1 error in the data, a file or a parameter, 2 wrong usage, "
        "3 a fault of nablasso, 130 interrupted."
    )


def test_help_tells_a_newcomer_where_to_begin(run):
    text = plain(run("--help").out)
    assert "Begin with nablasso demo" in text
    assert "nablasso select table.csv --target COLUMN" in text


def test_help_of_select_lists_every_option(run):
    text = plain(run("select", "--help").out)
    options = (
        "target classify ignore keep category groups missing sample fdr max-features kernel "
        "cv seed report save json"
    )
    missing = [name for name in options.split() if f"--{name} " not in text]
    assert not missing


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_fits_a_narrow_terminal(run, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(len(line) for line in run(*arguments).out.splitlines()) <= 60


@pytest.mark.parametrize(
    "arguments",
    [["selct"], ["select"], ["select", "f.csv"], ["demo", "--no-such-option"]],
)
def test_wrong_usage_is_2(run, arguments):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.err
    assert not outcome.out


@pytest.mark.parametrize(
    "value", ["--fdr=1.5", "--seed=-1", "--cv=1", "--cv=many", "--max-features=0"]
)
def test_impossible_values_are_wrong_usage(run, csv, value):
    assert run("select", csv, "--target", "y", value).code == 2


@pytest.mark.parametrize("command", ["select", "demo"])
def test_interruption_is_one_line_and_130(run, csv, calls, command):
    arguments = {"select": ["select", csv, "--target", "y"], "demo": ["demo", "--json"]}
    outcome = run(*arguments[command])
    assert calls
    assert outcome.code == 130
    assert outcome.err == "nablasso: interrupted; there is no result.\n"
    assert not outcome.out


def test_interruption_while_loading_is_130(run, monkeypatch):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "find_spec", interrupted)
    outcome = run("demo")
    assert (outcome.code, outcome.err) == (130, "nablasso: interrupted\n")


def test_a_missing_package_names_the_extra():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["typer 1", "rich 1", "pandas 1"]
    assert done.stderr.splitlines() == [
        f"nablasso: The command needs {package}, which is not installed; "
        'install it with: pip install "nablasso[cli]"'
        for package in ("typer", "rich", "pandas")
    ]


def test_a_missing_module_of_our_own_is_not_called_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "nablasso.cli.app", None)
    with pytest.raises(ModuleNotFoundError, match=r"nablasso\.cli\.app"):
        cli.main(["--version"])


def test_a_terminal_without_umlauts_shows_a_question_mark(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    stream.write("größe")
    stream.flush()
    assert stream.buffer.getvalue().endswith(b"gr??e")


def test_the_help_names_every_kernel_and_loads_none():
    assert ", ".join(KERNELS) == app.KERNELS
    done = subprocess.run(
        [sys.executable, "-c", HELPED], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded"
