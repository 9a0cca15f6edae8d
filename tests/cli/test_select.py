"""``nablasso select`` from file to answer."""

import gzip
import json
import math
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nablasso import DerivativeLassoCV, NablassoRegressor
from nablasso.estimators import cross_validation
from nablasso.kernels import Polynomial

QUICK = ("--method", "lasso", "--kernel", "polynomial", "--alphas", "5", "--cv", "3")

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("NABLASSO_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def reference(table):
    model = DerivativeLassoCV(Polynomial(degree=2), alphas=5, cv=3)
    return model.fit(table.drop(columns="y"), table["y"])


def test_the_answer_comes_first_then_the_table_then_the_certificate(run, csv, reference):
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert outcome.code == 0
    assert not outcome.err
    assert "\x1b" not in outcome.out  # no colours outside a terminal
    lines = outcome.out.splitlines()
    assert lines[0] == "2 of 4 columns matter for y (40 rows): curved, straight."
    told = " ".join(outcome.out.split())
    assert lines[1].split() == ["Column", "Strength"]
    for line, name, a in zip(lines[2:4], ("curved", "straight"), (0, 1), strict=True):
        assert line.split() == [name, f"{reference.feature_importances_[a]:.2f}"]
    for label, sentence in reference.answer_.facts():  # the command says what the model says
        assert f"{label} {' '.join(sentence.split())}" in told
    assert f"duality gap {reference.dual_gap_:.1e} ({reference.relative_gap_:.1e} of" in told
    assert f"typical error {math.sqrt(-reference.best_score_):.3g} in y" in told
    assert "3 folds of 40 rows" in told
    assert "Method lasso" in told
    assert "Task regression, y holds numbers" in told
    assert "Status Clear" in told
    assert "2 columns: idle, other (2 certified)" in told
    assert "40 rows, 4 columns and the target" in told


def test_json_is_one_object_with_the_numbers_of_the_library(run, csv, table, reference):
    outcome = run("select", csv, "--target", "y", *QUICK, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    content = json.loads(outcome.out)
    assert content["answer"] == "2 of 4 columns matter for y (40 rows): curved, straight."
    assert [v["name"] for v in content["selected"]] == ["curved", "straight"]
    strengths = [v["strength"] for v in content["selected"]]
    np.testing.assert_allclose(strengths, reference.feature_importances_[:2])
    bounds = [v["bounds"] for v in content["selected"]]
    np.testing.assert_allclose(bounds, reference.importance_bounds_[:2])
    assert all(v["certified"] for v in content["selected"])
    assert {v["name"] for v in content["left_out"]} == {"idle", "other"}
    rmse = math.sqrt(-reference.best_score_)
    found = content["certificate"]
    assert found["dual_gap"] == pytest.approx(reference.dual_gap_)
    assert found["relative_gap"] == pytest.approx(reference.relative_gap_)
    assert found["parameters"]["alpha"] == pytest.approx(reference.alpha_)
    assert found["parameters"]["kernel"] == repr(reference.kernel_)
    assert content["accuracy"]["rmse"] == pytest.approx(rmse)
    assert content["accuracy"]["r2"] == pytest.approx(reference.loo_r2_)
    assert (content["n_rows"], content["n_columns"]) == (40, 4)
    assert content["selection_status"] == "clear"
    assert (content["constant"], content["warnings"]) == ([], [])


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
    assert text.splitlines()[1].split() == ["Column", "Group", "Strength"]


def test_nothing_found_is_an_answer(run, csv, table):
    pd.DataFrame({"k": 1.0, "m": 2.0, "y": table["y"]}).to_csv(csv, index=False)
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert outcome.code == 0
    assert outcome.out.startswith("None of the 2 columns was found to matter for y (40 rows).")
    assert "Nothing found: either no column matters" in outcome.out


def test_too_few_rows_is_said_in_the_first_sentence(run, csv):
    angle = 2 * np.pi * np.arange(12) / 12
    a, y = np.sin(angle), np.cos(2 * angle)  # orthogonal: no straight line helps
    pd.DataFrame({"a": a, "y": y}).to_csv(csv, index=False)
    options = ["--method", "lasso", "--kernel", "linear", "--alphas", "3", "--cv", "2"]
    options += ["--keep", "a"]
    outcome = run("select", csv, "--target", "y", *options, "--json")
    content = json.loads(outcome.out)
    assert content["selection_status"] == "too few rows"
    assert content["answer"].startswith("No reliable answer: ")
    assert content["answer"].endswith("but 12 rows are too few to be sure of it.")


def test_an_interrupt_after_a_fold_gives_a_provisional_answer_and_130(run, csv, monkeypatch):
    def first_only(items, *_, **__):
        yield next(iter(items))
        raise KeyboardInterrupt

    monkeypatch.setattr(cross_validation, "track", first_only)
    outcome = run("select", csv, "--target", "y", *QUICK, "--json")
    assert outcome.code == 130
    content = json.loads(outcome.out)
    assert content["selection_status"] == "interrupted"
    assert content["accuracy"]["how"].startswith("1 folds")
    assert content["answer"].startswith("Interrupted, so this is provisional: ")


def test_warnings_of_the_fit_become_notes(run, csv, monkeypatch):
    fit = DerivativeLassoCV.fit

    def warning_fit(self, X, y):
        warnings.warn("mind the gap", stacklevel=1)
        return fit(self, X, y)

    monkeypatch.setattr(DerivativeLassoCV, "fit", warning_fit)
    assert "Note: mind the gap" in run("select", csv, "--target", "y", *QUICK).out
    outcome = run("select", csv, "--target", "y", *QUICK, "--json")
    assert json.loads(outcome.out)["warnings"] == ["mind the gap"]
    assert not outcome.err


def test_options_reach_the_estimator(run, csv, calls):
    lasso = ["--method", "lasso"]
    run("select", csv, "-t", "y", *lasso)
    run(
        *("select", csv, "-t", "y", "--cv", "4", "--jobs", "2", "--seed", "7", "--alphas", "9"),
        *("--keep", "idle", "--ignore", "other", *lasso),
    )
    default, call = calls
    assert default.kind == call.kind == "DerivativeLassoCV"
    assert default.params["kernel"] == "gaussian"
    expected = {"cv": 5, "n_jobs": None, "random_state": None, "alphas": 30, "always_keep": None}
    assert {key: default.params[key] for key in expected} == expected
    expected = {"cv": 4, "n_jobs": 2, "random_state": 7, "alphas": 9, "always_keep": ["idle"]}
    assert {key: call.params[key] for key in expected} == expected
    assert list(call.X) == ["curved", "straight", "idle"]


def test_options_reach_the_automatic_estimator(run, csv, calls, write):
    run("select", csv, "-t", "y")
    run(
        *("select", csv, "-t", "y", "--cv", "4", "--seed", "7", "--keep", "idle"),
        *("--fdr", "0.1", "--max-features", "3", "--kernel", "polynomial", "--degree", "3"),
        *("--groups", write('{"pair": ["idle", "other"]}', "groups.json")),
    )
    default, call = calls
    assert default.kind == call.kind == "NablassoRegressor"
    assert default.params == NablassoRegressor().get_params()
    expected = {"cv": 4, "random_state": 7, "always_keep": ["idle"], "fdr": 0.1}
    expected["max_features"] = 3
    assert {key: call.params[key] for key in expected} == expected
    assert repr(call.params["kernel"]) == "Polynomial(degree=3)"
    assert call.params["feature_groups"]["pair"] == ["idle", "other"]


def test_the_target_decides_between_regression_and_classification(run, csv, table, calls):
    lasso, classify = ["--method", "lasso"], ["--classify"]
    table.assign(y=np.where(table["y"] > 0, "up", "down")).to_csv(csv, index=False)
    for options in ([], lasso):
        run("select", csv, "--target", "y", *options)
    table.assign(y=(table["y"] > 0).astype(int)).to_csv(csv, index=False)
    for options in ([], classify, [*lasso, *classify]):
        run("select", csv, "--target", "y", *options)
    classifiers = ["NablassoClassifier", "DerivativeLassoClassifierCV"]
    assert [call.kind for call in calls] == [*classifiers, "NablassoRegressor", *classifiers]
    assert set(calls[0].y) == {"up", "down"}
    assert set(calls[3].y) == {"0", "1"}


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        (["--kernel", "polynomial", "--degree", "3"], "Polynomial(degree=3)"),
        (["--kernel", "anova"], "Anova()"),
        (["--kernel", "anova", "--order", "1"], "Anova(order=1)"),
        (["--kernel", "matern"], "Matern52()"),
    ],
)
def test_kernels_by_name(run, csv, calls, options, kernel):
    for method in ("lasso", "nablasso"):
        run("select", csv, "--target", "y", "--method", method, *options)
    assert [repr(call.params["kernel"]) for call in calls] == [kernel, kernel]


def test_methods_and_groups_choose_the_estimator(run, csv, calls, write):
    groups = ["--groups", write('{"pair": ["idle", "other"]}', "groups.json")]
    lasso, net = ["--method", "lasso"], ["--method", "elastic-net"]
    for options in (net, [*lasso, *groups], [*net, *groups]):
        run("select", csv, "--target", "y", *options)
    assert {call.kind for call in calls} == {"DerivativeLassoCV"}
    assert [call.params["l1_ratio"] for call in calls] == [0.5, 1.0, 0.5]
    partition = {"pair": ["idle", "other"], "curved": ["curved"], "straight": ["straight"]}
    assert [call.params["feature_groups"] for call in calls] == [None, partition, partition]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "Y"], "Did you mean 'y'? The columns are: curved, straight"),
        (["--target", "y", "--ignore", "y"], "given to both --target and --ignore"),
        (["--target", "y", "--kernel", "laplacian"], "must be twice differentiable"),
        (["--target", "y", "--kernel", "cubic"], "kernel must be one of gaussian, matern"),
        (
            ["--target", "y", "--kernel", "gaussian", "--degree", "2"],
            "--degree belongs to --kernel polynomial; the kernel is gaussian. Leave",
        ),
        (
            ["--target", "y", "--order", "2"],
            "--order belongs to --kernel anova; no kernel was named. Leave",
        ),
        (
            ["--target", "y", "--alphas", "9"],
            "--alphas belongs to --method lasso and elastic-net; the method is nablasso. Leave",
        ),
        (
            ["--target", "y", "--method", "lasso", "--fdr", "0.1"],
            "--fdr belongs to --method nablasso; the method is lasso. Leave --fdr out",
        ),
        (
            ["--target", "y", "--method", "elastic-net", "--max-features", "2"],
            "--max-features belongs to --method nablasso; the method is elastic-net.",
        ),
        (["--target", "y", "--fdr", "1.5"], "--fdr is the expected share of false discoveries"),
        (["--target", "y", "--kernel", "anova", "--order", "9"], "order must be 1, 2 or 3; got 9"),
        (
            ["--target", "y", "--jobs", "2"],
            "--jobs belongs to --method lasso and elastic-net; the method is nablasso. Leave",
        ),
        (
            ["--target", "y", "--method", "lasso", "--jobs", "0"],
            "--jobs must be a number of processes, or -1",
        ),
        (["--target", "y", "--seed", "-1"], "--seed must be between 0 and 4294967295; got -1"),
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
        (b"a,y\n" + b"x,2\n1,2\n" * 5, "--ignore a"),
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
        *("--method", "lasso", "--kernel", "linear", "--alphas", "5", "--cv", "2"),
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
        "3 of 5 columns matter for y (40 rows): curved, <b>city</b>, straight."
    )
    found = {v["name"]: v for v in content["selected"]}
    assert found["<b>city</b>"]["levels"] == ["Oslo", "Paris", "Rome"]
    assert content["n_columns"] == 5
    model = DerivativeLassoCV(Polynomial(degree=2), alphas=5, cv=3)
    dummies = pd.get_dummies(table[["<b>city</b>"]], prefix_sep="=", dtype=float)
    X = pd.concat([table[["curved", "straight", "idle", "other"]], dummies], axis=1)
    groups = {name: [name] for name in list(X)[:4]} | {"city": list(X)[4:]}
    model.set_params(feature_groups=groups).fit(X, table["y"])
    strength = np.linalg.norm(model.feature_importances_[4:])
    assert found["<b>city</b>"]["strength"] == pytest.approx(strength)
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
    quick = ("--method", "lasso", "--kernel", "linear", "--alphas", "2", "--cv", "2")
    outcome = run("select", path, "--target", "y", *quick)
    assert outcome.code != 0
    assert "give y in another unit" in " ".join(outcome.err.split())
