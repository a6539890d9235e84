"""The guides are run as they stand: their Python in the emulator, and what they show must be what it prints.

The ``python`` blocks of a file are one program, run from a copy in which every block keeps its line numbers, so that a failure names
the guide's own line. A ``text`` or ``ptx`` block holds lines that the program prints, in this order and next to each other; ``...`` on a
line of its own leaves some out.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from ptxgen.assemble import assemble
from ptxgen.cli import main
from ptxgen.kernels.specialization import Specialization

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = [path for path in GUIDES if "```python\nimport" in path.read_text(encoding="utf-8")]


def blocks(path, *languages):
    """The fenced blocks in these languages: (line number of the first line, lines)."""
    found, current = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if current is not None and current[0] in languages:
                found.append(current[1:])
            current = [line[3:].strip(), number + 1, []] if current is None else None
        elif current is not None:
            current[2].append(line)
    return found


def program(path):
    """The Python of a guide, each block at the line at which it stands in the guide."""
    lines = []
    for start, block in blocks(path, "python"):
        lines += [""] * (start - 1 - len(lines)) + block
    return "\n".join(lines) + "\n"


@pytest.fixture(params=RUN, ids=lambda path: path.name)
def guide(request):
    return request.param


def run(path, folder, monkeypatch):
    """Run a guide in an empty folder; the specialisations that it made."""
    made = []
    original = Specialization.__init__

    def recording(self, *args, **named):
        original(self, *args, **named)
        made.append(self)

    monkeypatch.setattr(Specialization, "__init__", recording)
    monkeypatch.chdir(folder)
    source = folder / f"{path.stem.lower()}.py"
    source.write_text(program(path), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"guide_{path.stem.lower()}", source)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return made


def comparable(lines):
    """Lines without what an edit of the guide or another run changes: indents, a file's name and line, addresses on the host."""
    words = (" ".join(line.split()) for line in lines)
    return [re.sub(r"\b\w+\.py:\d+", "FILE", re.sub(r"0x7f[0-9a-f]{10}", "ADDRESS", line)) for line in words if line]


def position(printed, wanted, start):
    """Where `wanted` stands in `printed` at or behind `start`, as consecutive lines; None if nowhere."""
    return next((at for at in range(start, len(printed) - len(wanted) + 1) if printed[at : at + len(wanted)] == wanted), None)


def pieces(block):
    """The parts of a block between its lines of dots."""
    found = [[]]
    for line in block:
        if line.strip() == "...":
            found.append([])
        else:
            found[-1].append(line)
    return [part for part in map(comparable, found) if part]


def test_guide_runs_shows_what_it_prints_and_is_assembled(guide, tmp_path, monkeypatch, capsys):
    made = run(guide, tmp_path, monkeypatch)
    printed = comparable(capsys.readouterr().out.splitlines())
    for number, block in blocks(guide, "text", "ptx"):
        at = 0
        for piece in pieces(block):
            found = position(printed, piece, at)
            assert found is not None, f"{guide.name}:{number} shows what its Python does not print:\n" + "\n".join(piece)
            at = found + len(piece)
    assert made or "@px.kernel" not in guide.read_text(encoding="utf-8"), f"{guide.name} defines no kernel"
    for one in made:
        assert one.name in assemble(one.ptx()).resources


def test_commands_of_the_readme_succeed(tmp_path, monkeypatch, capsys):
    run(ROOT / "README.md", tmp_path, monkeypatch)
    (tmp_path / "readme.py").rename("mykernels.py")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = [line for _, block in blocks(ROOT / "README.md", "sh") for line in block]
    assert lines
    for line in lines:
        command, *arguments = shlex.split(line, comments=True)
        assert command == "ptxgen"
        assert main(arguments) == 0, f"{line}\n{capsys.readouterr()}"


def test_every_guide_is_listed_and_every_link_leads_somewhere():
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in GUIDES:
        assert path.parent == ROOT or path.name == "README.md" or f"]({path.name})" in listed, f"docs/README.md does not list {path.name}"
        prose = re.sub(r"(?s)```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
            assert "://" in target or (path.parent / target).exists(), f"{path.name} links to {target}"
