"""A case as a section of a kernel: load the registers, execute the statement, store what it gives.

Every value lies in 64 bits. ``in`` holds columns of values, one a thread, ``out`` a column for each register that a statement writes,
and ``cells`` the places of memory that statements update, 32 bytes a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import TYPES, Type
from tests.differential.catalogue import Case, registers
from tests.differential.drawing import Values, draw, grouped

__all__ = ["CELL", "DOMAIN_REASONS", "GROUP", "THREADS", "Columns", "Leaf", "Section", "build", "module_text"]

THREADS = 256
"""Threads of a block."""
GROUP = 16
"""Neighbouring threads that update one cell."""
CELL = 32
"""Bytes of a cell."""

# Operands that are brought into the range where the ISA defines the result.
DOMAINS: dict[tuple[str, str], tuple[str, int]] = {
    ("fns", "base"): ("and", 31),
    ("fns", "offset"): ("shift", 26),
    ("bfe", "b"): ("and", 255),
    ("bfe", "c"): ("and", 255),
    ("bfi", "c"): ("and", 255),
    ("bfi", "d"): ("and", 255),
}
SHUFFLES = ("shfl.sync", "elect.sync")
"""Entries of warps whose values need not be equal in some lanes."""
DOMAIN_REASONS = {
    "fns": "the base names a lane; an offset of -2^31 overflows on the machine",
    "bfe": "position and length are 0 to 255",
    "bfi": "position and length are 0 to 255",
}


class Leaf(NamedTuple):
    """A register of a statement: its name, its operand, the type that the operand demands, and its first column of ``in`` or ``out``."""

    register: str
    operand: str
    type: Type
    column: int

    @property
    def declared(self) -> Type:
        return TYPES[self.register[1:].rpartition("_")[0]]

    @property
    def columns(self) -> int:
        """128 bits are two columns, the low half first."""
        return 2 if self.declared.bits == 128 else 1


class Section(NamedTuple):
    """A case in a kernel: what it reads and writes, its number among the cells or None, its text."""

    case: Case
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    cell: int | None
    lines: list[str]


class Columns:
    """Columns of values for a kernel, made as its sections ask for them: some for each type, which sections share."""

    EACH = 8

    def __init__(self, seed: int, count: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count = count
        masks = self.rng.integers(1, 2**32, count // 32, dtype=np.uint64)
        self.values: list[Values] = [np.repeat(masks, 32)]
        self._pools: dict[tuple[str, str, bool], list[int]] = {}
        self._turn = 0

    def begin(self) -> None:
        """Another statement: its operands get columns of their own."""
        self._turn = int(self.rng.integers(self.EACH))

    def column(self, of: Type, domain: tuple[str, str], *, warps: bool) -> int:
        """A column of values of a type, no two of a statement's the same; for `warps` many are equal within a warp."""
        key = of.name, "/".join(domain) if domain in DOMAINS else "", warps
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = self._pool(of, domain, warps)
        self._turn += 1
        return pool[self._turn % self.EACH]

    def _pool(self, of: Type, domain: tuple[str, str], warps: bool) -> list[int]:
        before: Values | None = None
        found = []
        for _ in range(self.EACH):
            values = before = draw(of, self.rng, self.count, before)
            if warps:
                values = grouped(values, self.rng, 32)
            kind, number = DOMAINS.get(domain, ("", 0))
            if kind == "and":
                values = values & np.uint64(number)
            elif kind == "shift":
                values = (values.astype(np.uint32).view(np.int32) >> number).view(np.uint32).astype(np.uint64)
            found.append(len(self.values))
            self.values += [values] if of.bits < 128 else [values, draw(of, self.rng, self.count)]
        return found


def build(cases: Sequence[Case], columns: Columns) -> tuple[list[Section], int, Values]:
    """The sections of cases, the number of columns that they write, and the cells as they are before, of 4 words a thread."""
    found: list[Section] = []
    free = 0
    cells: list[Values] = []
    for case in cases:
        columns.begin()
        builder = _Builder(case, columns, free, len(cells))
        found.append(builder.build())
        free = builder.free
        if found[-1].cell is not None:
            cells.append(_cell(found[-1], columns))
    return found, free, np.stack(cells) if cells else np.zeros((1, 1, 4), np.uint64)


def _cell(section: Section, columns: Columns) -> Values:
    """What the cells of a section hold before: elements of the access one behind the other, many of them what is given for b."""
    match = section.case.match
    contract = match.entry.operands["a"]
    of, number = match.type(contract.type), match.count(contract.vector)
    given = [leaf.column for leaf in section.inputs if leaf.operand == "b"]
    size = of.bits // 8
    room = np.zeros((columns.count, CELL), np.uint8)
    equal = columns.rng.random(columns.count) < (0.5 if "c" in match.entry.operands else 0.1)  # where it decides, or is a corner
    for place in range(number):
        drawn = columns.column(of, ("", ""), warps=False)
        for half in range(2 if of.bits == 128 else 1):
            values = columns.values[drawn + half]
            if place < len(given):
                values = np.where(equal, columns.values[given[place] + half], values)
            start = place * size + 8 * half
            room[:, start : start + min(size, 8)] = values[:, None].view(np.uint8)[:, : min(size, 8)]
    return room.view(np.uint64)


class _Builder:
    """Writes the section of one case."""

    def __init__(self, case: Case, columns: Columns, first: int, cell: int) -> None:
        self.case, self.columns, self.free = case, columns, first
        self.inputs: list[Leaf] = []
        self.outputs: list[Leaf] = []
        self.lines: list[str] = []
        self.style, _, self.space = case.style.partition(" ")
        self.cell = cell if self.space else None
        self.place = CELL * columns.count * cell
        """Where the cells begin."""

    def build(self) -> Section:
        for slot, given in zip(self.case.slots, self.case.given):
            halves = given.items if given.kind == "pair" else (given,)
            for name, one in zip((slot.name, slot.second), halves):
                self._operand(name, one)
        self._execute()
        used: dict[str, int] = {}
        for register in (one for given in self.case.given for one in registers(given)):
            name, _, number = register[1:].rpartition("_")
            used[name] = max(used.get(name, 0), int(number) + 1)
        declared = [f".reg .{name} %{name}_<{number}>;" for name, number in used.items()]
        return Section(self.case, tuple(self.inputs), tuple(self.outputs), self.cell, ["{", *declared, *self.lines, "}"])

    # ---- operands -----------------------------------------------------------------------------------------------------

    def _operand(self, name: str, given: Given) -> None:
        match = self.case.match
        contract = match.entry.operands[name]
        if contract.kind == "address":
            self._address(registers(given)[0])
            return
        for place, register in enumerate(registers(given)):
            of = match.type(contract.first if contract.first and not place else contract.type)
            if contract.role in ("in", "inout"):
                self._source(register, name, of, lanes=contract.lanes)
            if contract.role in ("out", "inout"):
                leaf = Leaf(register, name, of, self.free)
                self.outputs.append(leaf)
                self.free += leaf.columns
                if self.style == "part" and contract.role == "out":
                    self.lines.append(_cleared(leaf))

    def _source(self, register: str, name: str, of: Type, *, lanes: bool) -> None:
        entry = self.case.match.entry
        if lanes:
            self.lines.append(f"mov.b32 {register}, {'%mask' if self.style == 'part' else '0xffffffff'};")
        elif name == "cache_policy":
            self.lines.append(f"createpolicy.fractional.L2::evict_last.b64 {register}, 1.0;")
        elif entry.name == "isspacep":
            self.lines += _generic_addresses(register)
        else:
            column = self.columns.column(of, (entry.name, name), warps=entry.issuer == "warp" and entry.name not in SHUFFLES)
            leaf = Leaf(register, name, of, column)
            self.inputs.append(leaf)
            self.lines.append(self._load(leaf, "%in_group" if self.style == "same" else "%in"))

    def _load(self, leaf: Leaf, base: str) -> str:
        register, offset = leaf.register, 8 * self.columns.count * leaf.column
        if leaf.declared.kind == "pred":
            return f"ld.global.u8 %half, [{base}+{offset}]; and.b16 %half, %half, 1; setp.ne.u16 {register}, %half, 0;"
        if leaf.declared.bits == 128:
            low, high = (
                f"ld.global.b64 {half}, [{base}+{where}];" for half, where in (("%low", offset), ("%high", offset + 8 * self.columns.count))
            )
            return f"{low} {high} mov.b128 {register}, {{%low, %high}};"
        return f"ld.global.b{leaf.declared.bits} {register}, [{base}+{offset}];"

    def _store(self, leaf: Leaf) -> None:
        offset = 8 * self.columns.count * leaf.column
        if leaf.declared.kind == "pred":
            self.lines.append(f"selp.u32 %some, 1, 0, {leaf.register}; st.global.b32 [%out+{offset}], %some;")
        elif leaf.declared.bits == 128:
            self.lines.append(f"mov.b128 {{%low, %high}}, {leaf.register}; st.global.b64 [%out+{offset}], %low;")
            self.lines.append(f"st.global.b64 [%out+{offset + 8 * self.columns.count}], %high;")
        else:
            self.lines.append(f"st.global.b{leaf.declared.bits} [%out+{offset}], {leaf.register};")

    def _address(self, register: str) -> None:
        alone = self.style == "own"
        if self.space == "global":
            self.lines.append(f"add.u64 {register}, {'%cells' if alone else '%cells_group'}, {self.place};")
        else:
            self.lines.append(f"mov.u64 {register}, {'%shared' if alone else '%shared_group'};")
            if self.space == "generic shared":
                self.lines.append(f"cvta.shared.u64 {register}, {register};")

    # ---- the statement ------------------------------------------------------------------------------------------------

    def _execute(self) -> None:
        text = self.case.text
        if self.style == "part":
            self.lines.append(f"@%takes_part {text}")
        elif "shared" in self.space:
            self.lines += [*self._copied("%cells", "global", "%shared", "shared"), "bar.sync 0;", text]
            self.lines += ["bar.sync 0;", *self._copied("%shared", "shared", "%cells", "global")]
        elif self.case.family == "extended":
            self._carrying(text)
        else:
            self.lines.append(text)
        for leaf in self.outputs:
            self._store(leaf)
        if self.case.family == "extended" and ".cc" in self.case.match.bindings:
            self._carry_out()

    def _copied(self, source: str, source_space: str, target: str, target_space: str) -> list[str]:
        """A thread's own cell, from one space to the other."""
        places = {"global": self.place, "shared": 0}
        return [
            f"ld.{source_space}.v2.b64 {{%low, %high}}, [{source}+{places[source_space] + part}];"
            f" st.{target_space}.v2.b64 [{target}+{places[target_space] + part}], {{%low, %high}};"
            for part in range(0, CELL, 16)
        ]

    def _carrying(self, text: str) -> None:
        """CC.CF comes from an instruction before it and is read behind it, both of the same kind: the ISA promises nothing else."""
        entry, bindings = self.case.match.entry.name, self.case.match.bindings
        kind = "sub" if entry.startswith("sub") else "add"
        if entry.startswith(("addc", "subc", "madc")):
            pair = [Leaf(f"%b32_{90 + number}", f"carry in, {side}", TYPES["b32"], self.columns.column(TYPES["b32"], ("", ""), warps=False))
                    for number, side in enumerate(("left", "right"))]  # fmt: skip
            self.inputs += pair
            self.lines += [self._load(leaf, "%in").replace(leaf.register, half) for leaf, half in zip(pair, ("%some", "%other"))]
            self.lines.append(f"{kind}.cc.u32 %some, %some, %other;")
        self.lines.append(text)
        if ".cc" in bindings:
            self.lines.append(f"{kind}c.u32 %some, 0, 0;")

    def _carry_out(self) -> None:
        leaf = Leaf("%b32_99", "carry out", TYPES["b32"], self.free)
        self.free += 1
        self.outputs.append(leaf)
        self.lines.append(f"st.global.b32 [%out+{8 * self.columns.count * leaf.column}], %some;")


def _cleared(leaf: Leaf) -> str:
    if leaf.declared.kind == "pred":
        return f"setp.ne.u32 {leaf.register}, 0, 0;"
    return f"mov.b{leaf.declared.bits} {leaf.register}, 0;"


def _generic_addresses(register: str) -> list[str]:
    """A generic address, of another space in each of four neighbouring threads."""
    found = [f"mov.b64 {register}, %in; and.b32 %some, %lane, 3;"]
    for number, space in enumerate(("shared", "local", "const"), 1):
        found.append(f"setp.eq.u32 %chosen, %some, {number}; @%chosen cvta.{space}.u64 {register}, {space}_cells;")
    return found


def module_text(parts: list[Section], target: str, version: tuple[int, int]) -> str:
    """A kernel ``k`` of sections, for blocks of `THREADS`."""
    lines = [line for part in parts for line in part.lines]
    return _MODULE.format(
        version=version, target=target, group=~(GROUP - 1) & 0xFFFFFFFF, cell=CELL, shared=CELL * THREADS, body="\n".join(lines)
    )


_MODULE = """\
.version {version[0]}.{version[1]}
.target {target}
.address_size 64
.const .align 16 .b8 const_cells[16];
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 cells)
{{
.shared .align 16 .b8 shared_cells[{shared}];
.local .align 16 .b8 local_cells[16];
.reg .b64 %in, %in_group, %out, %cells, %cells_group, %shared, %shared_group, %low, %high;
.reg .b32 %thread, %leader, %lane, %mask, %some, %other;
.reg .b16 %half;
.reg .pred %takes_part, %chosen;
mov.u32 %thread, %tid.x;
and.b32 %leader, %thread, {group};
mov.u64 %shared, shared_cells;
mad.wide.u32 %shared_group, %leader, {cell}, %shared;
mad.wide.u32 %shared, %thread, {cell}, %shared;
mov.u32 %some, %ctaid.x;
mov.u32 %other, %ntid.x;
mad.lo.u32 %thread, %some, %other, %thread;
and.b32 %leader, %thread, {group};
ld.param.u64 %in, [in];
mad.wide.u32 %in_group, %leader, 8, %in;
mad.wide.u32 %in, %thread, 8, %in;
ld.param.u64 %out, [out];
mad.wide.u32 %out, %thread, 8, %out;
ld.param.u64 %cells, [cells];
mad.wide.u32 %cells_group, %leader, {cell}, %cells;
mad.wide.u32 %cells, %thread, {cell}, %cells;
mov.u32 %lane, %laneid;
ld.global.b32 %mask, [%in];
shr.b32 %some, %mask, %lane;
and.b32 %some, %some, 1;
setp.ne.u32 %takes_part, %some, 0;
{body}
ret;
}}
"""
