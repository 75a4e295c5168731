"""Every Python example of the README and the guides runs, in order, as a reader would type it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIALS = ROOT / "docs/tutorials"  # test_tutorials.py runs them, with their shell commands
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent != TUTORIALS)]
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if EXAMPLE.search(page.read_text())]


def test_the_readme_and_the_guides_have_examples() -> None:
    assert ROOT / "README.md" in WITH_EXAMPLES
    assert ROOT / "docs/guides/calibrate.md" in WITH_EXAMPLES


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, code in enumerate(EXAMPLE.findall(page.read_text())):
        exec(compile(code, f"{page.name}, example {number + 1}", "exec"), names)
