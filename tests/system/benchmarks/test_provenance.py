"""What is kept next to rows."""

import json

from benchmarks.provenance import record_run


def test_paths_of_one_machine_are_not_kept(tmp_path):
    out = tmp_path / "rows.csv"
    record_run(out, ["--out", str(out), "--jobs", "2"])
    (line,) = out.with_suffix(".runs.jsonl").read_text().splitlines()
    kept = json.loads(line)
    assert kept["arguments"] == ["--out", "rows.csv", "--jobs", "2"]
    assert {"nablasso", "numpy", "date"} <= set(kept)
