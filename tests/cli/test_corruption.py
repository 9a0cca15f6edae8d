"""Two hundred damaged inputs: one line, a documented exit code, no half-written file."""

import gzip
import io
import random

import numpy as np
import pandas as pd
import pytest

from nablasso import DerivativeLasso, load, save

N_CASES, BLOCK = 200, 10
DONE, REFUSED = 0, 1
QUICK = ("--kernel", "linear")
NAMES = ("a", "b", "c", "y")


def clean_table(rng: random.Random, n: int = 12) -> list[list[str]]:
    """The first line and rows of numbers."""
    rows = [[f"{rng.gauss(0, 1):.3f}" for _ in NAMES[:-1]] for _ in range(n)]
    return [list(NAMES)] + [[*row, f"{float(row[0]) + rng.gauss(0, 0.1):.3f}"] for row in rows]


def as_bytes(rows: list[list[str]], separator: str = ",") -> bytes:
    return ("\n".join(separator.join(row) for row in rows) + "\n").encode()


def somewhere(rng: random.Random, rows: list[list[str]]) -> tuple[int, int]:
    return rng.randrange(1, len(rows)), rng.randrange(len(rows[0]))


def truncated_gzip(rng, rows):
    data = gzip.compress(as_bytes(rows))
    return data[: rng.randrange(2, len(data))]


def damaged_gzip(rng, rows):
    data = bytearray(gzip.compress(as_bytes(rows)))
    data[rng.randrange(2, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def wrong_delimiter(rng, rows):
    return as_bytes(rows, rng.choice("| :^"))


def mixed_delimiters(rng, rows):
    return b"\n".join(rng.choice(",;\t|").join(row).encode() for row in rows)


def marks(rng, rows):
    text = as_bytes(rows).decode()
    return text.encode(rng.choice(["utf-8-sig", "utf-16", "utf-32"]))


def latin_1(rng, rows):
    rows[0][rng.randrange(3)] = rng.choice(["größe", "température", "año"])
    return as_bytes(rows).decode().encode("latin-1")


def ragged(rng, rows):
    row = rows[rng.randrange(1, len(rows))]
    row.pop() if rng.random() < 0.5 else row.append("1")
    return as_bytes(rows)


def huge_header(rng, rows):
    if rng.random() < 0.5:
        rows[0][0] = "x" * rng.randrange(100_000, 300_000)
    else:
        rows[0] = [f"column {i}" for i in range(20_000)]
    return as_bytes(rows)


def formulas(rng, rows):
    for _ in range(rng.randrange(1, 6)):
        i, j = somewhere(rng, rows)
        rows[i][j] = rng.choice(["=1+1", "@SUM(A1:A9)", "+A1", "=cmd|' /C calc'!A0", "-2+3"])
    return as_bytes(rows)


def formula_column(rng, rows):
    for row in rows[1:]:
        row[1] = rng.choice(["=A1", "=A2", "=HYPERLINK(1)"])
    return as_bytes(rows)


def script_tags(rng, rows):
    names = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "</style>"]
    for j, name in enumerate(rng.sample(names, 3)):
        rows[0][j] = name
    return as_bytes(rows)


def strange_names(rng, rows):
    names = ["[red]x[/red]", "\x1b[31mred", '"two\nlines"', "", " ", "שלום", "🙂", "a" * 500, "%s"]
    for j in range(3):
        rows[0][j] = rng.choice(names)
    return as_bytes(rows)


def junk(rng, rows):
    return rng.randbytes(rng.randrange(1, 2000))


def flipped_bytes(rng, rows):
    data = bytearray(as_bytes(rows))
    for _ in range(rng.randrange(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def shortened(rng, rows):
    data = as_bytes(rows)
    return data[: rng.randrange(len(data))]


def few_rows(rng, rows):
    return as_bytes(rows[: rng.randrange(1, 7)])


def open_quote(rng, rows):
    i, j = somewhere(rng, rows)
    rows[i][j] = '"' + rows[i][j]
    return as_bytes(rows)


def doubled_names(rng, rows):
    rows[0] = [rng.choice("aby") for _ in NAMES]
    return as_bytes(rows)


def odd_cells(rng, rows):
    words = ["", "NA", "inf", "-inf", "nan", "1e308", "-1e308", "1e999", "1,5", "0x10", "1_000"]
    words += ["2024-01-31", "yes", "true", "1e-320", "٣", "9" * 400, "None"]
    word, whole = rng.choice(words), rng.random() < 0.5
    j = rng.randrange(len(NAMES))
    for row in rows[1:] if whole else rng.sample(rows[1:], 3):
        row[j] = f'"{word}"'
    return as_bytes(rows)


def constant_cells(rng, rows):
    for j in rng.sample(range(4), rng.randrange(1, 4)):
        for row in rows[1:]:
            row[j] = "3"
    return as_bytes(rows)


def damaged_parquet(rng, rows):
    buffer = io.BytesIO()
    pd.DataFrame(rows[1:], columns=rows[0]).astype(float).to_parquet(buffer)
    data = bytearray(buffer.getvalue())
    if rng.random() < 0.5:
        return bytes(data[: rng.randrange(4, len(data))])
    for _ in range(rng.randrange(1, 5)):
        data[rng.randrange(4, len(data))] = rng.randrange(256)
    return bytes(data)


def nested_parquet(rng, rows):
    frame = pd.DataFrame(rows[1:], columns=rows[0]).astype(float)
    cells = rng.choice([[1, 2], {"k": 1}, b"\x00\x01", pd.Timestamp("2024-01-31")])
    frame["c"] = [cells] * len(frame)
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


DAMAGES = (
    *(truncated_gzip, damaged_gzip, wrong_delimiter, mixed_delimiters, marks, latin_1, ragged),
    *(huge_header, formulas, formula_column, script_tags, strange_names, junk, flipped_bytes),
    *(shortened, few_rows, open_quote, doubled_names, odd_cells, constant_cells),
    *(damaged_parquet, nested_parquet),
)
PLACES = ("a directory", "a missing file", "no permission", "a damaged model")


def damaged(rng, case, folder):
    """A path that is or holds what the command is to be given."""
    kind = (DAMAGES + PLACES)[case % (len(DAMAGES) + len(PLACES))]
    path = folder / rng.choice(["table.csv", "table.tsv.gz", "table.parquet"])
    rows = clean_table(rng)
    if kind == "a directory":
        path.mkdir()
    elif kind == "no permission":
        path.write_bytes(as_bytes(rows))
        path.chmod(0)
    elif kind != "a missing file":
        path.write_bytes(as_bytes(rows) if kind == "a damaged model" else kind(rng, rows))
    return kind, path


def command(rng, kind, path, model, folder):
    """Arguments, and the files they may leave."""
    if kind == "a damaged model":
        data = bytearray(model.read_bytes())
        if rng.random() < 0.5:
            del data[rng.randrange(len(data)) :]
        else:
            data[rng.randrange(len(data))] ^= 0xFF
        bad = folder / "bad.skops"
        bad.write_bytes(bytes(data))
        return ["predict", bad, path, "--out", folder / "out.csv"], ["out.csv"]
    choice = rng.randrange(5)
    if choice == 0:
        return ["predict", model, path, "--out", folder / "out.csv"], ["out.csv"]
    if choice == 1:
        return ["explain", model, path, "a", "--out", folder / "out.svg"], ["out.svg"]
    if choice == 2:
        groups = ["--groups", path, "--missing", rng.choice(["state", "drop"])]
        return ["select", path, "--target", "y", *QUICK, *groups], []
    options = ["--save", folder / "out.skops", "--missing", rng.choice(["state", "drop"])]
    return ["select", path, "--target", "y", *QUICK, *options], ["out.skops"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A saved model of the clean table."""
    path = tmp_path_factory.mktemp("model") / "model.skops"
    rows = clean_table(random.Random(0))
    frame = pd.DataFrame(rows[1:], columns=rows[0]).astype(float)
    fit = DerivativeLasso("linear", alpha=0.01, ridge=0.01, debias=False)
    save(fit.fit(frame[["a", "b", "c"]], frame["y"]), path)
    return path


@pytest.mark.parametrize("block", range(N_CASES // BLOCK))
def test_damaged_inputs(run, model, tmp_path, block):
    for case in range(block * BLOCK, (block + 1) * BLOCK):
        rng = random.Random(case)
        folder = tmp_path / str(case)
        folder.mkdir()
        kind, path = damaged(rng, case, folder)
        arguments, leaves = command(rng, kind, path, model, folder)
        before = {place.name for place in folder.iterdir()}
        with np.errstate(all="ignore"):
            outcome = run(*arguments)
        what = f"case {case}: {getattr(kind, '__name__', kind)}, {arguments[0]}: {outcome}"
        assert outcome.code in (DONE, REFUSED), what
        assert "Traceback" not in outcome.err, what
        new = {place.name for place in folder.iterdir()} - before
        if outcome.code == DONE:
            assert new == set(leaves), what
            check_whole(folder, leaves, model)
        else:
            assert not outcome.out, what
            assert outcome.err.startswith("nablasso: "), what
            assert len(outcome.err.splitlines()) == 1, what
            assert len(outcome.err) < 2000, what
            assert not new, what


def check_whole(folder, leaves, model):
    for name in leaves:
        path = folder / name
        if path.suffix == ".skops":
            assert load(path).n_features_in_ >= 1
        elif path.suffix == ".csv":
            assert path.read_text().startswith("predicted_y\n")
        else:
            assert path.read_text().rstrip().endswith("</svg>")
