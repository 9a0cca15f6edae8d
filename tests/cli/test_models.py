"""Models from ``--save`` to ``predict`` and ``explain``."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

import nablasso
from nablasso import DerivativeLassoCV, NablassoRegressor, PSDDensity, load, persistence, save
from nablasso.cli.findings import Saved
from nablasso.errors import UnseenValuesWarning
from nablasso.kernels import Polynomial
from tests.estimators.test_tables import every_kind

QUICK = ("--kernel", "polynomial")
FITTED = []

VERSION = nablasso.__version__


@pytest.fixture
def mixed(table):
    """With a category of three levels and one of two, both of which matter."""
    rng = np.random.default_rng(1)
    table["city"] = rng.choice(["Oslo", "Paris", "Rome"], len(table))
    table["sex"] = rng.choice(["f", "m"], len(table))
    table["y"] += 2 * (table["city"] == "Rome") + (table["sex"] == "m")
    return table


@pytest.fixture
def saved(run, csv, mixed, tmp_path):
    """A model of the table; fitted once, since all of them are equal."""
    mixed.to_csv(csv, index=False)
    path = tmp_path / "model.skops"
    if FITTED:
        path.write_bytes(FITTED[0])
        return path
    outcome = run("select", csv, "--target", "y", *QUICK, "--save", path)
    assert outcome.code == 0, outcome.err
    assert f"Model written to {path}" in "".join(outcome.out.splitlines())
    FITTED.append(path.read_bytes())
    return path


def columns_of(text):
    return pd.read_csv(io.StringIO(text))


def test_the_file_holds_the_estimator_that_knows_its_table(saved, mixed):
    model = load(saved)
    assert type(model).__name__ == "NablassoRegressor"
    assert list(model.feature_names_in_) == [name for name in mixed if name != "y"]
    notes = persistence.read_stamp(saved)["notes"]
    assert (notes["target"], notes["source"]) == ("y", "table.csv")


def test_rows_are_predicted_by_the_names_of_their_columns(run, saved, mixed, write):
    new = mixed.head(6)
    encoded = Saved.read(saved).rows(new.astype(object))
    expected = load(saved).predict(encoded)
    shuffled = new[list(new)[::-1]].drop(columns="y").assign(extra="never looked at")
    for sep in (",", ";"):
        path = write(shuffled.to_csv(index=False, sep=sep), "new.csv")
        outcome = run("predict", saved, path)
        assert (outcome.code, outcome.err) == (0, "")
        found = columns_of(outcome.out)
        assert list(found) == ["predicted_y"]
        np.testing.assert_allclose(found["predicted_y"], expected, rtol=1e-12)


def test_predictions_go_to_a_file_or_are_json(run, saved, mixed, write, tmp_path):
    path = write(mixed.head(3).to_csv(index=False), "new.csv")
    out = tmp_path / "out.csv"
    outcome = run("predict", saved, path, "--out", out)
    assert (outcome.code, outcome.out) == (0, "")
    content = json.loads(run("predict", saved, path, "--json").out)
    assert content["n_rows"] == 3
    np.testing.assert_allclose(
        columns_of(out.read_text())["predicted_y"], content["predictions"]["predicted_y"]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drop": ["curved", "city"]}, "columns are absent: curved, city"),
        (
            {"set": ("curved", "much")},
            "curved must hold numbers under 1e+100, as in the fit; 4 of 4",
        ),
        ({"set": ("curved", np.inf)}, 'rows do not, such as "inf". Repair these cells.'),
        ({"set": ("curved", 1e101)}, 'rows do not, such as "1e+101". Repair these cells.'),
    ],
)
def test_rows_that_do_not_fit_are_refused(run, saved, mixed, write, change, message):
    new = mixed.head(4).drop(columns=change.get("drop", []))
    if "set" in change:
        name, value = change["set"]
        new = new.assign(**{name: value})
    outcome = run("predict", saved, write(new.to_csv(index=False), "new.csv"))
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.message


def test_levels_and_gaps_that_the_fit_has_not_seen_are_predicted_with_a_note(
    run, saved, mixed, write
):
    new = mixed.head(3).astype(object)
    new.loc[1, "city"] = None
    new.loc[2, "city"] = "Bonn"
    outcome = run("predict", saved, write(new.to_csv(index=False), "new.csv"))
    assert outcome.code == 0
    assert np.isfinite(columns_of(outcome.out)["predicted_y"]).all()
    assert "city is missing in 1 rows" in outcome.message
    assert "city is Bonn in 1 rows" in outcome.message


def test_the_command_the_library_and_a_saved_model_agree(run, csv, mixed, write, tmp_path):
    mixed.loc[:3, "idle"], mixed.loc[5:8, "city"] = np.nan, None
    mixed["when"] = pd.date_range("2024-01-01", periods=len(mixed), freq="31h").astype(str)
    mixed.to_csv(csv, index=False)
    path = tmp_path / "model.skops"
    outcome = run("select", csv, "--target", "y", *QUICK, "--save", path, "--json")
    told = json.loads(outcome.out)
    ours = NablassoRegressor("polynomial").fit(pd.read_csv(csv, dtype=str), "y")
    theirs = load(path)
    for model in (ours, theirs):
        assert {c["name"] for c in told["selected"]} == set(model.get_feature_names_out())
    np.testing.assert_array_equal(ours.feature_importances_, theirs.feature_importances_)
    assert ours.answer_ == theirs.answer_
    new = mixed.head(9).drop(columns="y")
    new.loc[0, "city"] = "Bonn"
    file = write(new.to_csv(index=False), "new.csv")
    printed = columns_of(run("predict", path, file).out)["predicted_y"]
    with pytest.warns(UnseenValuesWarning, match="city is Bonn"):
        expected = ours.predict(new)
    with pytest.warns(UnseenValuesWarning, match="city is Bonn"):
        np.testing.assert_array_equal(theirs.predict(new), expected)
    np.testing.assert_allclose(printed, expected, rtol=1e-12)


def test_classes_come_with_probabilities(run, csv, table, tmp_path):
    table["y"] = np.where(table["y"] > 1, "up", "down")
    table.to_csv(csv, index=False)
    path = tmp_path / "model.skops"
    assert run("select", csv, "--target", "y", "--kernel", "linear", "--save", path).code == 0
    found = columns_of(run("predict", path, csv).out)
    assert list(found) == ["predicted_y", "probability_down", "probability_up"]
    likelier = np.where(found["probability_up"] > 0.5, "up", "down")
    assert (found["predicted_y"] == likelier).all()
    assert "This model has no intervals" in run("predict", path, csv, "--interval", "0.9").message
    outcome = run("explain", path, csv, "straight", "--class", "down")
    assert "On average the probability of down" in outcome.out


def test_intervals_of_the_automatic_method(run, csv, table, tmp_path):
    path = tmp_path / "model.skops"
    options = ("--kernel", "polynomial", "--cv", "3", "--save", path)
    assert run("select", csv, "--target", "y", *options).code == 0
    found = columns_of(run("predict", path, csv, "--interval", "0.9").out)
    values, ends = load(path).predict(table.drop(columns="y"), return_interval=0.9)
    np.testing.assert_allclose(found, np.column_stack([values, ends]))
    assert list(found) == ["predicted_y", "lower_0.9", "upper_0.9"]
    assert "between 0 and 1" in run("predict", path, csv, "--interval", "90").message


def test_models_saved_from_python_are_predicted_too(run, csv, table, tmp_path):
    path = tmp_path / "model.skops"
    X = table.drop(columns="y")
    model = DerivativeLassoCV(Polynomial(2), alphas=2, cv=2).fit(X, table["y"])
    save(model, path)
    np.testing.assert_allclose(
        columns_of(run("predict", path, csv).out)["predicted_y"], model.predict(X)
    )
    save(PSDDensity(rank=20).fit(X[["curved"]]), path)
    found = columns_of(run("predict", path, csv).out)
    np.testing.assert_allclose(found["log_density"], load(path).score_samples(X[["curved"]]))
    assert "there is no prediction to explain" in run("explain", path, csv, "curved").message
    save(PSDDensity(rank=20).fit(X[["curved"]].to_numpy()), path)
    assert "a model without column names" in run("predict", path, csv).message


def test_other_files_are_no_models(run, csv, tmp_path):
    for path in (csv, tmp_path, tmp_path / "absent.skops"):
        outcome = run("predict", path, csv)
        assert (outcome.code, outcome.out) == (1, "")
        assert len(outcome.err.splitlines()) == 1


def test_a_model_of_another_version_is_said_to_be_one(run, saved, mixed, write, monkeypatch):
    monkeypatch.setattr("nablasso.persistence.__version__", "9.9.9")
    outcome = run("predict", saved, write(mixed.to_csv(index=False), "new.csv"))
    assert outcome.code == 0
    assert f"was saved by nablasso {VERSION}; this is 9.9.9" in outcome.message


@pytest.mark.parametrize("option", ["--save", "--report"])
def test_a_place_that_cannot_be_written_is_refused_before_the_fit(
    run, csv, calls, tmp_path, option
):
    outcome = run("select", csv, "--target", "y", option, tmp_path / "absent" / "file")
    assert (outcome.code, calls) == (1, [])
    assert "cannot be written: its folder does not exist" in outcome.message
    assert "is a folder" in run("select", csv, "--target", "y", option, tmp_path).message


def test_an_interrupted_fit_leaves_no_file(run, csv, calls, tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("old")
    outcome = run("select", csv, "--target", "y", "--save", path, "--report", tmp_path / "r.html")
    assert outcome.code == 130
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.skops", "table.csv"]


def test_no_file_is_written_over_one_that_is_read_or_written(run, csv, saved, calls, tmp_path):
    table, model, both = csv.read_bytes(), saved.read_bytes(), tmp_path / "both"
    for arguments in (
        ("select", csv, "--target", "y", "--save", csv),
        ("select", csv, "--target", "y", "--report", csv.parent / "." / csv.name),
        ("predict", saved, csv, "--out", csv),
        ("predict", saved, csv, "--out", saved),
    ):
        outcome = run(*arguments)
        assert outcome.code == 1
        assert "cannot be written: it is read by this command" in outcome.message
    outcome = run("select", csv, "--target", "y", "--save", both, "--report", both)
    assert "is to hold another result" in outcome.message
    assert (csv.read_bytes(), saved.read_bytes(), calls) == (table, model, [])
    assert not both.exists()


def test_ctrl_c_while_writing_tells_the_answer(run, csv, monkeypatch, tmp_path):
    from nablasso.cli import commands

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "save_model", stopped)
    outcome = run("select", csv, "--target", "y", *QUICK, "--save", tmp_path / "model.skops")
    assert outcome.code == 130
    assert outcome.err.startswith("nablasso: interrupted while writing;")
    assert outcome.out.startswith("2 of 4 columns matter for y")


def forged(path, change):
    """The same archive with another stamp."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    stamp = json.loads(parts[persistence.STAMP])
    change(stamp)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, json.dumps(stamp) if name == persistence.STAMP else content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stamp: stamp.update(versions=[1]), "or is damaged"),
        (lambda stamp: stamp.update(format=99), "Install a newer nablasso"),
    ],
)
def test_a_forged_stamp_is_refused(run, saved, csv, change, message):
    forged(saved, change)
    outcome = run("predict", saved, csv)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.message


def test_what_predicts_nothing_is_no_model(run, csv, tmp_path):
    path = tmp_path / "scaler.skops"
    save(StandardScaler().fit(pd.read_csv(csv)), path)
    outcome = run("predict", path, csv)
    assert outcome.code == 1
    assert "holds a StandardScaler, which predicts nothing" in outcome.message


def test_notes_of_the_writer_do_not_matter(run, csv, table, tmp_path):
    path, X = tmp_path / "mine.skops", table[["curved", "straight"]]
    model = LinearRegression().fit(X, table["y"])
    save(model, path, notes={"author": "me"})
    outcome = run("predict", path, csv)
    np.testing.assert_allclose(columns_of(outcome.out)["predicted_y"], model.predict(X))


def test_an_answer_is_told_even_if_its_files_fail(run, csv, monkeypatch, tmp_path):
    from nablasso.cli import commands

    def full(*_, **__):
        raise OSError(28, "No space left on device", "model.skops")

    monkeypatch.setattr(commands, "save_model", full)
    outcome = run("select", csv, "--target", "y", *QUICK, "--save", tmp_path / "model.skops")
    assert outcome.code == 1
    assert outcome.err == "nablasso: No space left on device (model.skops).\n"
    assert outcome.out.startswith("2 of 4 columns matter for y")


def test_a_fault_of_ours_is_one_line_and_3(run, csv, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(NablassoRegressor, "fit", broken)
    outcome = run("select", csv, "--target", "y", *QUICK)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(
        "nablasso: a fault of nablasso, ZeroDivisionError: by zero. Please"
    )
    assert len(outcome.err.splitlines()) == 1
    monkeypatch.setenv("NABLASSO_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        nablasso.cli.main(["select", str(csv), "--target", "y", *QUICK])


def test_explain_a_column_a_category_and_a_pair(run, saved, csv, tmp_path):
    out = tmp_path / "plot.png"
    outcome = run("explain", saved, csv, "straight", "--out", out)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("On average the predicted y rises with straight, between ")
    assert "straight Prediction 90% sure Slope" in " ".join(outcome.out.split())
    assert out.read_bytes().startswith(b"\x89PNG")
    text = run("explain", saved, csv, "city").out
    assert text.startswith("On average the predicted y is highest for city = Rome (")
    assert "city Prediction" in " ".join(text.split())
    content = json.loads(run("explain", saved, csv, "curved", "straight", "--json").out)
    assert content["names"] == ["curved", "straight"]
    assert 0 <= content["strength"] <= 1
    assert np.shape(content["mean"]) == (len(content["grid_a"]), len(content["grid_b"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["citi"], "Column 'citi' is not a column. Did you mean 'city'?"),
        (["city", "idle"], "'city' has 3 levels. Look at it alone."),
        (["idle", "idle"], "two different columns"),
        (["curved", "idle", "other"], "one column or two; got 3"),
        (["idle", "--out", "plot.bmp"], "A plot is written as .png, .svg, .pdf; got 'plot.bmp'"),
        (["curved", "--class", "up"], "class"),
    ],
)
def test_what_cannot_be_explained(run, saved, csv, arguments, message):
    outcome = run("explain", saved, csv, *arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.message


def test_library_command_and_saved_model_say_the_same_of_every_kind_of_column(run, tmp_path):
    """A tenth of the cells missing; then a level that no row of the fit had."""
    pytest.importorskip("pyarrow")
    X, y = every_kind(n=160)
    X.assign(price=y).to_parquet(tmp_path / "table.parquet")
    path, data = tmp_path / "model.skops", tmp_path / "table.parquet"
    told = run("select", data, "--target", "price", "--kernel", "linear", "--save", path, "--json")
    content = json.loads(told.out)
    library, loaded = NablassoRegressor("linear").fit(X.assign(price=y), "price"), load(path)
    assert [c["name"] for c in content["selected"]] == [c.name for c in library.answer_.selected]
    for key in ("share", "low", "high", "slope", "evidence"):
        own = [getattr(column, key) for column in library.answer_.selected]
        assert [c[key] for c in content["selected"]] == own
        assert [getattr(column, key) for column in loaded.answer_.selected] == own
    new = X.head(5).assign(species=["Martian", "Gentoo", None, "Adelie", "Gentoo"])
    new.to_parquet(tmp_path / "new.parquet")
    with pytest.warns(UserWarning, match="species is Martian in 1 rows"):
        values = library.predict(new)
    with pytest.warns(UserWarning, match="species is Martian in 1 rows"):
        np.testing.assert_array_equal(loaded.predict(new), values)
    outcome = run("predict", path, tmp_path / "new.parquet")
    assert "species is Martian in 1 rows" in outcome.message
    found = columns_of(outcome.out)
    np.testing.assert_allclose(found["predicted_price"], values, rtol=1e-12)
