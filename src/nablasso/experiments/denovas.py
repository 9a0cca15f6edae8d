"""Rosasco et al. (2013), section 6.2: the derivative lasso; alpha = 2 tau, ridge = tau nu.

Figures 4 to 8 draw training rows, as many validation rows and 500 test rows with x uniform on
[-1, 1]^d. y is divided by the noise level, so that RMSE 1 is the noise. The paper's method is its
problem with our solver, then its refit (:mod:`nablasso.experiments.two_steps`); the default sees
training and validation rows as one table. The selection error is the mean of the false negative and
the false positive rate. Rows whose key is in ``done`` are not computed again.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nablasso.datasets import (
    KnownSupport,
    make_parabola,
    make_product,
    make_quadratic,
    make_two_way,
)
from nablasso.estimators import DerivativeLasso
from nablasso.exceptions import DegenerateFitWarning
from nablasso.experiments.denovas_rivals import default, lasso_on_monomials
from nablasso.experiments.two_steps import Chosen, Rows, denovas
from nablasso.kernels import Polynomial
from nablasso.progress import track

Row = dict[str, Any]
Done = Collection[tuple[str, ...]]
Method = Callable[[Rows, int], Chosen]  # of the rows and the draw

TAUS = np.logspace(-4, 0, 13)
MATCHED_TAU = 0.13
TEST_ROWS = 500
NUS = (0.5, 1.0, 5.0, 10.0, 20.0, 100.0)
ROWS_4 = tuple(range(50, 121, 10))
ROWS_5 = (20, 40, 60, 80, 100, 120, 140)
DIMENSIONS, RELEVANT = (10, 20, 30, 40), (2, 3, 4, 5, 6)
ROWS_7 = tuple(range(20, 81, 5))
DEGREES = (1, 2, 3, 4, 5, 6)
TERMS = tuple(range(2, 10))
DEFAULT = "default"
KEY_4 = ("n", "draw", "method")
KEY_5 = ("d", "relevant", "n", "draw", "method")
KEY_7 = ("n", "draw", "method")
KEY_8 = ("terms", "draw", "method")


def figure_3(repeats: int = 20, seed: int = 0) -> list[Row]:
    """Figure 3: the norm term and a nearly constant variable.

    x1 uniform on [-1, 1], x2 normal with deviation 0.05, y = x1^2 + noise, n = 20, 20 validation
    rows, Gaussian kernel of median width, inputs as they are. One row per repeat, nu and way of
    choosing tau: the same tau for all, or the best on the validation rows of the penalised function
    ("penalised") or of the refit ("refit").
    """
    rows: list[Row] = []
    draws = range(seed, seed + repeats)
    for draw in track(draws, repeats, "figure 3"):
        train = make_parabola(20, random_state=draw)
        validation = make_parabola(20, random_state=10_000 + draw)
        for nu in (10.0, 1e-3):
            fits = {tau: _fit(tau, nu, train, validation) for tau in (*TAUS, MATCHED_TAU)}
            errors = {name: [fits[tau][name] for tau in TAUS] for name in ("penalised", "refit")}
            choices = {name: float(TAUS[np.argmin(e)]) for name, e in errors.items()}
            choices["matched"] = MATCHED_TAU
            for choice, tau in choices.items():
                selected = fits[tau]["selected"]
                rows.append(
                    {"draw": draw, "nu": nu, "choice": choice, "tau": tau, "selected": selected}
                )
    return rows


def _fit(tau: float, nu: float, train: Any, validation: Any) -> Row:
    """Selected variables and validation errors of the penalised function and the refit."""
    result: Row = {}
    for name, debias in (("penalised", False), ("refit", True)):
        model = DerivativeLasso(
            alpha=2 * tau, ridge=tau * nu, standardize=False, debias=debias, max_iter=2000
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", DegenerateFitWarning)
            model.fit(train.X, train.y)
        result[name] = float(np.mean((validation.y - model.predict(validation.X)) ** 2))
        result["selected"] = "".join(
            str(a + 1) for a, chosen in enumerate(model.support_) if chosen
        )
    return result


# ------------------------------------------------------------------------------ figures 4 to 8


def figure_4(
    repeats: int = 20,
    seed: int = 0,
    n_train: Sequence[int] = ROWS_4,
    nus: Sequence[float] = NUS,
    done: Done = (),
) -> Iterator[Row]:
    """Figure 4: the norm term; six products of four of 20 variables, SNR 15, degree 4.

    One row per n, repeat and nu, and one for the default.
    """
    methods: dict[str, Method] = {f"nu = {nu:g}": partial(_with_nu, nu=nu) for nu in nus}
    methods[DEFAULT] = default
    plan = [(n, draw, m) for draw in range(seed, seed + repeats) for n in n_train for m in methods]
    for n, draw, method in _to_do(plan, done, "figure 4"):
        data = make_two_way(2 * n + TEST_ROWS, 20, half_width=1.0, random_state=draw)
        yield dict(zip(KEY_4, (n, draw, method), strict=True)) | judged(
            data, n, methods[method], draw
        )


def _with_nu(rows: Rows, draw: int, nu: float) -> Chosen:  # noqa: ARG001 methods take a draw
    """The paper's nu belongs to y with noise of deviation one, ours to y of deviation one."""
    return denovas(rows, Polynomial(4), nus=[nu * float(rows.y.std())])


def figure_5(
    repeats: int = 10,
    seed: int = 0,
    dimensions: Sequence[int] = DIMENSIONS,
    relevant: Sequence[int] = RELEVANT,
    n_train: Sequence[int] = ROWS_5,
    done: Done = (),
) -> Iterator[Row]:
    """Figures 5 and 6: all products of r of d variables, coefficients in [0.5, 1], degree 2.

    One row per d, r, n, repeat and method.
    """
    methods: dict[str, Method] = {"paper": partial(_polynomial, degree=2), DEFAULT: default}
    draws = range(seed, seed + repeats)
    plan = [
        (d, r, n, draw, m)
        for draw, d, r, n, m in product(draws, dimensions, relevant, n_train, methods)
    ]
    for d, r, n, draw, method in _to_do(plan, done, "figure 5"):
        rng = np.random.default_rng([5, draw, d, r, n])
        c = rng.uniform(0.5, 1.0, size=r * (r - 1) // 2)
        data = make_two_way(
            2 * n + TEST_ROWS, d, n_relevant=r, half_width=1.0, coefficients=c, random_state=rng
        )
        yield dict(zip(KEY_5, (d, r, n, draw, method), strict=True)) | judged(
            data, n, methods[method], draw
        )


def figure_7(
    repeats: int = 20,
    seed: int = 0,
    n_train: Sequence[int] = ROWS_7,
    degrees: Sequence[int] = DEGREES,
    done: Done = (),
) -> Iterator[Row]:
    """Figure 7: the degree of the kernel; y = x1 x2 among 20 variables, SNR 3.

    One row per n, repeat and degree, and one for the default.
    """
    methods: dict[str, Method] = {f"p = {p}": partial(_polynomial, degree=p) for p in degrees}
    methods[DEFAULT] = default
    plan = [(n, draw, m) for draw in range(seed, seed + repeats) for n in n_train for m in methods]
    for n, draw, method in _to_do(plan, done, "figure 7"):
        data = make_product(2 * n + TEST_ROWS, 20, snr=3.0, random_state=draw)
        yield dict(zip(KEY_7, (n, draw, method), strict=True)) | judged(
            data, n, methods[method], draw
        )


def figure_8(
    repeats: int = 20, seed: int = 0, terms: Sequence[int] = TERMS, done: Done = ()
) -> Iterator[Row]:
    """Figure 8: the number of monomials; polynomials in three of ten variables, n = 30, SNR 3.

    One row per number of monomials, repeat and method.
    """
    methods: dict[str, Method] = {
        "paper": partial(_polynomial, degree=2),
        "lasso on monomials": lambda rows, _: lasso_on_monomials(rows, 2),
        DEFAULT: default,
    }
    plan = [(t, draw, m) for draw in range(seed, seed + repeats) for t in terms for m in methods]
    n = 30
    for t, draw, method in _to_do(plan, done, "figure 8"):
        data = make_quadratic(
            2 * n + TEST_ROWS, 10, n_terms=t, snr=3.0, design_state=draw, random_state=1000 + draw
        )
        yield dict(zip(KEY_8, (t, draw, method), strict=True)) | judged(
            data, n, methods[method], draw
        )


def _polynomial(rows: Rows, draw: int, degree: int) -> Chosen:  # noqa: ARG001 methods take a draw
    return denovas(rows, Polynomial(degree))


def _to_do(plan: Sequence[tuple[Any, ...]], done: Done, name: str) -> Iterator[tuple[Any, ...]]:
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    return iter(track(todo, len(todo), name))


def divided(data: KnownSupport, n: int, n_validation: int | None = None) -> Rows:
    """The first n rows train, the next validate, the others test; y in units of the noise."""
    y = data.y / data.noise_sd
    m = n + (n if n_validation is None else n_validation)
    X = data.X
    return Rows(X[:n], y[:n], X[n:m], y[n:m], X[m:], y[m:])


def judged(data: KnownSupport, n: int, method: Method, draw: int) -> Row:
    """Errors of selection and prediction, the columns, and seconds."""
    rows = divided(data, n)
    start = time.process_time()
    chosen = method(rows, draw)
    seconds = time.process_time() - start
    error = float(np.sqrt(np.mean((chosen.predict(rows.X_test) - rows.y_test) ** 2)))
    return {
        "selection_error": round(selection_error(chosen.support, data.support), 5),
        "rmse": round(error, 5),
        "n_selected": int(chosen.support.sum()),
        "selected": " ".join(str(a + 1) for a in np.flatnonzero(chosen.support)),
        "seconds": round(seconds, 3),
    }


def selection_error(selected: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    """Mean of the rates of relevant variables left out and of others let in."""
    missed, extra = np.mean(~selected[true]), np.mean(selected[~true])
    return float(missed + extra) / 2
