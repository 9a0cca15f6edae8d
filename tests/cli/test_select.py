"""``nablasso select`` from file to answer."""

import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nablasso import NablassoRegressor

QUICK = ("--kernel", "polynomial")

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("NABLASSO_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("width", [30, 60, 200])
def test_any_width_of_the_terminal(run, csv, table, monkeypatch, width):
    names = {"curved": "[red]an uncommonly long name in brackets[/red]", "idle": "temps_écoulé"}
    table.rename(columns=names).assign(k=1.0).to_csv(csv, index=False)
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert outcome.code == 0
    assert max(len(line) for line in outcome.out.splitlines()) <= width
    if width == 200:  # once in the sentence, once in the table, never read as a colour
        assert outcome.out.count("[red]an uncommonly long name in brackets[/red]") == 2


def test_constant_columns_twins_ignored_and_kept_are_told(run, csv, table):
    twin = table.curved + 1e-3 * table.straight
    table.assign(twin=twin, k=1.0, fixed=7).to_csv(csv, index=False)
    roles = ["--ignore", "idle", "--ignore", "fixed", "--keep", "other"]
    outcome = run("select", csv, "--target", "y", *QUICK, *roles)
    told = " ".join(outcome.out.split())
    assert "Constant k (never selectable)" in told
    assert "Ignored idle, fixed" in told
    assert "Always kept other" in told
    assert "Status Something in these columns matters, but others could stand for some" in told
    assert "could be replaced by" in told
    content = json.loads(run("select", csv, "--target", "y", *QUICK, *roles, "--json").out)
    assert content["constant"] == ["k"]
    assert content["ignored"] == ["idle", "fixed"]
    assert content["always_kept"] == ["other"]
    assert content["selection_status"] == "replaceable"
    pairs = {(v["name"], *one["by"]) for v in content["selected"] for one in v["replaceable"]}
    assert pairs & {("curved", "twin"), ("twin", "curved")}
    assert "other" in [v["name"] for v in content["selected"]]
    assert "k" not in [v["name"] for v in content["selected"] + content["left_out"]]


def test_groups_are_selected_as_a_whole(run, csv, write):
    groups = write('{"pair": ["straight", "idle"]}', "groups.json")
    content = json.loads(
        run("select", csv, "--target", "y", *QUICK, "--groups", groups, "--json").out
    )
    found = {v["name"]: v["group"] for v in content["selected"]}
    assert found == {"curved": "curved", "straight": "pair", "idle": "pair"}
    text = run("select", csv, "--target", "y", *QUICK, "--groups", groups).out
    assert text.splitlines()[1].split()[:3] == ["Column", "Group", "Share"]


def test_nothing_found_is_an_answer(run, csv, table):
    pd.DataFrame({"k": 1.0, "m": 2.0, "y": table["y"]}).to_csv(csv, index=False)
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert outcome.code == 0
    assert outcome.out.startswith("None of the 2 columns was found to matter for y (40 rows).")
    assert "Nothing found: either no column matters" in outcome.out


def test_warnings_of_the_fit_become_notes(run, csv, monkeypatch):
    fit = NablassoRegressor.fit

    def warning_fit(self, X, y):
        warnings.warn("mind the gap", stacklevel=1)
        return fit(self, X, y)

    monkeypatch.setattr(NablassoRegressor, "fit", warning_fit)
    assert "Note: mind the gap" in run("select", csv, "--target", "y", *QUICK).out
    outcome = run("select", csv, "--target", "y", *QUICK, "--json")
    assert json.loads(outcome.out)["warnings"] == ["mind the gap"]
    assert not outcome.err


def test_options_reach_the_estimator(run, csv, calls, write):
    run("select", csv, "-t", "y")
    run(
        *("select", csv, "-t", "y", "--cv", "4", "--seed", "7", "--keep", "idle"),
        *("--fdr", "0.1", "--max-features", "3", "--kernel", "polynomial"),
        *("--groups", write('{"pair": ["idle", "other"]}', "groups.json")),
    )
    default, call = calls
    assert default.kind == call.kind == "NablassoRegressor"
    assert default.params == NablassoRegressor().get_params()
    expected = {"cv": 4, "random_state": 7, "always_keep": ["idle"], "fdr": 0.1}
    expected["max_features"] = 3
    assert {key: call.params[key] for key in expected} == expected
    assert call.params["kernel"] == "polynomial"
    assert call.params["feature_groups"]["pair"] == ["idle", "other"]


def test_the_target_decides_between_regression_and_classification(run, csv, table, calls):
    table.assign(y=np.where(table["y"] > 0, "up", "down")).to_csv(csv, index=False)
    run("select", csv, "--target", "y")
    table.assign(y=(table["y"] > 0).astype(int)).to_csv(csv, index=False)
    for options in ([], ["--classify"]):
        run("select", csv, "--target", "y", *options)
    kinds = ["NablassoClassifier", "NablassoRegressor", "NablassoClassifier"]
    assert [call.kind for call in calls] == kinds
    assert set(calls[0].y) == {"up", "down"}
    assert set(calls[2].y) == {"0", "1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "Y"], "Did you mean 'y'? The columns are: curved, straight"),
        (["--target", "y", "--ignore", "y"], "given to both --target and --ignore"),
        (["--target", "y", "--kernel", "laplacian"], "must be twice differentiable"),
        (["--target", "y", "--kernel", "cubic"], "kernel must be one of gaussian, matern"),
        (
            ["--target", "y", *QUICK, "--cv", "99"],
            "cv must be between 2 and the number of distinct rows",
        ),
    ],
)
@pytest.mark.parametrize("extra", [[], ["--json"]], ids=["text", "json"])
def test_errors_go_to_standard_error_with_exit_code_1(run, csv, options, message, extra):
    outcome = run("select", csv, *options, *extra)
    assert outcome.code == 1
    assert outcome.err.startswith("nablasso: ")
    assert outcome.err.count("\n") == 1  # outside a terminal an error is one line
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not outcome.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"", "is empty"),
        (b"a,y\n", "column names but no rows"),
        (b"a,y\n" + b"1,2\n" * 4, "at least 5 rows"),
        (b"a,y\n1,2\n1\n" + b"1,2\n" * 4, "line 3 has 1"),
        (b"\x00\x01\x02", "binary data"),
        (b"\xe9,y\n" + b"1,2\n" * 5, "UTF-8"),
        (b"a,a,y\n" + b"1,1,2\n" * 5, "more than once: 'a' (columns 1, 2)"),
        (b"a,y\n" + b"x,2\n1,2\n" * 5, "or --ignore)"),
        (b"a,y\n" + b"2024-01-31,2\n" * 5, "the target must vary"),
        (b"a,y\n" + b"1,x\n1,2\n" * 3, "the target y holds numbers and words"),
        (b"a,y\n" + b"1,2\n" * 5, "the target must vary"),
        (b"a,y\n2,\n" + b"1,3\n" * 5, "y is missing in 1 of 6 rows"),
        (b"a;y\n" + b"1,5;2\n" * 5, "decimal comma"),
    ],
)
def test_bad_files_go_to_standard_error_with_exit_code_1(run, tmp_path, write, content, message):
    path = tmp_path / "absent.csv" if content is None else write(content)
    outcome = run("select", path, "--target", "y")
    assert outcome.code == 1
    assert message in outcome.message
    assert "Traceback" not in outcome.err
    assert not outcome.out


def test_a_compressed_file_is_read(run, csv, calls, write):
    run("select", write(gzip.compress(csv.read_bytes()), "table.csv.gz"), "--target", "y")
    assert calls[0].X.shape == (40, 4)


@pytest.mark.skipif(
    not (DATA / "boston.csv.gz").exists(), reason=f"no boston.csv.gz in {DATA.name}"
)
def test_a_real_table(run):
    outcome = run(
        *("select", DATA / "boston.csv.gz", "--target", "target", "--json"),
        *("--kernel", "linear"),
    )
    content = json.loads(outcome.out)
    assert (content["n_rows"], content["n_columns"]) == (506, 13)
    assert {"LSTAT", "RM"} <= {v["name"] for v in content["selected"]}
    assert content["certificate"]["relative_gap"] <= 1e-6
    assert content["accuracy"]["r2"] > 0.6


def test_a_category_is_one_column_of_the_answer(run, csv, table, tmp_path):
    city = np.array(["Oslo", "Paris", "Rome", "Rome"] * 10)
    table["<b>city</b>"], table["y"] = city, table["y"] + 3 * (city == "Rome")
    table.to_csv(csv, index=False)
    report = tmp_path / "report.html"
    outcome = run("select", csv, "--target", "y", *QUICK, "--report", report, "--json")
    content = json.loads(outcome.out)
    assert content["answer"] == (
        "3 of 5 columns matter for y (40 rows): <b>city</b>, curved, straight."
    )
    found = {v["name"]: v for v in content["selected"]}
    assert found["<b>city</b>"]["levels"] == ["Oslo", "Paris", "Rome"]
    assert content["n_columns"] == 5
    assert content["written"] == {"report": str(report)}
    page = report.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "<b>city</b>" not in page
    assert "&lt;b&gt;city&lt;/b&gt;" in page


def test_rows_are_told(run, csv, table):
    table.loc[0, "idle"] = np.nan
    table.to_csv(csv, index=False)
    options = ("--missing", "drop", "--sample", "30", "--seed", "1")
    text = " ".join(run("select", csv, "--target", "y", *QUICK, *options).out.split())
    assert "Rows 1 of 40 rows were left out: they have a missing cell." in text
    assert "30 of 39 rows were drawn at random (seed 1)." in text
    assert "Table 30 rows, 4 columns and the target" in text


def test_a_target_whose_squares_underflow_is_refused(run, table, write):
    table["y"] *= 1e-200
    path = write(table.to_csv(index=False))
    outcome = run("select", path, "--target", "y", "--kernel", "linear")
    assert outcome.code != 0
    assert "give y in another unit" in " ".join(outcome.err.split())
