"""Build the distributions, look inside, and run the README's lines in an environment of their own.

``make wheel`` calls it; with the name of a tag (``make wheel TAG=v0.2.0``) also the version and the
changelog must say so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
NEEDED = ("nablasso/py.typed", "nablasso/report/templates/report.html")


def build() -> Path:
    """The wheel, after twine found nothing to say about it and the source distribution."""
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)  # setuptools would pack what is left in it
    python = [sys.executable, "-m"]
    with tempfile.TemporaryFile() as log:
        done = subprocess.run([*python, "build", ROOT], stdout=log, stderr=subprocess.STDOUT)
        if done.returncode:
            log.seek(0)
            sys.exit(log.read().decode() + "python -m build failed")
    subprocess.run([*python, "twine", "check", "--strict", *DIST.iterdir()], check=True)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def check_names(wheel: Path) -> None:
    """The package and its description, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    strange = [name for name in names if not re.match(r"nablasso(-[\w.]+\.dist-info)?/", name)]
    strange += [name for name in names if re.search(r"(^|/)(tests?|experiments|benchmarks)/", name)]
    missing = [name for name in NEEDED if name not in names]
    if strange or missing:
        sys.exit(
            f"{wheel.name} must hold the package alone; also there: {strange[:5]}, not: {missing}"
        )


def check_tag(wheel: Path, tag: str) -> None:
    """The tag is the version, and the changelog dates it."""
    version = wheel.name.split("-")[1]
    if tag != f"v{version}":
        sys.exit(
            f"the tag of version {version} is v{version}, got {tag}: change __version__ or tag"
        )
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        sys.exit(f"CHANGELOG.md must begin with '## [{version}] - YYYY-MM-DD'; write the date")


def run_readme(wheel: Path) -> None:
    """Install the wheel where nothing else is, and run the first Python block of the README."""
    readme = (ROOT / "README.md").read_text("utf-8")
    code, shown = (
        re.search(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[1]
        for language in ("python", "text")
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--quiet", wheel], check=True)
        done = subprocess.run(
            [python, "-c", code], cwd=folder, check=True, capture_output=True, text=True
        )
        told = subprocess.run(
            [python, "-m", "nablasso"], cwd=folder, capture_output=True, text=True
        )
    expected, found = (" ".join(text.split())[:40] for text in (shown, done.stdout))
    if expected != found:
        sys.exit(f"the README's lines must print {expected!r}, got {found!r}")
    if told.returncode != 1 or 'pip install "nablasso[cli]"' not in told.stderr:
        sys.exit(f"without its extra the command must say what to install, got {told.stderr}")


if __name__ == "__main__":
    wheel = build()
    check_names(wheel)
    if sys.argv[1:]:
        check_tag(wheel, sys.argv[1])
    run_readme(wheel)
    print(f"{wheel.relative_to(ROOT)} holds the package alone and runs the README's lines")
