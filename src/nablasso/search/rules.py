"""The numbers that decide, each with its reason: one argument with a default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What a search goes by.

    Everything else is compared by one number, the price in nats (:mod:`nablasso.search.few`,
    :mod:`nablasso.regression.terms`).

    Parameters
    ----------
    walked_rows : int
        Rows on which kernels propose columns: a walk costs O(n^3), and what 300 rows do not show
        is added later, on all rows.
    few_rows : int
        Rows that models are tuned on by an n x n factor; beyond, terms on all rows decide too. At
        a thousand rows these find twice as many weak columns in a tenth of the time.
    spread : float
        Prior deviation of the log of a variance: weak, it only keeps variances in reach.
    clearly : float
        Standard errors by which left-out rows must be worse without a column. At jumps a smooth
        kernel misfits and a useless column may gain twenty nats: no price tells it from a true one,
        left-out rows do.
    tenth : float
        Or the share by which their error must grow: with thirty rows hardly anything is clear.
    copy : float
        Correlation of a near copy. Rows do not tell copies apart.
    copy_nats : float
        A near copy joins unless it costs more.
    surprise : float
        Nats beyond the log of the looks that a term must gain. One keeps noise silent in nineteen
        of twenty tables; half the log of the rows would cost power at a thousand rows.
    trials : int
        Terms that only the plain gain wants and that may enter on trial, one a round, before the
        search ends: a term's own signal may inflate the variance of its scores.
    serial : float
        Standard errors of the lag-one correlation of residuals from which on rows are in time.
    tails : float
        Nats a row by which Student noise must describe residuals better than normal noise before
        a row's influence is bounded.
    shortlist : int
        Terms that a round measures exactly. More only take time.
    rounds : int
        Rounds at most; most searches are silent after four to six.
    """

    walked_rows: int = 300
    few_rows: int = 600
    spread: float = 4.0
    clearly: float = 2.5
    tenth: float = 0.1
    copy: float = 0.95
    copy_nats: float = 3.0
    surprise: float = 1.0
    trials: int = 2
    serial: float = 5.0
    tails: float = 0.02
    shortlist: int = 16
    rounds: int = 24
