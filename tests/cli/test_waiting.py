"""Progress is for terminals."""

import time

import pytest

from nablasso.cli.waiting import shown_progress
from nablasso.progress import track


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
    text = stream.getvalue()
    steps = [step for step in range(1, 4) if f"DerivativeLassoCV folds: {step} of 3" in text]
    assert steps == [1, 2, 3]
    assert "about 0 s left" in text
    assert text.rindex("fitting") > text.rindex("3 of 3")  # what follows the last step


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
    monkeypatch.setattr(
        "nablasso.cli.waiting.time", type("Stopped", (), {"monotonic": lambda: 0.0})
    )
    with shown_progress():
        list(track(iter("abc"), 3, "folds"))
    assert "about 20 s left" in stream.getvalue()


def test_without_an_estimate_the_time_so_far_is_shown(terminal):
    stream = terminal()
    with shown_progress():
        pass
    assert "0 s so far" in stream.getvalue()


def test_nothing_is_shown_without_a_terminal(capsys):
    with shown_progress():
        work(2)
    assert capsys.readouterr() == ("", "")


def test_an_error_passes_and_restores_the_terminal(terminal):
    stream = terminal()
    with pytest.raises(KeyboardInterrupt), shown_progress():
        raise KeyboardInterrupt
    assert stream.getvalue().rstrip().endswith("\x1b[2K")  # the line is wiped
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is back
