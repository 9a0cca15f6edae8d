"""The numbers that decide, each with its reason: one argument with a default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What a search goes by.

    Everything else is compared by one number, the price in nats (:mod:`nablasso.regression.models`,
    :mod:`nablasso.regression.terms`). Each number says why, and the draws that it was set on or
    that show what it buys (``benchmarks/results/ablation.md`` has them all).

    Parameters
    ----------
    walked_rows : int
        Rows on which kernels propose columns: a walk costs O(n^3), and what 300 rows do not show
        is added later, on all rows. On 100 rows as good on 36 stored problems.
    few_rows : int
        Rows that models are tuned on by an n x n factor; beyond, terms on all rows decide too. At
        a thousand rows these find twice as many weak columns in a tenth of the time.
    fresh : int
        Rows at least that judge what was found on others: a table is searched whole up to as many
        more than ``few_rows``.
    wide : int
        Rows times columns from which on a search is preceded by screening, which finds columns
        and products of two in less time than a walk takes.
    followed : int
        Proposals that are tuned and pruned. One is enough from 70 rows on; at 30 rows of E1 to E3
        (30 draws) four find .53 of the supports, one finds .43.
    clearly : float
        Standard errors by which left-out rows must be worse without a column. At jumps a smooth
        kernel misfits and a useless column may gain twenty nats: no price tells it from a true one,
        left-out rows do (.83 exact without, .89 with, on 36 stored problems).
    tenth : float
        Or the share by which their error must grow: with thirty rows hardly anything is clear.
    copy, copy_nats : float
        Correlation from which on a column is a copy, and the nats that an exact copy may cost to
        join, for rows do not tell copies apart; in between the nearer may cost more (where
        neighbours correlate .9, 150 rows, 4 draws: 7 spurious columns instead of 10). At 30 rows of
        E1 to E3 (30 draws) .57 of the supports are exact, .39 with copies from 0.95 on; relatives
        from 0.7 on that gain a nat bring 1.8 spurious columns a fit instead of 0.8 where neighbours
        correlate 0.9 (200 rows, 5 draws).
    relative : float
        Correlation from which on a column is tried in the place of one that a term has: what came
        first is not always what explains most.
    surprise : float
        Nats beyond the log of the looks that a term must gain. One keeps noise silent in nineteen
        of twenty tables; half the log of the rows would cost power at a thousand rows.
    trials : int
        Terms that only the plain gain wants and that may enter on trial, one a round, before the
        search ends: a term's own signal may inflate the variance of its scores. Weak effects, 1000
        rows, 18 draws: 127 true columns with it, 123 without, as many spurious ones. Not where
        influence is bounded: rows that contradict a term would lose their weight by its entering
        (jse2 of RFFNet, 20 draws: 10 spurious columns with such trials, none without).
    serial : float
        Standard errors of the lag-one correlation of residuals from which on rows are in time.
    serial_nats : float
        Nats a row by which serial noise must explain few rows better before their order is taken
        for time: 0.15 is a correlation of one half from row to row. Weaker ones do no harm (300
        rows, 5 draws each: at .55 nothing spurious is found without it, at .7 .6 columns a fit),
        and an order by place or kind (houses by town) is no time.
    tails : float
        Nats a row by which Student noise must describe residuals better than normal noise before
        a row's influence is bounded.
    states : float
        Share of the rows that share their value with another from which on a column's values may be
        states in what predicts, if that gains ``surprise``. Buildings, days and recipes are told by
        it: without, errors are 30 to 54 % larger on energy, energy_cooling (500 rows) and
        power-plant, on no other of 15 tables and sizes by more than 7 % (two draws; yacht's are 6 %
        smaller: ``benchmarks/results/ablation.md``).
    factor : float
        Size of what was found, over its root mean square, from which on a row tells what scales it;
        ``inf`` looks for no factors. A function of two columns that scales one of three others has
        no other trace (gse1 of RFFNet, ``benchmarks/results/ablation.md``).
    """

    walked_rows: int = 300
    few_rows: int = 600
    fresh: int = 50
    wide: int = 4_000_000
    followed: int = 4
    clearly: float = 2.5
    tenth: float = 0.1
    copy: float = 0.85
    copy_nats: float = 3.0
    relative: float = 0.7
    surprise: float = 1.0
    trials: int = 2
    serial: float = 5.0
    serial_nats: float = 0.15
    tails: float = 0.02
    states: float = 0.5
    factor: float = 0.25
