"""Special registers (ISA chapter 10): what each holds, its type and range, and which versions and targets have it.

They are read by ``mov`` and by ``cvt`` between integers; no other instruction takes one.
"""

from __future__ import annotations

from functools import lru_cache

from ptxgen.instructions.targets import Version, target_set
from ptxgen.instructions.types import Type, type_named
from ptxgen.layouts.errors import PtxgenError

__all__ = ["SPECIAL", "SpecialRegister", "is_special", "special_register"]


class SpecialRegister:
    """One special register.

    Attributes
    ----------
    name : str
        With its ``%``.
    type : Type
        Of the register or, for a vector, of each component.
    components : str
        ``"xyzw"`` for a vector, else empty; ``.w`` is always 0.
    same : str
        Where all threads read the same value: ``""`` (each thread its own), ``"warp"``, ``"cta"``, ``"cluster"``, ``"grid"``, or
        ``"never"`` (it changes from one read to the next).
    high : tuple of int
        Largest value that hardware gives, one for each of x, y and z, or one alone; empty where only the type bounds it.
    below : str
        Name of the special register that the value stays below, component by component; else empty.
    version : (int, int)
        First PTX version.
    targets : frozenset of str
    section : str
        Of the ISA.
    narrow : bool
        Whether a narrower ``mov`` reads it as well: it was a smaller register once.
    directive : str
        Directive that the kernel needs, or empty.
    meaning : str
    """

    __slots__ = (
        "below", "components", "directive", "high", "meaning", "name", "narrow", "same", "section", "targets", "type", "version",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        type: str,
        section: str,
        meaning: str,
        *,
        same: str = "",
        vector: bool = False,
        high: tuple[int, ...] = (),
        below: str = "",
        version: Version = (1, 0),
        targets: str = "all",
        narrow: bool = False,
        directive: str = "",
    ) -> None:
        self.name = name
        self.type: Type = type_named(type)
        self.section = section
        self.meaning = meaning
        self.same = same
        self.components = "xyzw" if vector else ""
        self.high = high
        self.below = below
        self.version = version
        self.targets = target_set(targets)
        self.narrow = narrow
        self.directive = directive

    def values(self, component: str = "") -> range:
        """The values that a read can give: of a component for a vector, of the register itself otherwise.

        The range ends at what the hardware allows; a launch may narrow it (`below`).
        """
        if component == "w":
            return range(1)
        place = "xyz".find(component) if component else 0
        if self.high:
            return range((self.high[place] if place < len(self.high) else self.high[-1]) + 1)
        return range(1 << self.type.bits)

    def __repr__(self) -> str:
        return f"<special register {self.name}>"


_BLOCK = (1024, 1024, 64)
_GRID = (2**31 - 1, 65535, 65535)
_CLUSTER = (16, 16, 16)
_HOPPER: tuple[Version, str] = ((7, 8), "sm_90+")


def _last(count: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number - 1 for number in count)


def _thread_and_grid() -> list[SpecialRegister]:
    return [
        SpecialRegister("%tid", "u32", "10.1", "The thread's place in its block.", vector=True, high=_last(_BLOCK), below="%ntid",
                        narrow=True),
        SpecialRegister("%ntid", "u32", "10.2", "The block's shape in threads.", vector=True, high=_BLOCK, same="grid", narrow=True),
        SpecialRegister("%laneid", "u32", "10.3", "The thread's place in its warp.", high=(31,)),
        SpecialRegister("%warpid", "u32", "10.4", "The warp's number in its block; it may change, so compute it from %tid.",
                        same="warp", high=(31,), below="%nwarpid"),
        SpecialRegister("%nwarpid", "u32", "10.5", "The largest number of warp identifiers.", same="grid", version=(2, 0)),
        SpecialRegister("%ctaid", "u32", "10.6", "The block's place in the grid.", vector=True, same="cta", high=_last(_GRID),
                        below="%nctaid", narrow=True),
        SpecialRegister("%nctaid", "u32", "10.7", "The grid's shape in blocks.", vector=True, same="grid", high=_GRID, narrow=True),
        SpecialRegister("%smid", "u32", "10.8", "The multiprocessor that the thread runs on at this moment.", same="never", below="%nsmid"),
        SpecialRegister("%nsmid", "u32", "10.9", "The largest number of multiprocessor identifiers; not contiguous.", same="grid",
                        version=(2, 0)),
        SpecialRegister("%gridid", "u64", "10.10", "The launch's number in its context.", same="grid", version=(3, 0),
                        narrow=True),
    ]  # fmt: skip


def _clusters() -> list[SpecialRegister]:
    version, targets = _HOPPER

    def made(name: str, type: str, section: str, meaning: str, same: str, vector: bool = False, high: tuple[int, ...] = (),
             below: str = "") -> SpecialRegister:  # fmt: skip
        return SpecialRegister(
            name, type, section, meaning, same=same, vector=vector, high=high, below=below, version=version, targets=targets
        )  # fmt: skip

    return [
        made("%is_explicit_cluster", "pred", "10.11", "Whether the launch named a cluster shape.", "grid"),
        made("%clusterid", "u32", "10.12", "The cluster's place in the grid.", "cluster", True, _last(_GRID), "%nclusterid"),
        made("%nclusterid", "u32", "10.13", "The grid's shape in clusters.", "grid", True, _GRID),
        made("%cluster_ctaid", "u32", "10.14", "The block's place in its cluster.", "cta", True, _last(_CLUSTER), "%cluster_nctaid"),
        made("%cluster_nctaid", "u32", "10.15", "The cluster's shape in blocks.", "grid", True, _CLUSTER),
        made("%cluster_ctarank", "u32", "10.16", "The block's number in its cluster.", "cta", high=(15,), below="%cluster_nctarank"),
        made("%cluster_nctarank", "u32", "10.17", "How many blocks a cluster has.", "grid", high=(16,)),
    ]


def _masks_and_counters() -> list[SpecialRegister]:
    masks = [
        SpecialRegister(f"%lanemask_{name}", "u32", f"10.{18 + place}", f"A mask of the lanes {words} this thread's.", version=(2, 0))
        for place, (name, words) in enumerate(
            (("eq", "equal to"), ("le", "up to and with"), ("lt", "below"), ("ge", "from"), ("gt", "above"))
        )
    ]  # fmt: skip
    counters = [
        SpecialRegister("%clock", "u32", "10.23", "A cycle counter that wraps around, low half.", same="never"),
        SpecialRegister("%clock_hi", "u32", "10.23", "The upper half of %clock64.", same="never", version=(5, 0)),
        SpecialRegister("%clock64", "u64", "10.24", "A cycle counter.", same="never", version=(2, 0)),
        *(SpecialRegister(f"%pm{one}", "u32", "10.25", "A performance counter, as the profiler set it up.", same="never", version=(1, 3))
          for one in range(8)),
        *(SpecialRegister(f"%pm{one}_64", "u64", "10.26", "A performance counter, as the profiler set it up.", same="never", version=(4, 0))
          for one in range(8)),
        *(SpecialRegister(f"%envreg{one}", "b32", "10.27", "A value that the driver set before the launch.", same="grid", version=(2, 1))
          for one in range(32)),
        SpecialRegister("%globaltimer", "u64", "10.28", "Nanoseconds of the whole device's timer.", same="never", version=(3, 1)),
        SpecialRegister("%globaltimer_lo", "u32", "10.28", "Its lower half.", same="never", version=(3, 1)),
        SpecialRegister("%globaltimer_hi", "u32", "10.28", "Its upper half.", same="never", version=(3, 1)),
    ]  # fmt: skip
    return masks + counters


def _memory_and_machine() -> list[SpecialRegister]:
    reserved = (
        ("begin", "Where the shared memory that the system reserves begins."),
        ("end", "Where it ends."),
        ("cap", "How much the system may reserve."),
        ("0", "An offset within it."),
        ("1", "Another offset within it."),
    )
    return [
        *(SpecialRegister(f"%reserved_smem_offset_{name}", "b32", "10.29", meaning, same="grid", version=(7, 6), targets="sm_80+")
          for name, meaning in reserved),
        SpecialRegister("%total_smem_size", "u32", "10.30", "Bytes of shared memory that a block has, what the system reserves left out.",
                        same="grid", version=(4, 1)),
        SpecialRegister("%aggr_smem_size", "u32", "10.31", "Bytes of shared memory that a block has in all.", same="grid", version=(8, 1),
                        targets="sm_90+"),
        SpecialRegister("%dynamic_smem_size", "u32", "10.32", "Bytes of shared memory that the launch asked for.", same="grid",
                        version=(4, 1)),
        SpecialRegister("%current_graph_exec", "u64", "10.33", "The graph that runs this kernel; 0 outside of a graph.", same="grid",
                        version=(8, 0)),
        SpecialRegister("%perctamemoryoffset", "u64", "10.34", "Where the block's own part of the kernel's memory begins.", same="cta",
                        version=(9, 4), targets="sm_80+", directive=".minperctamemory"),
        SpecialRegister("%perctamemorysize", "u32", "10.35", "How many bytes of it the block has.", same="grid", version=(9, 4),
                        targets="sm_80+", directive=".minperctamemory"),
        SpecialRegister("%locality_domain_id", "u32", "10", "The part of the device whose memory is near to the thread.", same="cta",
                        version=(9, 5), targets="sm_100+"),
        SpecialRegister("%locality_domain_supplemental_sm", "u32", "10", "Whether the multiprocessor is a supplemental one of it.",
                        same="cta", version=(9, 5), targets="sm_100+"),
    ]  # fmt: skip


SPECIAL: dict[str, SpecialRegister] = {
    one.name: one for one in (*_thread_and_grid(), *_clusters(), *_masks_and_counters(), *_memory_and_machine())
}
"""Every special register by its name with ``%``."""


def is_special(text: str) -> bool:
    """Whether an operand's text (``"%tid.x"``, ``"%laneid"``) names a special register or a component of one."""
    return text.partition(".")[0] in SPECIAL


@lru_cache(maxsize=None)
def special_register(text: str) -> tuple[SpecialRegister, str]:
    """The register that `text` names, with or without ``%``, and the component behind its dot (or ``""``).

    Raises
    ------
    PtxgenError
        For an unknown register or component; the message names the nearest.
    """
    name, _, component = text.partition(".")
    found = SPECIAL.get(name if name.startswith("%") else "%" + name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name if name.startswith("%") else "%" + name, SPECIAL, n=3)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise PtxgenError(f"PTX has no special register {name!r}{hint} (PTX ISA chapter 10)")
    if (component and component not in found.components) or len(component) > 1:
        have = f"has the components {', '.join('.' + one for one in found.components)}" if found.components else "has no components"
        raise PtxgenError(f"{text}: {found.name} {have} (PTX ISA {found.section})")
    return found, component
