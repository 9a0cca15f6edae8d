"""Rows on disk: appended as they come, one a key, safe against interruption.

A row is complete once its line ends; a torn last line is cut off when the file is opened again.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

Row = dict[str, object]
StoredRow = dict[str, str]  # as it is read again
Key = tuple[str, ...]


class RowStore:
    """A CSV file whose rows are found again by some of their columns."""

    def __init__(self, path: Path, columns: tuple[str, ...], key: tuple[str, ...]) -> None:
        self.path, self.columns, self.key = path, columns, key
        path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        self.rows = self._read()

    def key_of(self, row: Row) -> Key:
        """The columns that identify a row, as text."""
        return tuple(str(row[name]) for name in self.key)

    def keys(self) -> set[Key]:
        """Keys of the rows present."""
        return {self.key_of(dict(row)) for row in self.rows}

    def __contains__(self, key: Key) -> bool:
        return key in self.keys()

    def append(self, row: Row) -> None:
        """Write one row through to the disk, in the place of one with its key."""
        if self.key_of(row) in self:
            self.forget({self.key_of(row)})
        new = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=self.columns, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            os.fsync(file.fileno())
        self.rows.append({name: str(row[name]) for name in self.columns})

    def forget(self, keys: set[Key]) -> None:
        """Remove rows, replacing the file in one step."""
        self.rows = [row for row in self.rows if self.key_of(dict(row)) not in keys]
        self._rewrite(self.rows)

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        temporary = self.path.with_suffix(".part")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)

    def _mend(self) -> None:
        """Cut a last line that has no end."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with self.path.open("r+b") as file:
                file.truncate(whole)

    def _read(self) -> list[dict[str, str]]:
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            reader = csv.DictReader(file)
            found = tuple(reader.fieldnames or self.columns)
            if found != self.columns[: len(found)] or not set(self.key) <= set(found):
                raise ValueError(
                    f"{self.path} has the columns {', '.join(found)}; expected "
                    f"{', '.join(self.columns)}. Move it away or choose another --out."
                )
            added = dict.fromkeys(self.columns[len(found) :], "")
            rows = [row | added for row in reader]
        if added:  # columns that came later stay empty in older rows
            self._rewrite(rows)
        return rows
