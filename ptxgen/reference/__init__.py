"""What is made from the contracts and checked in: the pages in docs/instructions/ and the stubs of `px` and `px.ptx`."""

from __future__ import annotations

from pathlib import Path

from ptxgen.instructions.registry import FAMILIES
from ptxgen.reference.names import names
from ptxgen.reference.pages import index, page
from ptxgen.reference.stubs import digest, stub

__all__ = ["digest", "index", "names", "page", "stub", "write"]


def write(root: Path) -> list[Path]:
    """Write all of it into a checkout, remove pages of families that are gone, and return what changed."""
    folder = root / "docs" / "instructions"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {folder / "README.md": index(), root / "ptxgen" / "__init__.pyi": names()}
    wanted[root / "ptxgen" / "opcodes.pyi"] = stub()
    wanted.update({folder / f"{family}.md": page(family) for family in FAMILIES})
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(wanted[path], encoding="utf-8")
    gone = [path for path in folder.glob("*.md") if path not in wanted]
    for path in gone:
        path.unlink()
    return [*changed, *gone]
