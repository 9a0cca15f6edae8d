"""The numbers that decide, in one place, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Numbers of the search.

    Parameters
    ----------
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

    surprise: float = 1.0
    trials: int = 2
    serial: float = 5.0
    tails: float = 0.02
    shortlist: int = 16
    rounds: int = 24
