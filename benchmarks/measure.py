"""One measurement: a contestant, a problem, a number of rows and a seed give one row.

Rows are text on one line, with the same columns in every suite; what a suite does not know or a
contestant does not offer is empty. A contestant that fails gives a row with the error as its
status, no support and infinite test error, so that failing is never better than answering.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.contest import Answer, Contestant, Question
from benchmarks.contestants import CONTESTANTS
from benchmarks.judge import judge_indices, judge_prediction, judge_support, last_rank
from benchmarks.memory import peak_above
from benchmarks.problem import Draw, Problem
from benchmarks.store import Row
from benchmarks.suites import SUITES
from benchmarks.unit import eigh_seconds

KEY = ("contestant", "version", "problem", "n", "seed")
COLUMNS = (
    *KEY,
    "source",
    "d",
    "relevant",
    "selected",
    "exact",
    "precision",
    "recall",
    "tanimoto",
    "rmse",
    "rmse_noise_free",
    "seconds",
    "cpu_seconds",
    "status",
    "columns",
    "detail",
    "peak_mib",
    "n_train",
    "n_test",
    "r2",
    "log_loss",
    "auc",
    "coverage",
    "width",
    "log_likelihood",
    "last_rank",
    "total_error",
    "slope_error",
    "unit_seconds",  # processor seconds of one E (benchmarks/unit.py) in the same process
)
DIGITS = {"rmse": 8, "rmse_noise_free": 8, "r2": 8}
UNIT_AGE = 600.0  # seconds after which the unit is taken again


class Task(NamedTuple):
    """What to measure; names only, so that it travels between processes."""

    suite: str
    contestant: str
    problem: str
    n: int
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """Key of the row this task makes."""
        version = CONTESTANTS[self.contestant].version
        return (self.contestant, version, self.problem, str(self.n), str(self.seed))


def measure(task: Task) -> Row:
    """Fit on one BLAS thread, judge, return the row."""
    contestant = CONTESTANTS[task.contestant]
    problem = SUITES[task.suite].problems()[task.problem]
    unit = _unit(int(time.monotonic() / UNIT_AGE))
    draw = problem.draw(task.n, task.seed)
    start, cpu = time.perf_counter(), processor_seconds()
    row: Row = {"n_train": len(draw.y), "n_test": len(draw.y_test), "d": draw.X.shape[1]}
    try:
        with threadpool_limits(1), quiet():
            with peak_above() as peak:
                answer = ask(contestant, problem, draw, task.seed)
            row |= _clock(start, cpu)
            figures = _judged(answer, problem, draw, task.seed)
        row |= {
            "status": "ok",
            "columns": " ".join(str(a) for a in np.flatnonzero(answer.support)),
            "detail": " ".join(answer.detail.split()),
            "selected": int(answer.support.sum()),
        }
    except Exception as error:  # kept in the row: one failure must not end a long run
        row = _clock(start, cpu) | row | failure(f"{type(error).__name__}: {error}")
        nothing = Answer(np.zeros(draw.X.shape[1], dtype=bool), lambda X: np.zeros(len(X)))
        figures = _judged_support(nothing, problem, draw)
    texts = {name: f"{value:.{DIGITS.get(name, 6)}g}" for name, value in figures.items()}
    identity = dict(zip(KEY, task.key, strict=True)) | {"source": contestant.source()}
    return blank() | texts | row | identity | {"peak_mib": str(peak), "unit_seconds": unit}


@contextmanager
def quiet() -> Iterator[None]:
    """What contestants print or warn of is not shown."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def blank() -> Row:
    """A row without a figure."""
    return dict.fromkeys(COLUMNS, "")


def failure(words: str) -> Row:
    """What a row says of a contestant that gave no answer."""
    status = " ".join(words.split())[:300]
    return {"status": status, "selected": 0, "exact": 0, "rmse": "inf", "r2": "-inf"}


def failed(task: Task, words: str, seconds: float) -> Row:
    """Row of a contestant whose process was ended."""
    identity = dict(zip(KEY, task.key, strict=True))
    identity |= {"source": CONTESTANTS[task.contestant].source(), "seconds": f"{seconds:.4g}"}
    return blank() | identity | failure(words)


def ask(contestant: Contestant, problem: Problem, draw: Draw, seed: int) -> Answer:
    """Put the question; an oracle sees the relevant columns only."""
    if not contestant.true_columns_only:
        return contestant.fit(Question(draw.X, draw.y, problem.task, seed, problem.intervals))
    if draw.support is None:
        raise ValueError("no oracle where the relevant columns are not known")
    true = np.flatnonzero(draw.support)
    answer = contestant.fit(Question(draw.X[:, true], draw.y, problem.task, seed))
    support = np.zeros(len(draw.support), dtype=bool)
    support[true[answer.support]] = True
    return Answer(support, lambda new: answer.predict(new[:, true]), answer.detail)


def processor_seconds() -> float:
    """Of this process and of the finished ones that it called, R among them."""
    called = os.times()
    return time.process_time() + called.children_user + called.children_system


def _clock(start: float, cpu: float) -> Row:
    seconds, cpu_seconds = time.perf_counter() - start, processor_seconds() - cpu
    return {"seconds": f"{seconds:.4g}", "cpu_seconds": f"{cpu_seconds:.4g}"}


def _judged(answer: Answer, problem: Problem, draw: Draw, seed: int) -> dict[str, float]:
    figures = _judged_support(answer, problem, draw)
    figures |= judge_prediction(answer, draw, classes=problem.task == "classification")
    if draw.support is not None and draw.support.any():
        figures["last_rank"] = last_rank(answer, draw.support)
    if draw.inputs is not None:
        figures |= judge_indices(answer, draw.inputs, seed)
    return figures


def _judged_support(answer: Answer, problem: Problem, draw: Draw) -> dict[str, float]:
    if draw.support is None:
        return {}
    judged = judge_support(answer.support, draw.support, problem.indifferent)
    return {"relevant": int(draw.support.sum()), **judged._asdict()}


@cache
def _unit(_period: int) -> str:
    """Processor seconds of one E."""
    with threadpool_limits(1):
        return f"{eigh_seconds(clock=time.process_time):.4g}"
