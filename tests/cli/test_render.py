"""Printing, and the line that says how long it will take."""

import json
import re
import time

import pytest

from nablasso.cli.render import print_error, print_json, shown_progress
from nablasso.progress import track

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


def work(n_steps: int) -> None:
    def steps():
        for step in range(n_steps):
            time.sleep(0.02)
            yield step

    list(track(steps(), n_steps, "DerivativeLassoCV folds"))


def test_steps_and_time_left_are_shown(terminal):
    stream = terminal()
    with shown_progress():
        work(3)
    text = " ".join(stream.getvalue().split())  # it may wrap
    steps = [step for step in range(1, 4) if f"DerivativeLassoCV folds: {step} of 3" in text]
    assert steps == [1, 2, 3]
    assert "about 0 s left" in text


def test_several_pieces_of_work_follow_each_other(terminal):
    stream = terminal()
    with shown_progress():
        work(2)
        work(3)
    text = stream.getvalue()
    assert text.index("2 of 2") < text.index("1 of 3") < text.index("3 of 3")


def test_the_time_left_is_an_estimate_from_the_steps_done(terminal, monkeypatch):
    stream = terminal()
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("nablasso.progress.time.monotonic", lambda: next(clock))
    with shown_progress():
        list(track(iter("abc"), 3, "folds"))
    assert "about 20 s left" in " ".join(stream.getvalue().split())


def test_short_work_leaves_no_line_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("NABLASSO_PROGRESS", "60")
    with shown_progress():
        work(2)
    assert capsys.readouterr() == ("", "")


def test_long_work_leaves_lines_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("NABLASSO_PROGRESS", "0")
    with shown_progress(), shown_progress():  # the inner one leaves it to the outer one
        work(2)
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert out == ""
    assert first.startswith("nablasso: DerivativeLassoCV folds: 1 of 2 (50% of all, about")
    assert second == "nablasso: DerivativeLassoCV folds: 2 of 2 (100% of all)"


def test_an_error_passes_and_restores_the_terminal(terminal):
    stream = terminal()
    with pytest.raises(KeyboardInterrupt), shown_progress():
        raise KeyboardInterrupt
    assert stream.getvalue().rstrip().endswith("\x1b[2K")  # the line is wiped
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is back
