"""One measurement: a contestant, a problem, a number of rows and a seed give one row.

Rows are text on one line. A contestant that fails gives a row with the error as its status, no
support and infinite test error, so that failing is never better than answering.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.memory import peak_above
from benchmarks.selection.contest import Answer, Contestant, Question
from benchmarks.selection.contestants import CONTESTANTS
from benchmarks.selection.judge import judge_support, rmse
from benchmarks.selection.problems import PROBLEMS, Problem
from benchmarks.store import Row
from nablasso.datasets import KnownSupport

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
)


class Task(NamedTuple):
    """What to measure; names only, so that it travels between processes."""

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
    contestant, problem = CONTESTANTS[task.contestant], PROBLEMS[task.problem]
    train, test = problem.draw(task.n, task.seed)
    start, cpu = time.perf_counter(), time.process_time()
    try:
        with threadpool_limits(1):
            with peak_above() as peak:
                answer = ask(contestant, problem, train, task.seed)
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
            prediction = answer.predict(test.X)
        status = "ok"
    except Exception as error:  # kept in the row: one failure must not end a long run
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        answer = Answer(np.zeros(len(train.support), dtype=bool), lambda X: np.zeros(len(X)))
        prediction = np.full(len(test.y), np.inf)
        status = f"{type(error).__name__}: {error}"
    judged = judge_support(answer.support, train.support, problem.indifferent)
    return {
        **dict(zip(KEY, task.key, strict=True)),
        "source": contestant.source(),
        "d": train.X.shape[1],
        "relevant": int(train.support.sum()),
        "selected": int(answer.support.sum()),
        "exact": int(judged.exact and status == "ok"),
        "precision": f"{judged.precision:.4f}",
        "recall": f"{judged.recall:.4f}",
        "tanimoto": f"{judged.tanimoto:.4f}",
        "rmse": f"{rmse(prediction, test.y):.8g}",
        "rmse_noise_free": f"{rmse(prediction, test.noise_free):.8g}",
        "seconds": f"{seconds:.4g}",
        "cpu_seconds": f"{cpu_seconds:.4g}",
        "status": " ".join(status.split())[:300],
        "columns": " ".join(str(a) for a in np.flatnonzero(answer.support)),
        "detail": " ".join(answer.detail.split()),
        "peak_mib": str(peak),
    }


def ask(contestant: Contestant, problem: Problem, train: KnownSupport, seed: int) -> Answer:
    """Put the question; an oracle sees the relevant columns only."""
    if not contestant.true_columns_only:
        return contestant.fit(Question(train.X, train.y, problem.task, seed))
    true = np.flatnonzero(train.support)
    answer = contestant.fit(Question(train.X[:, true], train.y, problem.task, seed))
    support = np.zeros(len(train.support), dtype=bool)
    support[true[answer.support]] = True
    return Answer(support, lambda new: answer.predict(new[:, true]), answer.detail)
