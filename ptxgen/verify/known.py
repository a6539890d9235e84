"""Which opcodes have a contract, and which mnemonics the ISA has besides."""

from __future__ import annotations

from ptxgen.instructions.registry import mnemonics

__all__ = ["is_known", "is_of_the_isa"]

# ISA chapter 9, and the forms that moved to the appendix of removed ones; those that have contracts need not stand here.
_ISA = frozenset({
    "alloca", "applypriority", "atom", "brkpt", "clusterlaunchcontrol", "discard",
    "istypep", "multimem", "nanosleep", "pmevent", "prefetch", "prefetchu", "red",
    "stackrestore", "stacksave", "suld", "suq", "sured", "sust", "tensormap", "tex", "tld4", "trap",
    "txq", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2",
    "vmax4", "vmin", "vmin2", "vmin4", "vset", "vset2", "vset4", "vshl", "vshr", "vsub", "vsub2", "vsub4", "wmma",
})  # fmt: skip


def is_of_the_isa(mnemonic: str) -> bool:
    """Whether PTX has instructions that begin with this word."""
    return mnemonic in _ISA or mnemonic in mnemonics()


def is_known(opcode: str) -> bool:
    """Whether an opcode can be held against a contract, be it legal or not."""
    return opcode.partition(".")[0] in mnemonics()
