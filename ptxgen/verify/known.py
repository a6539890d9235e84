"""Which opcodes have a contract, and which mnemonics the ISA has besides."""

from __future__ import annotations

from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.registry import lookup, mnemonics

__all__ = ["is_known", "is_of_the_isa"]

# ISA chapter 9, and the forms that moved to the appendix of removed ones; those that have contracts need not stand here.
_ISA = frozenset({
    "alloca", "applypriority", "atom", "brkpt", "clusterlaunchcontrol", "discard",
    "istypep", "multimem", "nanosleep", "pmevent", "prefetch", "prefetchu", "red",
    "stackrestore", "stacksave", "suld", "suq", "sured", "sust", "tensormap", "tex", "tld4", "trap",
    "txq", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2",
    "vmax4", "vmin", "vmin2", "vmin4", "vset", "vset2", "vset4", "vshl", "vshr", "vsub", "vsub2", "vsub4", "wmma",
})  # fmt: skip

_OTHER_FAMILIES = {"st": (".async", ".bulk"), "cvt": (".pack",)}
"""Instructions that share their first word with one that has a contract: by their second."""


def is_of_the_isa(mnemonic: str) -> bool:
    """Whether PTX has instructions that begin with this word."""
    return mnemonic in _ISA or mnemonic in mnemonics()


def is_known(opcode: str) -> bool:
    """Whether an opcode can be held against a contract, be it legal or not."""
    head, _, rest = opcode.partition(".")
    if head not in mnemonics():
        return False
    if f".{rest}".startswith(_OTHER_FAMILIES.get(head, ("..",))):
        try:
            lookup(opcode)
        except InstructionError:
            return False
    return True
