"""Compile the CUDA C++ sources in ``cuda`` to the PTX in ``ptx`` that the tests read::

    pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-nvvm nvidia-cuda-cccl
    python tests/foreign/regenerate.py [NAME ...]

Needs g++ as well. What is checked in was made by nvcc 13.5 (V13.5.37) with the headers of nvidia-cuda-cccl 13.3.5.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
ONLY = {
    "clusters": TARGETS[1:],
    "tensors": TARGETS[1:],
    "hopper": ("sm_90a",),
    "blackwell": ("sm_100a",),
}
"""Sources that not every target compiles."""

OPTIONS = {
    "debug": ("-G",),
    "lineinfo": ("-lineinfo",),
    "linked": ("-rdc=true",),
    "switches": ("-Xcicc", "-jump-table-density=10"),  # left alone, nvcc prefers chains of comparisons
}


def outputs(names: set[str] | None = None) -> list[tuple[str, str]]:
    """(source, target) of every text, by name."""
    stems = sorted(path.stem for path in (HERE / "cuda").glob("*.cu"))
    return [(stem, target) for stem in stems if not names or stem in names for target in ONLY.get(stem, TARGETS)]


def path_of(source: str, target: str) -> Path:
    return HERE / "ptx" / f"{source}.{target}.ptx"


def _compiler() -> tuple[Path, list[str]]:
    """nvcc and the options that tell it where the packages put its headers."""
    roots = [Path(entry) / "nvidia" / "cu13" for entry in sys.path]
    compiler = next((root / "bin" / "nvcc" for root in roots if (root / "bin" / "nvcc").exists()), None)
    if compiler is None:
        raise SystemExit("nvcc is not installed: pip install nvidia-cuda-nvcc")
    includes = [root / "include" for root in roots] + [root / "include" / "cccl" for root in roots]
    return compiler, [f"-I{folder}" for folder in includes if folder.exists()]


def main() -> None:
    compiler, includes = _compiler()
    (HERE / "ptx").mkdir(exist_ok=True)
    # Debug data names the folder of the sources: one that every machine has.
    folder = Path(tempfile.gettempdir()) / "cuda"
    shutil.copytree(HERE / "cuda", folder, dirs_exist_ok=True)
    for source, target in outputs(set(sys.argv[1:])):
        options = [*OPTIONS.get(source, ()), "-std=c++17", f"-arch={target}", "-ptx", "-o", str(path_of(source, target))]
        subprocess.run([str(compiler), *includes, *options, f"{source}.cu"], cwd=folder, check=True)
        print(f"{source} for {target}")


if __name__ == "__main__":
    main()
