r"""Lasso and MCP on the explicit dictionary of degree 2, used as rankers.

The dictionary holds all monomials of degree 1 and 2 of the standardised columns, standardised
again. A column's score is the largest \|coefficient\| among the monomials that touch it.

MCP has the derivative ``lambda (1 - |b| / (gamma lambda))_+``. It is solved by local linear
approximation (Zou and Li 2008): a lasso first, then lassos with these derivatives as weights.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.contest import Array, Question
from benchmarks.contestants.ranking import Ranker, Scaler

GAMMA = 3.0
STEPS = 3
N_LAMBDAS = 10
SMALLEST_WEIGHT = 1e-2


def dictionary(X: Array) -> tuple[Array, Array]:
    """Monomials (n, m) and which columns each touches (m, d)."""
    expansion = PolynomialFeatures(2, include_bias=False)
    features = expansion.fit_transform(Scaler.of(X)(X))
    return Scaler.of(features)(features), expansion.powers_ > 0


def largest_coefficient(coefficients: Array, touches: Array) -> Array:
    """Score of each column; never taken where all its monomials are out."""
    scores = np.max(np.abs(coefficients)[:, None] * touches, axis=0)
    return np.where(scores > 0, scores, -np.inf)


def mcp(Phi: Array, y: Array, penalty: float, gamma: float = GAMMA) -> Array:
    """Coefficients of MCP-penalised least squares by local linear approximation."""
    weights = np.ones(Phi.shape[1])
    b = np.zeros(Phi.shape[1])
    for _ in range(STEPS):
        model = Lasso(penalty, max_iter=2000).fit(Phi / weights, y)
        b = model.coef_ / weights
        weights = np.maximum(1 - np.abs(b) / (gamma * penalty), SMALLEST_WEIGHT)
    return b


class DictionaryLasso(Ranker):
    """LassoCV."""

    name = "dictionary_lasso"
    tuning = "penalty by 5-fold cross-validation (LassoCV, 50 values); k and refit by the wrapper"

    def scores(self, question: Question) -> Array:
        """Largest coefficient among the monomials of a column."""
        Phi, touches = dictionary(question.X)
        y = question.signed - question.signed.mean()
        penalties = np.max(np.abs(Phi.T @ y)) / len(y) * np.logspace(0, -2, 50)
        folds = KFold(5, shuffle=True, random_state=question.seed)
        model = LassoCV(alphas=penalties, cv=folds, max_iter=2000)
        return largest_coefficient(model.fit(Phi, question.signed).coef_, touches)


class DictionaryMCP(Ranker):
    """MCP, gamma 3."""

    name = "dictionary_mcp"
    tuning = (
        "gamma 3, ten penalties down to 1/50 of the largest, by 5-fold cross-validation; k and "
        "refit by the wrapper"
    )

    def scores(self, question: Question) -> Array:
        """Largest coefficient among the monomials of a column."""
        Phi, touches = dictionary(question.X)
        y = question.signed - question.signed.mean()
        penalties = (
            np.max(np.abs(Phi.T @ y)) / len(y) * np.logspace(-0.05, np.log10(0.02), N_LAMBDAS)
        )
        errors = np.zeros(N_LAMBDAS)
        folds = KFold(5, shuffle=True, random_state=question.seed)
        for train, held_out in folds.split(Phi):
            centre, mean = Phi[train].mean(axis=0), y[train].mean()
            for j, penalty in enumerate(penalties):
                b = mcp(Phi[train] - centre, y[train] - mean, penalty)
                residuals = y[held_out] - mean - (Phi[held_out] - centre) @ b
                errors[j] += residuals @ residuals
        best = mcp(Phi, y, penalties[int(np.argmin(errors))])
        return largest_coefficient(best, touches)


CONTESTANTS = (DictionaryLasso(), DictionaryMCP())
