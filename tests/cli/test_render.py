"""Printing on terminals and elsewhere."""

import json
import re

import pytest

from nablasso.cli.render import print_code, print_error, print_json

LONG = "expected one thing, got [bold]another[/bold], do a third; " * 4 + "end"


def test_errors_wrap_at_the_width_of_a_terminal(terminal):
    stream = terminal()
    print_error(LONG)
    text = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    lines = text.splitlines()
    assert len(lines) > 3
    assert max(len(line) for line in lines) <= 60
    assert "[bold]another[/bold]" in " ".join(text.split())


def test_errors_are_one_line_elsewhere(capsys):
    print_error(LONG)
    assert capsys.readouterr().err == f"nablasso: {LONG}\n"


def test_colours_are_for_terminals(terminal, capsys):
    print_error("plain")
    assert "\x1b" not in capsys.readouterr().err
    stream = terminal()
    print_error("coloured")
    assert "\x1b[1;31m" in stream.getvalue()


def test_json_is_strict(capsys):
    print_json({"name": "größe"})
    assert json.loads(capsys.readouterr().out) == {"name": "größe"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"gap": float("nan")})


def test_code_can_be_copied(capsys):
    print_code("a = 1\n\nb = [2]")
    assert capsys.readouterr().out == "  a = 1\n\n  b = [2]\n"
