"""Real tables: from a folder with a checksum, else from OpenML, else an error that helps."""

import gzip
import hashlib
import os
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from experiments import real_tables
from experiments.real_tables import CATALOGUE, Facts
from nablasso.errors import DataUnavailableError, InvalidDataError, InvalidParameterError

DATA = Path(os.environ.get("NABLASSO_DATA", Path(__file__).parents[3] / "shared" / "data"))
TEXT = b"a,b,split,target\n1,2,train,3\n4,,test,6\n7,8,train,9\n"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A table of three rows in a folder of its own."""
    content = gzip.compress(TEXT)
    y = np.array([3.0, 6.0, 9.0])
    facts = Facts("small", "three rows", 3, 2, (y.mean(), y.std()), 7, _digest(content))
    monkeypatch.setitem(CATALOGUE, "small", facts)
    monkeypatch.setenv("NABLASSO_DATA", str(tmp_path))
    file = tmp_path / "small.csv.gz"
    file.write_bytes(content)
    return file


def _digest(content):
    return hashlib.sha256(content).hexdigest()


def _openml(X, y):
    bunch = SimpleNamespace(data=X, target=y, feature_names=["a", "b"])
    return lambda **_: bunch


def _no_network(**_):
    raise URLError("no network")


def test_a_file_is_read_without_network(small, monkeypatch):
    monkeypatch.setattr(real_tables, "fetch_openml", _no_network)
    table = real_tables.load_table("small")
    np.testing.assert_array_equal(table.X, [[1, 2], [4, np.nan], [7, 8]])
    np.testing.assert_array_equal(table.y, [3, 6, 9])
    np.testing.assert_array_equal(table.train, [True, False, True])
    assert table.feature_names == ("a", "b")
    assert table.source == str(small)


def test_a_changed_file_is_refused(small):
    small.write_bytes(gzip.compress(TEXT.replace(b"9", b"8")))
    with pytest.raises(InvalidDataError, match="SHA-256"):
        real_tables.load_table("small")


def test_a_file_that_is_not_gzip_is_refused(small, monkeypatch):
    small.write_bytes(TEXT)
    monkeypatch.setitem(CATALOGUE, "small", CATALOGUE["small"]._replace(digest=_digest(TEXT)))
    with pytest.raises(InvalidDataError, match="gzip"):
        real_tables.load_table("small")


def test_openml_serves_what_the_folder_lacks(small, monkeypatch):
    small.unlink()
    X = np.arange(6.0).reshape(3, 2)
    monkeypatch.setattr(real_tables, "fetch_openml", _openml(X, np.array([3.0, 6.0, 9.0])))
    table = real_tables.load_table("small")
    np.testing.assert_array_equal(table.X, X)
    assert table.source == "OpenML 7"


@pytest.mark.parametrize(
    ("shape", "y", "said"),
    [((4, 2), [3.0, 6, 9, 3], "4 rows"), ((3, 2), [3.0, 6, 10], "deviation")],
)
def test_another_table_of_openml_is_refused(small, monkeypatch, shape, y, said):
    small.unlink()
    monkeypatch.setattr(real_tables, "fetch_openml", _openml(np.ones(shape), np.array(y)))
    with pytest.raises(InvalidDataError, match=said):
        real_tables.load_table("small")


def test_without_folder_and_network_the_error_says_where_to_put_the_file(small, monkeypatch):
    small.unlink()
    monkeypatch.setattr(real_tables, "fetch_openml", _no_network)
    with pytest.raises(DataUnavailableError, match=r"Put small\.csv\.gz .* NABLASSO_DATA"):
        real_tables.load_table("small")
    monkeypatch.setitem(CATALOGUE, "small", CATALOGUE["small"]._replace(openml=None))
    with pytest.raises(DataUnavailableError, match="no equal copy"):
        real_tables.load_table("small")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidParameterError, match="must be one of airfoil"):
        real_tables.load_table("house")


@pytest.mark.parametrize("name", ["boston", "leukemia", "segment", "wpbc_time"])
def test_real_files_are_as_the_catalogue_says(name, monkeypatch):
    if not (DATA / f"{name}.csv.gz").exists():
        pytest.skip(f"no {name}.csv.gz in the folder of NABLASSO_DATA")
    monkeypatch.setenv("NABLASSO_DATA", str(DATA))
    table, facts = real_tables.load_table(name), CATALOGUE[name]
    assert table.X.shape == (facts.n_samples, facts.n_features)
    assert len(table.feature_names) == facts.n_features
    if facts.moments is not None:
        np.testing.assert_allclose([table.y.mean(), table.y.std()], facts.moments, rtol=1e-5)
    assert (table.train is not None) == (name == "leukemia")
