"""Which columns are the target, the weights and the variables, and which rows are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nablasso.data.cells import (
    DECIMAL_COMMA,
    DROP_ROWS,
    TRUTH,
    check_known,
    labels,
    listed,
    numbers,
    read_cells,
    suggestion,
)
from nablasso.data.encoding import Encoding
from nablasso.data.table import MIN_ROWS, check_weights
from nablasso.errors import InvalidDataError, InvalidParameterError, TableProblem, TableProblems

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["state", "drop"]  # a missing cell is a value of its own, or its row is left out
MOST_CLASSES = 20  # a target of more distinct words or numbers is no set of classes
NAMED = ("y", "sample_weight", "groups", "time")  # arguments of fit that may name a column


def named_roles(given: dict[str, Any]) -> tuple[dict[str, Any], list[TableProblem]]:
    """Arguments of ``fit`` in which names of columns became their values, and what is wrong.

    A column that is named has this role alone: it is not among the variables any more.
    """
    import pandas as pd

    X = given["X"]
    columns = {str(name): name for name in X.columns}
    roles = {role: given[role] for role in NAMED if isinstance(given.get(role), str)}
    problems = [
        TableProblem(
            (name,),
            f"{role}={name!r} is not a column",
            f"{suggestion(name, list(columns))} Give one of: {listed(list(columns))}".strip(),
        )
        for role, name in roles.items()
        if name not in columns
    ]
    twice = [name for name in dict.fromkeys(roles.values()) if list(roles.values()).count(name) > 1]
    if twice:
        what = f"a column can have one role; named twice: {listed(twice)}"
        problems.append(TableProblem(tuple(twice), what, "Name another column"))
    known = {role: columns[name] for role, name in roles.items() if name in columns}
    values = {role: X[column] for role, column in known.items()}
    if roles:
        given = given | dict.fromkeys(roles) | values
        given["X"] = X[[name for name in X.columns if name not in set(known.values())]]
    n = len(given["X"])
    for role in ("groups", "time"):
        own = given.get(role)
        if own is None:
            continue
        if len(own) != n:
            what = f"{role} has {len(own)} values for {n} rows"
            problems.append(TableProblem((), what, "Give one for each row"))
        elif n_missing := int(pd.isna(np.asarray(own, dtype=object)).sum()):
            name = roles.get(role, role)
            what = f"{name} is missing in {n_missing} of {n} rows"
            problems.append(TableProblem((name,), what, f"Leave these rows out {DROP_ROWS}"))
    try:
        check_weights(given.get("sample_weight"), n)
    except (InvalidDataError, TypeError, ValueError) as error:
        what, remedy = f"sample_weight: {error}".rstrip("."), "Give zero or more for each row"
        problems.append(TableProblem((), what, remedy))
    return given, problems


def target_problems(y: Any, n_rows: int, *, classes: bool) -> list[TableProblem]:
    """What is wrong with the target of a table; nothing where scikit-learn is to say it."""
    import pandas as pd

    if y is None or np.ndim(y) != 1:
        return []
    name = str(getattr(y, "name", None) or "y")
    cells = pd.Series(y.to_list() if hasattr(y, "to_list") else list(y), dtype=object)
    problems = []
    if len(cells) != n_rows:
        what = f"y has {len(cells)} values for {n_rows} rows"
        problems.append(TableProblem((name,), what, "Give one for each row"))
    if n_rows < MIN_ROWS:
        problems.append(TableProblem((), f"{n_rows} rows, {MIN_ROWS} are needed", "Add rows"))
    return problems + _cell_problems(name, cells, None if classes else numbers(cells))


def _cell_problems(
    name: str, cells: pd.Series[Any], values: pd.Series[float] | None
) -> list[TableProblem]:
    """Cells of a target that are missing, no number or infinite; ``values`` are None for labels."""
    problems = []
    if n_missing := int(cells.isna().sum()):
        what = f"the target {name} is missing in {n_missing} of {len(cells)} rows"
        problems.append(TableProblem((name,), what, f"Leave these rows out {DROP_ROWS}"))
    if values is None:
        return problems
    wrong = cells[cells.notna() & values.isna()].map(str)
    if len(wrong):
        mixed = "numbers and words" if len(wrong) < cells.notna().sum() else "words"
        comma = wrong.str.fullmatch(DECIMAL_COMMA).all()
        what = (
            f"the target {name} holds {'decimal commas' if comma else mixed}: "
            f'{len(wrong)} of {len(cells)} cells, such as "{wrong.iloc[0]}"'
        )
        remedy = "Repair these cells" + ("" if comma else ", or use a classifier (--classify)")
        problems.append(TableProblem((name,), what, remedy))
    if n_infinite := int(np.isinf(values).sum()):
        what = f"the target {name} is infinite in {n_infinite} rows"
        problems.append(TableProblem((name,), what, "Repair these cells"))
    return problems


def many_classes(y: Any) -> str | None:
    """A question to who gives more numbers as classes than anyone means; None if all is well."""
    codes = np.asarray(y)
    count = len(np.unique(codes)) if codes.dtype.kind in "iuf" else 0
    if count <= MOST_CLASSES:
        return None
    return (
        f"y holds {count} different numbers as classes. Did you mean a regression? Use a regressor "
        "such as NablassoRegressor. If they are names of classes, give them as text: "
        "y.astype(str)."
    )


@dataclass(frozen=True)
class Roles:
    """What the options say about columns."""

    target: str
    ignored: Sequence[str] = ()
    kept: Sequence[str] = ()
    categories: Sequence[str] = ()
    classify: bool = False

    def __post_init__(self) -> None:
        for name in ("ignored", "kept"):  # each column once
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that do not exist or have two roles."""
        given = {
            "--target": [self.target],
            "--ignore": self.ignored,
            "--keep": self.kept,
            "--category": self.categories,
        }
        for option, names in given.items():
            check_known(option, names, columns)
        two = [pair for pair in combinations(given, 2) if pair != ("--keep", "--category")]
        for first, second, name in ((a, b, n) for a, b in two for n in given[b] if n in given[a]):
            raise InvalidParameterError(
                f"A column can have one role; {name!r} was given to both {first} and {second}. "
                "Take it out of one of them."
            )


@dataclass(frozen=True)
class ReadTable:
    """A table, cut into what a fit needs."""

    X: pd.DataFrame  # columns as read_cells gives them
    y: pd.Series[Any]  # numbers, or labels as text
    ignored: Sequence[str] = ()
    kept: Sequence[str] = ()
    has_classes: bool = False
    remarks: tuple[str, ...] = ()  # what was done to the rows
    n_read: int | None = None  # rows of a table in blocks, of which these are a sample

    @property
    def n_rows(self) -> int:
        """Rows that were fitted."""
        return len(self.y) if self.n_read is None else self.n_read

    @property
    def target(self) -> str:
        """Name of the column to explain."""
        return str(self.y.name)

    @property
    def variables(self) -> list[str]:
        """Names of the columns that may explain it."""
        return [str(name) for name in self.X]

    @property
    def classes(self) -> dict[str, int]:
        """How many rows each class has; empty where the target holds numbers."""
        if not self.has_classes:
            return {}
        return {str(label): int(n) for label, n in self.y.value_counts().sort_index().items()}


def choose_columns(
    table: pd.DataFrame, roles: Roles, missing: Missing = "state", **sample: int | None
) -> ReadTable:
    """Cut a table into variables and a target of numbers or classes.

    A target of words, such as true and false, holds classes; one of numbers only if asked for. All
    that cannot be read is raised at once.
    """
    target = roles.target
    roles.check(list(table.columns))
    used = table.drop(columns=list(roles.ignored))
    if used.shape[1] < 2:
        raise InvalidDataError(
            f"At least one column besides the target {target!r} is needed; --ignore leaves none. "
            "Ignore fewer columns."
        )
    X, problems = read_cells(used.drop(columns=target), roles.categories)
    y, has_classes, faults = _read_target(used[target], roles.classify, missing)
    problems += faults
    if not problems:
        X, y, remarks = _chosen_rows(X, y, missing, **sample)
        problems = _check_target(y, has_classes=has_classes)
    if problems:
        raise TableProblems(problems)
    return ReadTable(X, y, roles.ignored, roles.kept, has_classes, remarks)


def read_variables(
    table: pd.DataFrame, names: Sequence[str], missing: Missing, **sample: int | None
) -> ReadTable:
    """Some columns of a table without a target; the target of the result is empty."""
    import pandas as pd

    check_known("Column", names, list(table.columns))
    X, problems = read_cells(table[list(names)])
    gaps = [str(name) for name in X if X[name].isna().any()]
    if gaps and missing != "drop":
        remedy = f"Leave these rows out {DROP_ROWS}"
        problems.append(TableProblem(tuple(gaps), f"missing cells in: {listed(gaps)}", remedy))
    if problems:
        raise TableProblems(problems)
    X, y, remarks = _chosen_rows(X, pd.Series(0.0, index=X.index, name=""), missing, **sample)
    return ReadTable(X, y, remarks=remarks)


def _read_target(
    cells: pd.Series[Any], classify: bool, missing: Missing
) -> tuple[pd.Series[Any], bool, list[TableProblem]]:
    """Numbers, or labels of classes as text; whether they are labels; what is wrong."""
    values, words = numbers(cells), cells.map(str, na_action="ignore").astype(object).str.strip()
    written = words.dropna()
    is_word = values[written.index].isna()
    comma = written.str.fullmatch(DECIMAL_COMMA).all()
    found: pd.Series[Any] = values
    has_classes = True
    if len(written) and written.str.lower().isin(list(TRUTH)).all():
        found = words.str.lower()
    elif (classify and is_word.any()) or (is_word.all() and len(written) and not comma):
        found = words
    elif classify:
        found = labels(values)
    else:
        has_classes = False
    given = cells.dropna() if missing == "drop" else cells
    wanted = None if has_classes else values[given.index]
    return found, has_classes, _cell_problems(str(cells.name), given, wanted)


def _check_target(y: pd.Series[Any], *, has_classes: bool) -> list[TableProblem]:
    name = str(y.name)
    if y.nunique() == 1:
        value = y.iloc[0] if has_classes else f"{y.iloc[0]:g}"
        what = f"the target must vary; {name} is {value} in all {len(y)} rows"
        return [TableProblem((name,), what, "Choose another target")]
    if has_classes and y.nunique() > MOST_CLASSES:
        what = (
            f"the target must hold numbers or at most {MOST_CLASSES} classes; {name} has "
            f'{y.nunique()} distinct values in {len(y)} rows, such as "{y.iloc[0]}"'
        )
        return [TableProblem((name,), what, "Choose another target, or join classes")]
    return []


def _chosen_rows(
    X: pd.DataFrame,
    y: pd.Series[Any],
    missing: Missing,
    sample: int | None = None,
    seed: int | None = None,
) -> tuple[pd.DataFrame, pd.Series[Any], tuple[str, ...]]:
    """The rows to use, ``sample`` of them drawn at random, and what was done, in sentences."""
    usable = y.notna()
    remarks = []
    if missing == "drop":
        usable &= X.notna().all(axis=1)
    n_dropped = int((~usable).sum())
    if n_dropped:
        remarks.append(f"{n_dropped} of {len(y)} rows were left out: they have a missing cell.")
    chosen = np.flatnonzero(usable)
    if len(chosen) < MIN_ROWS:
        raise InvalidDataError(
            f"At least {MIN_ROWS} rows without missing cells are needed; {len(chosen)} of "
            f"{len(y)} are left. Leave --missing drop out, or the columns with most missing cells."
        )
    if sample is not None and sample < len(chosen):
        rng = np.random.default_rng(seed or 0)
        remarks.append(f"{sample} of {len(chosen)} rows were drawn at random (seed {seed or 0}).")
        chosen = np.sort(rng.choice(chosen, sample, replace=False))
    X, y = X.iloc[chosen].reset_index(drop=True), y.iloc[chosen].reset_index(drop=True)
    return X, y, (*remarks, *Encoding.learn(X).remarks)
