"""The lints: what each says, where the ISA says so, and what it may be wrong about."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LINTS", "Lint"]


class Lint(NamedTuple):
    """One kind of finding.

    Attributes
    ----------
    id : str
        Stable; what filters and switches take.
    severity : str
        ``"error"``: wrong whenever the instruction is executed. ``"warning"``: wrong on some path, or almost certainly. ``"note"``:
        worth knowing.
    rule : str
        One sentence.
    section : str
        Of the ISA; where it is empty, that of the instruction.
    story : str
        When it speaks without need, and what to do then.
    """

    id: str
    severity: str
    rule: str
    section: str
    story: str


_ALL = (
    Lint(
        "misaligned", "warning", "an address is a multiple of the size of the access", "6.4.1",
        "Pointers in parameters without .ptr .align are taken to be multiples of 16 bytes; a caller that passes others on purpose is not "
        "expected. State the alignment there, or switch it off.",
    ),
    Lint(
        "address-space", "warning", "an address within a state space is not the generic address of the same byte", "6.4.1",
        "None is known: addresses are followed through moves, sums and cvta only.",
    ),
    Lint(
        "operand-range", "error", "an operand's value is one that the instruction takes", "",
        "The register is a constant on every path. Code that is never reached may hold one that is out of range.",
    ),
    Lint(
        "membermask", "error", "a mask names lanes that the warp has, the executing one among them", "",
        "Lanes count as executing where branches on the thread index alone decide, with .reqntid given. A launch of fewer threads than "
        ".reqntid states is refused by the driver.",
    ),
    Lint(
        "fragment-register", "warning", "the registers of a fragment hold different elements", "",
        "A fragment of one value, or one in which every register stands equally often, is taken to be meant, and so is a register that "
        "holds a constant. Rows that repeat unevenly on purpose need the switch.",
    ),
    Lint(
        "unwritten-register", "warning", "a register is written before it is read", "5.1",
        "Guards and branches on one predicate register are held against each other. Where two or more decisions must go wrong together, as "
        "in the remainder of an unrolled loop, or a loop must not run, it is a note: arithmetic may exclude what no predicate shows. It is "
        "a note, too, where the register is copied only, as compilers do with registers whose copy nobody needs.",
    ),
    Lint(
        "register-in-flight", "warning", "a register that an instruction still works on is left alone until its wait", "",
        "Waits behind a guard count as waits, and so do calls.",
    ),
    Lint(
        "unfenced-register", "warning", "registers that products read are written in front of a fence that orders them", "",
        "None is known. Products that find their accumulators as the ones before left them need no fence.",
    ),
    Lint(
        "wait-before-commit", "warning", "a wait for groups comes behind the commit that closes one", "",
        "A function that another one calls may wait for its caller's groups; only entries are looked at, and calls may commit.",
    ),
    Lint(
        "uninitialised-mbarrier", "warning", "an mbarrier is initialised before it is used", "9.7.15.16.12",
        "Only barriers in the entry's own shared memory are looked at; an init whose address is not known may be theirs, and so may one in "
        "a function that is called.",
    ),
    Lint(
        "not-given-back", "warning", "a kernel gives back what it has allocated before it ends", "",
        "Whether each path gives it back is not looked at; a function that is called may.",
    ),
    Lint(
        "fused-product", "note", "without .rnd a product and the sum that takes it may be rounded once", "9.7.3.5",
        "Says what an assembler may do, not that it is wrong: fma is faster and more exact, and differs from two roundings. One note a "
        "function.",
    ),
)  # fmt: skip

LINTS: dict[str, Lint] = {one.id: one for one in _ALL}
"""By id, in the order of the reference page."""
