"""Files are written whole or not at all."""

import os

import pytest

from nablasso.exceptions import InvalidParameterError
from nablasso.whole_file import check_place, written_whole


def test_the_new_file_takes_the_place_of_the_old_at_the_end(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with written_whole(path) as place:
        place.write_text("new")
        assert (place.suffix, path.read_text()) == (".txt", "old")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ZeroDivisionError])
def test_half_a_file_never_takes_the_place_of_the_old(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write():
        with written_whole(path) as place:
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
