"""Symbolic regression, and sensitivity analysis from given rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contest import Answer, Array, Contestant, Question
from benchmarks.contestants.ranking import Ranker, Scaler

EVALUATIONS = 500_000  # SRBench's budget of Operon


class Operon(Contestant):
    """SRBench's best method."""

    name = "operon"
    package = "pyoperon"
    tuning = (
        "SRBench's tuned settings of its second call (500 000 evaluations, population 500, length "
        "50, add sub mul div exp log sin cos sqrt square, 5 local iterations), one thread"
    )
    symbols = "add,sub,mul,div,exp,log,sin,cos,sqrt,square,constant,variable"

    def fit(self, question: Question) -> Answer:
        """Evolve."""
        from pyoperon.sklearn import SymbolicRegressor

        scaler, target = Scaler.of(question.X), Scaler.of(question.signed)
        model = SymbolicRegressor(
            allowed_symbols=self.symbols,
            offspring_generator="basic",
            optimizer_iterations=5,
            max_length=50,
            max_evaluations=EVALUATIONS,
            population_size=500,
            pool_size=500,
            tournament_size=5,
            n_threads=1,
            random_state=question.seed,
        )
        model.fit(scaler(question.X), target(question.signed))
        text = model.get_model_string(model.model_, 6)
        used = _used(text, [f"X{a + 1}" for a in range(question.X.shape[1])])

        def predict(new: Array) -> Array:
            values = np.asarray(model.predict(scaler(new)), dtype=float)
            return question.decode(target.mean + target.scale * values)

        return Answer(used, predict, text[:200])


class GPLearn(Contestant):
    """Genetic programming in Python."""

    name = "gplearn"
    package = "gplearn"
    tuning = (
        "SRBench's tuned settings (population 1000, parsimony .001, add sub mul div log sqrt sin "
        "cos) with 50 generations instead of 500"
    )

    def fit(self, question: Question) -> Answer:
        """Evolve."""
        from gplearn.genetic import SymbolicRegressor

        scaler, target = Scaler.of(question.X), Scaler.of(question.signed)
        model = SymbolicRegressor(
            population_size=1000,
            generations=50,
            function_set=("add", "sub", "mul", "div", "log", "sqrt", "sin", "cos"),
            parsimony_coefficient=0.001,
            random_state=question.seed,
            n_jobs=1,
        )
        model.fit(scaler(question.X), target(question.signed))
        text = str(model._program)
        used = _used(text, [f"X{a}" for a in range(question.X.shape[1])])

        def predict(new: Array) -> Array:
            return question.decode(target.mean + target.scale * model.predict(scaler(new)))

        return Answer(used, predict, text[:200])


def _used(formula: str, names: list[str]) -> Any:
    """Which names stand in a formula."""
    import re

    found = set(re.findall(r"X\d+", formula))
    return np.array([name in found for name in names])


class GivenData(Ranker):
    """Moment-independent sensitivity from rows alone."""

    name = "salib_delta"
    package = "SALib"
    tuning = "SALib's delta (Plischke, Borgonovo), defaults; k and refit by the wrapper"

    def scores(self, question: Question) -> Array:
        """Delta of every column, balanced as SALib recommends."""
        from SALib.analyze import delta

        X = question.X
        bounds = np.column_stack([X.min(axis=0), X.max(axis=0)]).tolist()
        names = [f"x{a}" for a in range(X.shape[1])]
        problem = {"num_vars": X.shape[1], "names": names, "bounds": bounds}
        found = delta.analyze(problem, X, question.y, seed=question.seed)
        return np.asarray(found["delta_balanced"])


CONTESTANTS = (Operon(), GPLearn(), GivenData())
