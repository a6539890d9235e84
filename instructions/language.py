"""The contract language: how an entry of the registry says what one PTX instruction demands.

A contract opens with the instruction's syntax lines and the choices of each qualifier, spelled as the PTX ISA spells them, and adds
what those lines do not say. Everything in it is data: texts in three small notations (syntax, choices, conditions) that
`ptxgen.instructions.grammar` compiles once, on first use.

Notations
---------
syntax
    One form a line: ``ld{.weak}{.ss}{.vec}.type d, [a]{, cache_policy};``. Braces enclose what may be left out. A ``.name`` that
    `choices` lists is a qualifier with a choice; any other is literal. A long opcode may go on in the next line. Operand names are
    identifiers (``cache_policy``, where the ISA prints ``cache-policy``), a constant that must be that one (``16``), or ``_`` where only
    the sink will do; ``(a)`` stands for a list of any length in parentheses. ``d.dsel`` selects a part of a register, ``a{.asel}`` may do
    so; ``-a`` is a negated register, ``{-}a`` may be one.
choices
    One qualifier a line: ``.type = { .b32, .b64 };``, as in the ISA.
condition
    ``.type in .f16 .bf16 and not .ftz``: terms joined by ``and``, and such alternatives joined by ``or``. A term is a qualifier or
    an operand name (true when present), ``X in A B``, or ``not`` a term. A qualifier that is left out is in no set.
type
    ``.type`` (the qualifier's value), ``u32`` (a type by name), or ``wide(.type)``, ``bits(.type)``, ``element(.type)``.
    ``half(.type)`` and ``quarter(.type)`` are untyped bits of that part of its width.
    ``A if CONDITION else B`` chooses by the qualifiers: ``wide(.type) if .mode in .wide else .type``.
    ``texref``, ``samplerref`` and ``surfref`` name an opaque variable, which 64 bits that hold its address can stand for.
    A line without a ``.type`` choice binds ``.type`` to the last type that it spells literally.
count
    How many registers an operand has: ``.vec`` (the number in the qualifier's value; 1 where it is left out), ``4``, ``m(.shape)`` (the
    number after that letter: 16 for ``.m16n8k8``), ``kept(.sparsity)`` and ``group(.sparsity)`` (2 and 4 for ``.sp::2:4``), ``bits(.type)``
    (of a type expression), products and quotients of these from left to
    right, rounded up, and ``A if CONDITION else B``: ``m(.shape) * k(.shape) * bits(.atype) / 1024``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Union

from ptxgen.instructions.tiles import Tile

__all__ = [
    "Operand", "Rule", "Since", "address", "immediate", "inout", "instruction", "label", "out", "predicate", "sink", "source",
    "symbol", "values",
]  # fmt: skip

Values = Union[tuple[int, ...], range, tuple[range, ...], None]


class Operand:
    """What one operand must be.

    Attributes
    ----------
    kind : str
        ``"register"`` (a register, and where `immediate` allows it a constant), ``"predicate"``, ``"address"``, ``"immediate"``,
        ``"special"`` (a special register alone), ``"list"`` (any values, registers or parameters, in parentheses), or a name:
        ``"label"``, ``"symbol"``, ``"function"``, ``"branch targets"``, ``"call targets"``; ``"sink"`` is ``_`` alone.
    role : str
        ``"in"``, ``"out"`` or ``"inout"``. For an address it tells how the memory behind it is used.
    type : str
        Type expression of the value, or of the memory behind an address.
    first : str
        Type expression of a vector's first element, where it is another than that of the others.
    vector : str or int
        Number of registers (or of consecutive memory words): a number, or a count expression such as ``".vec"``.
    braced : bool
        Whether the registers stand in braces even where there is only one.
    braceable : bool
        Whether braces may stand around a single register.
    immediate : bool or str
        Whether a constant may stand in a register's place; a text is the condition under which it may.
    wider : bool or str
        Whether a register wider than the type will do (ISA 9.4.1, "Operand size exceeding instruction-type size"); a text is the
        condition under which it will.
    exact : bool
        For an address, whether a register in it must be declared with untyped bits. Otherwise:
        Whether a register must be declared with this very type: where untyped bits are demanded, ``.u32`` is not ``.b32``.
    special : bool or str
        Whether a special register will do; a text is the condition under which it will.
    symbol : bool or str
        Whether the name of a variable (in `space`) or function may stand for its address; a text is the condition under which it may.
    values : tuple of int or range, tuple of ranges, or None
        Allowed constants; several ranges are those of a vector's elements.
    limit : str
        The operand whose value a constant may not exceed, where both are constants.
    space : str
        For an address, or a symbol that stands for its address: a state-space expression, ``".ss"`` or ``"global"``; ``"tensor"`` for
        tensor memory; ``"fabric"`` for a logical endpoint; empty for a generic address, or any symbol.
    align : int
        For an address: the bytes that it is a multiple of, where `type` x `vector` does not say it.
    within : str
        For an address: the state space in which it lies where it is generic.
    named : bool
        For an address: whether it may begin with the name of a variable instead of a register.
    fraction : bool
        Whether a constant must be above 0 and at most 1.
    padded : int
        The length to which a vector may be padded: what stands behind the elements that are needed is ignored.
    holds : str
        For an address: the object that must be there, such as ``"mbarrier"``. The instruction whose operand is ``"out"`` makes it.
    lanes : bool
        Whether bit i stands for lane i of the warp: the lanes that take part, the executing one among them.
    blocks : bool
        Whether bit i stands for the block of rank i of the cluster.
    negatable : bool
        Whether ``!p`` will do.
    sink : bool or str
        Whether ``_`` will do (for a vector: for its elements); a text is the condition under which it will.
    selector : str
        The parts of a register that can be selected, where the syntax line says that one is: patterns such as ``"b[0-3] h[01]"``.
    """

    __slots__ = (
        "align", "blocks", "braceable", "braced", "exact", "first", "fraction", "holds", "immediate", "kind", "lanes", "limit", "named",
        "negatable",
        "padded", "role", "selector", "sink", "space", "special", "symbol", "type", "values", "vector", "wider", "within",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        role: str = "in",
        type: str = "",
        vector: str | int = 1,
        immediate: bool | str = False,
        wider: bool | str = False,
        values: Values = None,
        space: str = "",
        negatable: bool = False,
        sink: bool | str = False,
        exact: bool = False,
        symbol: bool | str = False,
        special: bool | str = False,
        braced: bool = False,
        braceable: bool = False,
        limit: str = "",
        align: int = 0,
        within: str = "",
        selector: str = "",
        first: str = "",
        named: bool = True,
        holds: str = "",
        lanes: bool = False,
        blocks: bool = False,
        padded: int = 0,
        fraction: bool = False,
    ) -> None:
        self.kind = kind
        self.role = role
        self.type = type
        self.vector = vector
        self.immediate = immediate
        self.wider = wider
        self.values = values
        self.space = space
        self.negatable = negatable
        self.sink = sink
        self.exact = exact
        self.symbol = symbol
        self.special = special
        self.braced = braced
        self.braceable = braceable
        self.limit = limit
        self.align = align
        self.within = within
        self.selector = selector
        self.holds = holds
        self.lanes = lanes
        self.blocks = blocks
        self.first = first
        self.named = named
        self.fraction = fraction
        self.padded = padded


def out(
    type: str, *, vector: str | int = 1, wider: bool | str = False, sink: bool | str = False, braced: bool = False, exact: bool = False,
    selector: str = "", braceable: bool = False,
) -> Operand:  # fmt: skip
    """A destination register of `type` (several with `vector`)."""
    return Operand(
        "register", "out", type, vector, wider=wider, sink=sink, braced=braced, exact=exact, selector=selector, braceable=braceable
    )


def inout(type: str, *, vector: str | int = 1) -> Operand:
    """A register that is read and then written."""
    return Operand("register", "inout", type, vector)


def source(
    type: str,
    *,
    vector: str | int = 1,
    immediate: bool | str = True,
    wider: bool | str = False,
    values: Values = None,
    sink: bool | str = False,
    space: str = "",
    exact: bool = False,
    symbol: bool | str = False,
    special: bool | str = False,
    braced: bool = False,
    braceable: bool = False,
    limit: str = "",
    lanes: bool = False,
    blocks: bool = False,
    selector: str = "",
    first: str = "",
    padded: int = 0,
    fraction: bool = False,
) -> Operand:
    """A source register or, unless `immediate` is False, a constant; with `symbol` also a name (of `space`)."""
    return Operand(
        "register", "in", type, vector, immediate, wider, values, space, sink=sink, exact=exact, symbol=symbol, special=special,
        braced=braced, braceable=braceable, limit=limit, lanes=lanes, blocks=blocks, selector=selector, first=first, padded=padded,
        fraction=fraction,
    )  # fmt: skip


def predicate(
    role: str = "in", *, negatable: bool = False, sink: bool | str = False, immediate: bool | str = False, special: bool = False,
    values: Values = None,
) -> Operand:  # fmt: skip
    """A predicate register, or where it is `immediate` a constant (of those `values`)."""
    return Operand("predicate", role, "pred", negatable=negatable, sink=sink, immediate=immediate, special=special, values=values)


def address(
    role: str, type: str, *, space: str = "", vector: str | int = 1, align: int = 0, holds: str = "", named: bool = True,
    within: str = "", exact: bool = False,
) -> Operand:  # fmt: skip
    """``[a]``: memory in `space` that is read (``in``), written (``out``) or both.

    `type` x `vector` is accessed, naturally aligned or to `align` bytes. Unless it may be `named`, the address begins with a register;
    where it is `exact`, with one of untyped bits. A generic address lies `within` a state space where one is named.
    """
    return Operand("address", role, type, vector, space=space, align=align, holds=holds, named=named, within=within, exact=exact)


def immediate(type: str, values: Values = None) -> Operand:
    """A constant that the instruction encodes."""
    return Operand("immediate", "in", type, immediate=True, values=values)


def label() -> Operand:
    """A label of the same function."""
    return Operand("label")


def symbol(kind: str = "symbol") -> Operand:
    """A name: of a variable, a ``"function"``, a list of ``"branch targets"``, or a list or prototype of ``"call targets"``."""
    return Operand(kind)


def sink() -> Operand:
    """``_`` and nothing else: a result that the instruction does not give here."""
    return Operand("sink", "out")


def values(role: str = "in") -> Operand:
    """A list of registers, parameters and (as input) constants in parentheses, whose types a function's declaration gives."""
    return Operand("list", role)


class Rule:
    """A rule between qualifiers or operands: where `when` holds, `need` must hold. `says` states it as a sentence."""

    __slots__ = ("need", "says", "section", "when")

    def __init__(self, says: str, *, when: str = "", need: str = "", section: str = "") -> None:
        self.says = says
        self.when = when
        self.need = need
        self.section = section


class Since:
    """Where `when` holds, the PTX version is at least `ptx` and the target is in `targets` (see `targets.target_set`).

    `when` may name an operand that stands in every operand list of its syntax line: it holds for the lines that have it.
    `sooner` is an earlier version with the targets that have it from then on.
    """

    __slots__ = ("ptx", "sooner", "targets", "when")

    def __init__(self, ptx: str = "1.0", targets: str = "all", *, when: str = "", sooner: tuple[str, str] | None = None) -> None:
        self.ptx = ptx
        self.targets = targets
        self.when = when
        self.sooner = sooner


class Entry:
    """One instruction of the ISA; see `instruction` for the fields. `compiled` belongs to `ptxgen.instructions.grammar`."""

    __slots__ = (
        "allocates", "awaits", "choices", "commits", "compiled", "completes", "ends", "family", "fences", "frees", "fuses", "issuer",
        "layouts", "meaning", "name", "operands", "reordered", "rules", "section", "several", "since", "summary", "syntax", "tile",
        "varies",
    )  # fmt: skip

    name: str
    family: str
    section: str
    summary: str
    syntax: str
    choices: str
    operands: Mapping[str, Operand]
    rules: tuple[Rule, ...]
    since: tuple[Since, ...]
    varies: bool  # whether some target has it from an earlier version on than others
    issuer: str
    completes: str
    commits: str
    awaits: str
    fences: str
    allocates: str
    frees: str
    ends: bool
    fuses: str
    several: str
    reordered: bool
    meaning: Mapping[str, str]
    tile: Tile | None
    layouts: Tile | None
    compiled: Any

    def __repr__(self) -> str:
        return f"<contract {self.family}/{self.name}>"


def instruction(
    name: str,
    *,
    section: str,
    summary: str,
    syntax: str,
    choices: str = "",
    operands: Mapping[str, Operand] | None = None,
    rules: Iterable[Rule] = (),
    since: Iterable[Since] = (),
    issuer: str = "thread",
    completes: str = "at once",
    commits: str = "",
    awaits: str = "",
    fences: str = "",
    allocates: str = "",
    frees: str = "",
    ends: bool = False,
    fuses: str = "",
    several: str = "",
    reordered: bool = False,
    meaning: Mapping[str, str] | None = None,
    tile: Tile | None = None,
    layouts: Tile | None = None,
) -> Entry:
    """State the contract of one instruction.

    Parameters
    ----------
    name : str
        As the ISA's section names it: ``"ld"``, ``"mbarrier.try_wait"``.
    section : str
        Section of the PTX ISA, e.g. ``"9.7.9.8"``.
    summary : str
        One sentence in our own words.
    syntax, choices : str
        See the module's docstring.
    operands : mapping
        An `Operand` for each operand name that occurs in `syntax`.
    rules, since : iterable
        What the syntax does not say, and when each variant appeared. Every `Since` whose condition holds applies; the version is
        their maximum and the targets their intersection.
    issuer : str
        ``"thread"``, ``"one"`` (a single elected thread issues it for all), ``"warp"``, ``"warpgroup"`` or ``"cta"``.
    completes : str
        ``"at once"`` or the mechanism that tells of its completion: ``"cp.async group"``, ``"mbarrier transaction"``, ...
    commits, awaits : str
        The groups (as `completes` calls them) that it closes, or waits for; qualifiers in it stand for their values.
    fences : str
        The groups, as `completes` calls them, whose registers it orders: what was written in front of it they read.
    allocates, frees : str
        What it takes that a kernel gives back before it ends, and what gives it back: ``"tensor memory"``.
    ends : bool
        Whether the thread does not go on behind it.
    fuses : str
        ``"product"`` or ``"sum"``: without ``.rnd`` an assembler may make one rounding of a product and the sum that takes it.
    several : str
        The qualifier by which it reaches several blocks of the cluster.
    reordered : bool
        Whether compilers write the qualifiers in front of its types in other orders than the ISA, as assemblers take them.
    tile : Tile, optional
        How the instruction is repeated over tiles, where its operands are more than each thread's own words (see `tiles`).
    layouts : Tile, optional
        Where the elements of operands lie that no tile operation takes: for `ptxgen.instructions.hardware` alone.
    meaning : mapping
        What a qualifier, or one of its values, does: for `ptxgen explain` and the reference pages.
    """
    made = Entry()
    made.name = name
    made.family = ""
    made.section = section
    made.summary = summary
    made.syntax = syntax
    made.choices = choices
    made.operands = operands or {}
    made.rules = tuple(rules)
    made.since = tuple(since)
    made.varies = any(one.sooner for one in since)
    made.issuer = issuer
    made.completes = completes
    made.commits = commits
    made.awaits = awaits
    made.fences = fences
    made.allocates = allocates
    made.frees = frees
    made.ends = ends
    made.fuses = fuses
    made.several = several
    made.reordered = reordered
    made.meaning = meaning or {}
    made.tile = tile
    made.layouts = layouts
    made.compiled = None
    return made
