"""Saved models: the same after a round trip, refused where they are not safe."""

from __future__ import annotations

import json
import os
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nablasso
from nablasso import (
    DerivativeLasso,
    DerivativeLassoCV,
    HierarchicalKernelRegressor,
    load,
    persistence,
    save,
)
from nablasso.errors import (
    InvalidParameterError,
    MissingExtraError,
    ModelFileError,
    VersionMismatchWarning,
)
from nablasso.kernels import Gaussian
from nablasso.persistence import Pairs, atomic_write, check_place, pack_keys, rebuilt, unpack_keys
from tests.estimators.test_scikit_learn import CHEAP_FIT, INSTANCES

METHODS = (
    *("predict", "predict_proba", "decision_function", "transform", "predict_gradient"),
    *("score_samples", "density", "get_support", "summary"),
)


class Narrow(Gaussian):
    """A kernel of a user's own."""


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    return X, np.abs(X[:, 0] + X[:, 1] ** 2) + 0.1, np.where(X[:, 0] > 0, "up", "down")


def fitted(model):
    X, y, labels = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, labels if is_classifier(model) else y)


@pytest.fixture
def model():
    return fitted(DerivativeLasso(**CHEAP_FIT))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def rewritten_stamp(path, **changes):
    """The same archive with another stamp."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    stamp = json.loads(parts[persistence.STAMP]) | changes
    parts[persistence.STAMP] = json.dumps(stamp).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("model", INSTANCES, ids=lambda model: type(model).__name__)
def test_every_estimator_is_the_same_after_a_round_trip(model, path):
    model = fitted(model)
    save(model, path)
    other = load(path)
    assert type(other) is type(model)
    assert repr(other) == repr(model)
    X, _, _ = data()
    asked = 0
    for name in METHODS:
        if hasattr(model, name):
            arguments = () if name in ("get_support", "summary") else (X,)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = getattr(model, name)(*arguments)
                theirs = getattr(other, name)(*arguments)
            np.testing.assert_array_equal(theirs, ours)
            asked += 1
    assert asked
    assert vars(other).keys() == vars(model).keys()


def test_names_pipelines_and_splitters_survive(path):
    pandas = pytest.importorskip("pandas")
    X, y, _ = data()
    folds = KFold(2, shuffle=True, random_state=3)
    model = DerivativeLassoCV(alphas=(1e-3,), ridges=(1e-2,), cv=folds, debias=False, tol=1e-2)
    table = pandas.DataFrame(X, columns=["größe", "<b>", "=1+1"])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), model).fit(table, y)
    save(pipeline, path)
    other = load(path)
    assert list(other[-1].feature_names_in_) == ["größe", "<b>", "=1+1"]
    assert repr(other[-1].cv) == repr(folds)
    np.testing.assert_array_equal(other.predict(table), pipeline.predict(table))


def test_a_dictionary_by_node_is_rebuilt_and_the_model_untouched(path):
    model = fitted(next(m for m in INSTANCES if type(m) is HierarchicalKernelRegressor))
    before = model.active_set_
    save(model, path)
    assert model.active_set_ is before
    assert all(isinstance(node, tuple) for node in before)
    assert load(path).active_set_ == before


def test_packing_goes_both_ways_and_copies_only_what_it_changes():
    plain = {"a": [1, (2, 3)], "b": {"c": np.zeros(2)}}
    assert rebuilt(plain, pack_keys) is plain
    nested = {"a": [{(1, 2): {3: "x"}}], "plain": plain}
    text = rebuilt(nested, pack_keys)
    assert text["a"][0] == Pairs([((1, 2), Pairs([(3, "x")]))])
    assert text["plain"] is plain
    assert rebuilt(text, unpack_keys) == nested


def test_packing_survives_a_cycle():
    loop = {"self": None, "by_node": {(1,): 2}}
    loop["self"] = loop
    assert rebuilt(loop, pack_keys)["by_node"] == Pairs([((1,), 2)])


def test_the_stamp_tells_versions_and_notes_without_loading(model, path):
    save(model, path, notes={"target": "y"})
    stamp = persistence.read_stamp(path)
    assert (stamp["format"], stamp["model"]) == (persistence.FORMAT, "DerivativeLasso")
    assert stamp["versions"]["nablasso"] == nablasso.__version__
    assert set(stamp["versions"]) == {"nablasso", "numpy", "scipy", "scikit-learn"}
    assert stamp["notes"] == {"target": "y"}


def test_another_minor_version_warns(model, path):
    save(model, path)
    rewritten_stamp(path, versions={"nablasso": "0.99.1"})
    with pytest.warns(VersionMismatchWarning, match=r"saved by nablasso 0\.99\.1; this is"):
        load(path)
    patch = ".".join([*nablasso.__version__.split(".")[:2], "99"])
    rewritten_stamp(path, versions={"nablasso": patch})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)


def test_a_newer_format_is_refused(model, path):
    save(model, path)
    rewritten_stamp(path, format=persistence.FORMAT + 1)
    with pytest.raises(ModelFileError, match=r"reads format \d+\. Install a newer"):
        load(path)


def test_an_older_format_is_refused(model, path):
    save(model, path)
    rewritten_stamp(path, format=persistence.FORMAT - 1)
    with pytest.raises(ModelFileError, match=r"reads format \d+\. Fit the model again"):
        load(path)


def test_types_of_others_are_refused_by_name_until_trusted(path):
    X, y, _ = data()
    model = DerivativeLasso(Narrow(), **CHEAP_FIT).fit(X, y)
    save(model, path)
    name = f"{Narrow.__module__}.Narrow"
    with pytest.raises(ModelFileError, match="not trusted") as caught:
        load(path)
    assert f"load it with trusted=[{name!r}]" in str(caught.value)
    for trusted in (name, Narrow):
        np.testing.assert_array_equal(load(path, trusted=[trusted]).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("name", "harmless"),
    [
        ("nablasso.estimators.derivative.DerivativeLasso", True),
        ("nablasso.kernels.radial.Gaussian", True),
        ("scipy.sparse._csr.csr_array", True),
        ("sklearn.model_selection._split.KFold", True),
        ("nablasso.hierarchy.grid.Level.features", True),  # a bound method
        ("nablasso.hierarchy.grid.Level.absent", False),
        ("nablasso.hierarchy.grid.Absent.features", False),
        ("nablasso.persistence.load", False),  # a function
        ("nablasso.persistence.Path", False),
        ("nablasso.kernels.radial.np", False),  # imported there
        ("nablasso.estimators.derivative.Kernel", False),  # not defined there
        ("nablasso.kernels.absent.Thing", False),
        ("nablasso.kernels.radial.Absent", False),
        ("nablasso.__main__.main", False),
        ("nablasso.cli.main", False),
        ("nablasso.inspection.function_displays.DensityDisplay", False),  # for people, in no model
        ("nablasso_evil.Thing", False),
        ("builtins.eval", False),
        ("os.system", False),
        ("subprocess.Popen", False),
    ],
)
def test_what_is_harmless(name, harmless):
    assert persistence._is_harmless(name) is harmless


def test_a_forged_file_runs_nothing(path, tmp_path):
    save(Lasso(), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sign = tmp_path / "ran"
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    text |= {"content": json.dumps(f"touch {sign}"), "is_json": True}
    arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    forged = {"__class__": "system", "__module__": "os", "__loader__": "ConstructorFromReduceNode"}
    forged["content"] = arguments | {"content": [text]}
    schema = json.loads(parts["schema.json"])
    parts["schema.json"] = json.dumps(schema | forged).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"not trusted: (os|posix)\.system"):
        load(path)
    assert not sign.exists()


def test_what_the_format_cannot_hold_is_said(path):
    model = DerivativeLasso(kernel=lambda x: x)
    with pytest.raises(InvalidParameterError, match="of your own need pickle"):
        save(model, path)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_half_a_file_is_refused(model, path, share):
    save(model, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="or is damaged"):
        load(path)


def test_damage_inside_is_refused_or_without_effect(model, path):
    """A byte of an archive may be a date; one that belongs to the model is never changed unseen."""
    save(model, path)
    content = bytearray(path.read_bytes())
    X, _, _ = data()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(20):
        damaged = content.copy()
        damaged[rng.integers(len(content) // 2)] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            found = load(path)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(found.predict(X), model.predict(X))
    assert refused > 10


def test_other_files_are_refused(path, tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        load(path)
    with pytest.raises(ModelFileError, match="cannot be read: Is a directory"):
        load(tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelFileError, match="is not a model that nablasso has saved"):
        load(path)


class Interrupting(Ridge):
    def __reduce__(self):
        raise KeyboardInterrupt


def test_an_interrupted_save_leaves_the_old_file(model, path):
    save(model, path)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        save(Interrupting(), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_places_where_nothing_can_be_written(model, tmp_path):
    with pytest.raises(InvalidParameterError, match="is a folder"):
        save(model, tmp_path)
    with pytest.raises(InvalidParameterError, match="cannot be written: its folder does not exist"):
        save(model, tmp_path / "absent" / "model.skops")


def test_a_saved_file_has_the_usual_permissions(model, path):
    save(model, path)
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_without_skops_the_extra_is_named(model, path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    with pytest.raises(MissingExtraError, match=r'pip install "nablasso\[io\]"'):
        save(model, path)


def test_the_new_file_takes_the_place_of_the_old_at_the_end(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with atomic_write(path) as place:
        place.write_text("new")
        assert (place.suffix, path.read_text()) == (".txt", "old")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ZeroDivisionError])
def test_half_a_file_never_takes_the_place_of_the_old(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write():
        with atomic_write(path) as place:
            place.write_text("ne")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_places_are_checked_before_the_work(tmp_path, monkeypatch):
    check_place(tmp_path / "file.txt")
    with pytest.raises(InvalidParameterError, match="is a folder"):
        check_place(tmp_path)
    with pytest.raises(InvalidParameterError, match="its folder does not exist"):
        check_place(tmp_path / "absent" / "file.txt")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InvalidParameterError, match="no permission"):
        check_place(tmp_path / "file.txt")
