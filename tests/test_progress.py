"""Progress: items pass through untouched, each with a report."""

import logging

import pytest
from joblib import parallel_config

from nablasso.progress import Progress, reporting, run_jobs, stages, track


def test_items_pass_through_in_order_and_lazily():
    drawn = []

    def source():
        for item in "abc":
            drawn.append(item)
            yield item

    items = track(source(), 3, "letters")
    assert drawn == []
    assert next(items) == "a"
    assert drawn == ["a"]
    assert list(items) == ["b", "c"]


def test_a_report_follows_every_item():
    seen = []
    with reporting(seen.append):
        for number, _ in enumerate(track("abc", 3, "letters")):
            assert len(seen) == number  # after the work on an item, not before
    assert [(p.label, p.done, p.total) for p in seen] == [("letters", k, 3) for k in (1, 2, 3)]
    seconds = [p.seconds for p in seen]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


def test_time_left_is_the_mean_time_of_the_rest():
    assert Progress("", 2, 10, 0.2, 6.0).seconds_left == pytest.approx(24.0)
    assert Progress("", 10, 10, 1.0, 6.0).seconds_left == 0.0
    assert Progress("", 0, 10, 0.0, 0.0).seconds_left == float("inf")


def test_work_inside_work_is_one_whole_that_never_falls_back():
    seen = []
    with reporting(seen.append), stages(3, 1) as ended:
        for _ in track("ab", 2, "outer"):
            list(track("xyz", 3, "inner"))
        list(track("q", 1, "more"))
        ended()
        list(track("r", 1, "last"))
        ended()
    fractions = [p.fraction for p in seen]
    assert fractions == sorted(fractions)
    assert [p.label for p in seen] == [*["inner"] * 3, "outer"] * 2 + ["more", "last"]
    outer = [p.fraction for p in seen if p.label == "outer"]
    assert outer == pytest.approx([0.75 * 0.8 * 0.5, 0.75 * 0.8])  # of the first of two stages
    assert 0.75 < fractions[-1] <= 1


def test_shares_say_which_items_take_long():
    seen = []
    with reporting(seen.append):
        list(track("abc", 3, "letters", shares=(7, 2, 1)))
    assert [p.fraction for p in seen] == pytest.approx([0.7, 0.9, 1.0])


def test_the_time_left_is_right_where_the_shares_are(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("nablasso.progress.time.monotonic", lambda: clock[0])
    seen = []
    with reporting(seen.append):
        for seconds in track((6.0, 3.0, 1.0), 3, "work", shares=(6, 3, 1)):
            clock[0] += seconds
    assert [p.seconds_left for p in seen] == pytest.approx([4.0, 1.0, 0.0])


def test_reporters_nest_and_end_with_their_block():
    outer, inner = [], []
    with reporting(outer.append):
        with reporting(inner.append):
            list(track("a", 1, "inside"))
        list(track("b", 1, "outside"))
    list(track("c", 1, "nobody"))
    assert [p.label for p in inner] == ["inside"]
    assert [p.label for p in outer] == ["outside"]


def test_a_reporter_is_taken_off_after_an_error():
    seen = []
    with pytest.raises(ZeroDivisionError), reporting(seen.append):
        raise ZeroDivisionError
    list(track("a", 1, "later"))
    assert seen == []


def test_verbose_goes_to_the_logger_unless_someone_listens(caplog):
    with caplog.at_level(logging.WARNING, logger="nablasso"):
        list(track("ab", 2, "quiet"))
        assert caplog.records == []
        with reporting(lambda progress: None):
            list(track("ab", 2, "shown elsewhere", verbose=1))
        assert caplog.records == []
        list(track("ab", 2, "folds", verbose=1))
    assert [record.getMessage() for record in caplog.records] == [
        "folds: 1 of 2 (50% of all, about 0 s left)",
        "folds: 2 of 2 (100% of all)",
    ]


def test_nothing_to_do():
    with reporting(lambda progress: pytest.fail("nothing was done")):
        assert list(track([], 0, "empty")) == []


def test_the_time_of_an_item_includes_the_work_on_it(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("nablasso.progress.time.monotonic", lambda: clock[0])
    seen = []
    with reporting(seen.append):
        for _ in track("ab", 2, "letters"):
            clock[0] += 5.0
    assert [p.seconds for p in seen] == [5.0, 10.0]
    assert [p.seconds_left for p in seen] == [5.0, 0.0]


def power(base, exponent):
    return base**exponent


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_results_of_jobs_come_in_order_for_any_number_of_workers(n_jobs):
    arguments = [(k, 2) for k in range(6)]
    with parallel_config(backend="threading"):  # processes: tests/estimators/test_error_control.py
        found = run_jobs(power, arguments, label="squares", n_jobs=n_jobs)
        assert list(found) == [0, 1, 4, 9, 16, 25]


def test_every_job_is_reported():
    seen = []
    with reporting(seen.append):
        list(run_jobs(power, [(1, 1), (2, 2)], label="powers"))
    assert [(p.label, p.done, p.total) for p in seen] == [("powers", 1, 2), ("powers", 2, 2)]


def test_no_jobs():
    assert list(run_jobs(power, [], label="none")) == []


def test_work_that_was_broken_off_is_no_part_of_what_follows():
    held = track("abc", 3, "broken off")
    next(held)  # as a traceback would hold it
    seen = []
    with reporting(seen.append):
        for k, _ in enumerate(track("xy", 2, "new")):
            if k == 0:
                held.close()
            list(track("z", 1, "inner"))
    new = [p.fraction for p in seen if p.label == "new"]
    assert new == pytest.approx([0.5, 1.0])
    assert all(p.fraction < 1 for p in seen if p.label == "inner")
