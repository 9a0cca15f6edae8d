"""Add MARS to figure 9 of Bach (2009): ``python experiments/mars.py``.

MARS is the contestant of ``benchmarks`` and needs R's package earth, so ``nablasso reproduce
hkl_figure_9`` cannot run it. Its rows go to the same file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nablasso.experiments import EXPERIMENTS, hkl, reproduce

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.contest import Question  # noqa: E402
from benchmarks.contestants.mars import NativeMars  # noqa: E402


def fit(Z: hkl.Array, y: hkl.Array, seed: int) -> hkl.Fitted:
    """MARS as the selection benchmark runs it."""
    answer = NativeMars().fit(Question(Z, y, seed=seed))
    return hkl.Fitted(answer.predict, tuple(answer.support.nonzero()[0].tolist()))


def figure_9(**settings: Any) -> Iterable[hkl.Row]:
    """Figure 9 with MARS alone."""
    return hkl.figure_9(methods={"MARS": fit}, **settings)


if __name__ == "__main__":
    reason = NativeMars().missing()
    if reason is not None:
        sys.exit(f"MARS skipped: {reason}")
    experiment = replace(EXPERIMENTS["hkl_figure_9"], run=figure_9, units=[{"seed": 0}])
    reproduce(experiment, ROOT / "experiments" / "results")
