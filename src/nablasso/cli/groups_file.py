"""Reading groups of columns that are selected as a whole.

A JSON file maps names of groups to lists of columns::

    {"climate": ["temperature", "humidity"], "feeding": ["water", "nutrient"]}

A CSV file has the columns ``group`` and ``column`` and one row per column of the table. Columns in
no group are groups of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from nablasso.cli.columns import Groups, check_known
from nablasso.cli.table_file import find_separator, read_text, rows_of
from nablasso.errors import InvalidDataError, InvalidParameterError

EXPECTED = (
    'expected JSON such as {"climate": ["temperature", "humidity"]}, or CSV with the first line '
    "group,column"
)


def read_groups(path: Path, variables: Sequence[str], ignored: Sequence[str]) -> Groups:
    """A partition of the variables: the groups of a file, then the rest one by one.

    Parameters
    ----------
    path : Path
        A JSON or CSV file.
    variables : sequence of str
        The columns to be partitioned.
    ignored : sequence of str
        Columns that the file may name although they are left out.

    Returns
    -------
    dict of lists
    """
    text = read_text(path)
    groups = _from_json(text, path) if text.lstrip().startswith("{") else _from_csv(text, path)
    owner: dict[str, str] = {}
    for group, members in groups.items():
        check_known(f"{path}, group {group!r}:", members, [*variables, *ignored])
        for column in members:
            if owner.setdefault(column, group) != group:
                raise InvalidParameterError(
                    f"{path}: a column belongs to one group; {column!r} is in {owner[column]!r} "
                    f"and {group!r}. Take it out of one of them."
                )
    partition = {
        group: [column for column in dict.fromkeys(members) if column in variables]
        for group, members in groups.items()
    }
    rest = {column: [column] for column in variables if column not in owner}
    for name in rest.keys() & partition.keys():
        raise InvalidParameterError(
            f"{path}: {name!r} is the name of a group and of a column outside it. Rename the group."
        )
    return {group: members for group, members in (partition | rest).items() if members}


def _from_json(text: str, path: Path) -> Groups:
    try:
        groups = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidDataError(f"{path} is not valid JSON ({error}); {EXPECTED}.") from error
    for name, members in groups.items():
        if not isinstance(members, list) or not all(isinstance(m, str) for m in members):
            raise InvalidDataError(
                f"{path}: group {name!r} must be a list of column names; {EXPECTED}."
            )
    return dict(groups)


def _from_csv(text: str, path: Path) -> Groups:
    rows = rows_of(text, find_separator(text, path))
    _, header = next(rows)
    if header != ["group", "column"]:
        raise InvalidDataError(f"{path} begins with {','.join(header)!r}; {EXPECTED}.")
    groups: Groups = {}
    for line, fields in rows:
        if len(fields) != 2 or not all(fields):
            raise InvalidDataError(f"{path}, line {line} is {','.join(fields)!r}; {EXPECTED}.")
        groups.setdefault(fields[0], []).append(fields[1])
    return groups
