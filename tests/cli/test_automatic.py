"""The automatic method: what it knows about the columns, told and as JSON."""

import json

import numpy as np
import pandas as pd
import pytest

from nablasso import DerivativeLasso, NablassoClassifier, NablassoRegressor, save
from nablasso.answer import percent
from nablasso.kernels import Linear, Polynomial
from nablasso.search import decide

QUICK = ("--kernel", "polynomial")


@pytest.fixture
def reference(table):
    model = NablassoRegressor(Polynomial(degree=2))
    return model.fit(table.drop(columns="y"), table["y"])


def test_the_answer_comes_first_then_the_table_then_how_far_to_trust_it(run, csv, table, reference):
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert (outcome.code, outcome.err) == (0, "")
    lines, told = outcome.out.splitlines(), " ".join(outcome.out.split())
    assert lines[0] == f"2 of 4 columns matter for y ({len(table)} rows): curved, straight."
    assert lines[1].split() == ["Column", "Share", "Slope", "Shape", "Nats"]
    for line, name, a in zip(lines[2:4], ("curved", "straight"), (0, 1), strict=True):
        words = line.split()
        assert words[0] == name
        assert words[1] == percent(reference.feature_importances_[a])
        assert words[-1] == f"{reference.evidence_[a]:.0f}"
    assert "Nats: log evidence that leaving the column out would cost" in told
    for label, sentence in reference.answer_.facts():
        assert f"{label} {' '.join(sentence.split())}" in told
    assert "Task regression, y holds numbers" in told
    assert "Left out 2 columns: idle, other" in told
    assert f"each of {len(table)} rows predicted from the others" in told


def test_json_has_the_numbers_of_the_library(run, csv, table, reference):
    content = json.loads(run("select", csv, "--target", "y", *QUICK, "--json").out)
    assert [v["name"] for v in content["selected"]] == ["curved", "straight"]
    found = [(v["share"], v["evidence"]) for v in content["selected"]]
    np.testing.assert_allclose(
        found, np.column_stack([reference.feature_importances_, reference.evidence_])[:2]
    )
    assert {v["p_value"] for v in content["selected"]} == {None}
    assert (content["task"], content["classes"], content["method"]) == (
        "regression",
        {},
        "NablassoRegressor",
    )
    assert content["noticed"] == []
    r2 = reference.loo_r2_
    assert content["accuracy"]["r2"] == pytest.approx(r2, abs=1e-3)
    error = np.std(table["y"]) * np.sqrt(1 - r2)
    assert content["accuracy"]["rmse"] == pytest.approx(error, rel=1e-2)
    certificate = content["certificate"]
    assert certificate["dual_gap"] == pytest.approx(reference.dual_gap_)
    assert certificate["parameters"]["alpha"] == pytest.approx(reference.alpha_)
    sizes = [pair["share"] for pair in content["interactions"]]
    assert sizes == [pair[2] for pair in reference.interactions_]  # to the last digit


def test_p_values_take_the_place_of_nats(run, csv, table):
    options = (*QUICK, "--fdr", "0.2")
    content = json.loads(run("select", csv, "--target", "y", *options, "--json").out)
    model = NablassoRegressor(Polynomial(degree=2), fdr=0.2)
    model.fit(table.drop(columns="y"), table["y"])
    p_values = {v["name"]: v["p_value"] for v in content["selected"] + content["left_out"]}
    assert [p_values[name] for name in model.feature_names_in_] == pytest.approx(model.p_values_)
    assert content["fdr"] == 0.2
    text = run("select", csv, "--target", "y", *options).out
    assert text.splitlines()[1].split() == [
        "Column",
        "Share",
        "Slope",
        "Shape",
        "p-value",
    ]
    assert "Selected at most 20% of them are expected to be false" in " ".join(text.split())


def test_classes_are_counted_and_cautions_are_told_once(run, csv, table):
    table["y"] = np.where(table["straight"] > 0, "up", "down")
    table.to_csv(csv, index=False)
    options = ("select", csv, "--target", "y", "--kernel", "linear")
    model = NablassoClassifier(Linear())
    with pytest.warns(UserWarning, match="side of a threshold"):
        model.fit(table.drop(columns="y"), table["y"])
    content = json.loads(run(*options, "--json").out)
    counts = table["y"].value_counts()
    assert content["task"] == "classification"
    assert content["classes"] == {"down": counts["down"], "up": counts["up"]}
    assert (content["cautions"], content["warnings"]) == (model.cautions_, [])
    assert content["accuracy"]["r2"] is content["accuracy"]["rmse"] is None
    assert content["accuracy"]["accuracy"] == model.answer_.accuracy.accuracy > 0.85
    assert 0 < content["accuracy"]["log_loss"] < 0.7
    assert content["accuracy"]["auc"] > 0.9
    text = run(*options).out
    assert "log-loss" in text
    assert "R2" not in text
    classes = f"classification, 2 classes with their rows: down ({counts['down']}), up"
    assert classes in " ".join(text.split())
    assert "Doubtful: see the cautions" in text
    assert text.count("Caution: ") == 1
    assert "Note: " not in text


def test_numbers_that_may_be_classes_are_pointed_out(run, csv, table):
    table.assign(y=(table["straight"] > 0).astype(int)).to_csv(csv, index=False)
    text = run("select", csv, "--target", "y", "--kernel", "linear").out
    assert "few distinct values: --classify if they are classes" in " ".join(text.split())


def test_groups_and_kept_columns_are_selected(run, csv, write):
    groups = write('{"pair": ["straight", "idle"]}', "groups.json")
    options = (*QUICK, "--groups", groups, "--keep", "other", "--json")
    content = json.loads(run("select", csv, "--target", "y", *options).out)
    found = {v["name"]: v["group"] for v in content["selected"]}
    assert found == {"curved": "curved", "straight": "pair", "idle": "pair", "other": "other"}
    assert content["always_kept"] == ["other"]


def test_where_nothing_is_to_be_decided_no_evidence_is_told_of(run, csv, table):
    table[["curved", "straight", "y"]].to_csv(csv, index=False)
    options = (*QUICK, "--keep", "curved", "--keep", "straight")
    content = json.loads(run("select", csv, "--target", "y", *options, "--json").out)
    assert {v["evidence"] for v in content["selected"]} == {0.0}
    text = run("select", csv, "--target", "y", *options).out
    assert text.splitlines()[1].split() == ["Column", "Share", "Slope", "Shape"]


def test_nothing_found_has_no_certificate(run, csv, table):
    pd.DataFrame({"k": 1.0, "m": 2.0, "y": table["y"]}).to_csv(csv, index=False)
    content = json.loads(run("select", csv, "--target", "y", *QUICK, "--json").out)
    assert content["selection_status"] == "none found"
    assert content["certificate"] is None
    assert run("select", csv, "--target", "y", *QUICK).out.startswith("None of the 2 columns")


def test_an_interrupted_search_gives_a_provisional_answer_and_130(run, csv, monkeypatch, tmp_path):
    def interrupted(best):
        raise KeyboardInterrupt

    monkeypatch.setattr(decide, "assumed", interrupted)
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert outcome.code == 130
    assert outcome.out.startswith("Interrupted, so this is provisional: 2 of 4 columns matter for")
    assert "Interrupted: the answer rests on a part of the work" in " ".join(outcome.out.split())
    out = tmp_path / "report.html"
    outcome = run("select", csv, "--target", "y", *QUICK, "--json", "--report", out)
    assert outcome.code == 130
    assert json.loads(outcome.out)["selection_status"] == "interrupted"
    page = out.read_text(encoding="utf-8")
    assert "Interrupted, so this is provisional" in page


def test_assumptions_are_told(run, csv, table):
    table["y"] = np.exp(table["y"])
    table.to_csv(csv, index=False)
    content = json.loads(run("select", csv, "--target", "y", *QUICK, "--json").out)
    sentence, gained = content["noticed"]
    assert "nats, its price paid" in gained
    least = f"{table['y'].min():.4g}"
    assert sentence.startswith(f"The target is skewed: log(y - {least} + ")


def test_a_dropped_column_is_explained(run, csv, tmp_path, reference):
    path = tmp_path / "model.skops"
    save(reference, path, notes={"target": "y"})
    outcome = run("explain", path, csv, "idle")
    assert outcome.code == 0
    assert outcome.out.startswith("idle was left out: ")
    assert "nats" in outcome.out or "adds nothing" in outcome.out
    content = json.loads(run("explain", path, csv, "idle", "--json").out)
    assert (content["selected"], content["name"]) == (False, "idle")
    assert "nothing" in content["sentence"] or content["adds"] > 0


def test_a_curve_is_written_as_a_table_with_its_bands(run, csv, table, tmp_path, reference):
    model, out = tmp_path / "model.skops", tmp_path / "curve.csv"
    save(reference, model, notes={"target": "y"})
    assert run("explain", model, csv, "curved", "--out", out).code == 0
    curve = pd.read_csv(out)
    shapes = reference.shapes()
    own = shapes[shapes["column"] == "curved"].reset_index(drop=True)
    pd.testing.assert_frame_equal(curve, own, check_dtype=False, rtol=1e-6)


def test_a_model_without_shapes_has_its_curve_in_the_table(run, csv, table, tmp_path):
    path, out = tmp_path / "model.skops", tmp_path / "curve.csv"
    model = DerivativeLasso(alpha=0.1).fit(table[["curved", "straight"]], table["y"])
    save(model, path, notes={"target": "y"})
    assert run("explain", path, csv, "straight", "--out", out).code == 0
    curve = pd.read_csv(out)
    assert list(curve) == ["column", "x", "value", "low", "high"]
    assert curve["value"].between(curve["low"], curve["high"]).all()
