"""Holds operands against a contract. Tracer, tile engine and `ptxgen check` describe what they have as `Given` values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from ptxgen.instructions.constants import allowed_values, constant_problem, has_constants, held
from ptxgen.instructions.demands import rule_of
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Slot, broken_rules
from ptxgen.instructions.language import Operand
from ptxgen.instructions.marks import MARK_RULE, NO_MARKS, mark_problem
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.special import SPECIAL, SpecialRegister, is_special, special_register
from ptxgen.instructions.types import Type

__all__ = ["NAMED", "NO_SPACE", "SETTINGS", "Checked", "Given", "check", "check_as", "fits"]

NAMED = {
    "label": "a label",
    "symbol": "a name",
    "function": "the name of a function",
    "branch targets": "the label of a .branchtargets list",
    "call targets": "the label of a .calltargets list or .callprototype",
}
"""Operand kinds that are names, and how to call them."""

NO_SPACE = "code"
"""The state space of a function's address: none that an opcode can name."""
SETTINGS = frozenset({"texmode_independent"})
"""Words of a module's ``.target`` that rules may speak of."""


class Given:
    """An operand as its user has it.

    Attributes
    ----------
    kind : str
        ``"register"`` (predicates and special registers too), ``"int"``, ``"float"``, ``"symbol"``, ``"address"``, ``"vector"``,
        ``"sink"``, ``"not"`` (a negated predicate), ``"negated"`` (``-%r1``; the register is its only item), ``"pair"``, ``"list"``
        (in parentheses).
    type : Type or None
        Of a register; None where it is not known.
    value : int or None
        Of an integer constant, and of an address that is one.
    items : tuple of Given
        Elements of a vector or list, halves of a pair, further entries of an address.
    space : str
        Of an address or a symbol: the state space it is known to lie in, else empty.
    selector : str
        The part of a register that is selected, ``"b0"`` of ``%r1.b0``, or empty. (A component of a vector is a register of its own.)
    named : bool
        Of an address: whether it is known to begin with the name of a variable.
    text : str
        How to show it to the user; made when somebody asks where a function was given for it.
    essence : tuple or None
        All that decides whether it is accepted, once somebody asked (`_essence`).
    """

    __slots__ = ("_text", "essence", "items", "kind", "named", "selector", "space", "type", "value")

    def __init__(
        self,
        kind: str,
        text: str | Callable[[], str],
        type: Type | None = None,
        value: int | None = None,
        items: tuple[Given, ...] = (),
        space: str = "",
        selector: str = "",
        named: bool = False,
    ) -> None:
        self.kind = kind
        self._text = text
        self.type = type
        self.value = value
        self.items = items
        self.space = space
        self.selector = selector
        self.named = named
        self.essence: tuple[Any, ...] | None = None

    @property
    def text(self) -> str:
        text = self._text
        return text if isinstance(text, str) else text()

    @staticmethod
    def numbered(name: str, type: Type) -> Given:
        """A register of those that traces number, of which no check looks at the name."""
        made = Given("register", name, type)
        made.essence = _numbered(type)
        return made

    @staticmethod
    def vector(items: tuple[Given, ...]) -> Given:
        """Several in braces."""
        return Given("vector", lambda: "{" + ", ".join(one.text for one in items) + "}", items=items)

    @staticmethod
    def pair(items: tuple[Given, ...]) -> Given:
        """Two results in one place."""
        return Given("pair", lambda: "|".join(one.text for one in items), items=items)


class Checked:
    """The form that the operands chose, and each operand's name beside what was given."""

    __slots__ = ("_given", "_slots", "match")

    def __init__(self, match: Match, slots: tuple[Slot, ...], given: Sequence[Given]) -> None:
        self.match = match
        self._slots = slots
        self._given = given

    @property
    def operands(self) -> tuple[tuple[str, Given], ...]:
        """The contract's names in order, those inside brackets and pairs included."""
        named = (part for slot, one in zip(self._slots, self._given) for part in _parts(self.match, slot, one))
        return tuple((name, part) for name, part, _ in named)


def fits(register: Type, demanded: Type, *, wider: bool = False) -> bool:
    """Whether a register of one type can be an operand of another (ISA 9.4, "Type Information for Instructions and Operands").

    Sizes agree (`wider` lets the register be larger, ISA 9.4.1); untyped bits go with everything; signed and unsigned go together;
    a float goes with the same float type. A packed type goes with untyped bits or with as many elements of the same kind.
    """
    if (register.kind == "pred") != (demanded.kind == "pred"):
        return False
    if demanded.kind == "opaque":
        return register.bits == demanded.bits and not register.is_float
    if register.bits != demanded.bits and not (wider and register.bits > demanded.bits and _widens(register, demanded)):
        return False
    if "bits" in (register.kind, demanded.kind):
        return True
    if register.lanes != demanded.lanes:
        return False
    if register.is_integer and demanded.is_integer:
        return True
    return register.element.name == demanded.element.name and register.lanes == demanded.lanes


def _widens(register: Type, demanded: Type) -> bool:
    return not register.is_float or register.name == demanded.name or demanded.kind == "bits"


def check(opcode: str, given: Sequence[Given], setting: frozenset[str] = frozenset()) -> Checked:
    """Choose the form of an opcode that its operands fit.

    `setting` is what a module's ``.target`` says besides the target, ``"texmode_independent"``; rules may speak of it as of an operand.

    Raises
    ------
    InstructionError
        With the complaint of the form that came furthest.
    """
    key = (opcode, setting, *[one.essence or _essence(one) for one in given])
    known = _accepted.get(key)
    if known is not None:
        match, slots = known
        return Checked(match, slots, given)
    best: tuple[float, InstructionError] | None = None
    for match in lookup(opcode):
        for slots in match.form.operand_lists:
            outcome = _check_form(match, slots, given, setting)
            if isinstance(outcome, Checked):
                if len(_accepted) >= _REMEMBERED:
                    _accepted.clear()
                _accepted[key] = match, slots
                return outcome
            if best is None or outcome[0] > best[0]:
                best = outcome
    assert best is not None  # lookup never returns an empty tuple
    raise best[1]


def check_as(match: Match, slots: tuple[Slot, ...], given: Sequence[Given]) -> Checked:
    """Hold operands against one form alone: its operand list with these names.

    Raises
    ------
    InstructionError
    """
    key = (match.opcode, slots, *[one.essence or _essence(one) for one in given])
    if key not in _accepted:
        outcome = _check_form(match, slots, given)
        if not isinstance(outcome, Checked):
            raise outcome[1]
        _accepted[key] = match, slots
    return Checked(match, slots, given)


# What was accepted once is accepted again: operand lists by all that the check looks at. Refusals are made anew, for their texts.
_accepted: dict[tuple[Any, ...], tuple[Match, tuple[Slot, ...]]] = {}
_REMEMBERED = 1 << 14
_NUMBERED = frozenset(("%p", "%rb", "%rs", "%r", "%rd", "%rq", "%f", "%fd"))


@lru_cache(maxsize=None)
def _numbered(type: Type | None) -> tuple[Any, ...]:
    return "register", type and type.name, "%"


def _essence(one: Given) -> tuple[Any, ...]:
    """All that decides whether an operand is accepted: a numbered register's name does not."""
    kind = one.kind
    found: tuple[Any, ...]
    if kind == "register":
        text = one.text
        found = _numbered(one.type) if text.rstrip("0123456789") in _NUMBERED else (kind, one.type and one.type.name, text)
    elif kind == "int":
        found = kind, one.value
    elif one.items:
        texts = [item.text for item in one.items]
        inner = [item.essence or _essence(item) for item in one.items]
        found = kind, one.space, one.named, one.value, one.type and one.type.name, len(set(texts)) == len(texts), *inner
    else:
        found = kind, one.type and one.type.name, one.space, one.named, one.value, one.text if kind in ("float", "symbol") else ""
    one.essence = found
    return found


def _check_form(
    match: Match, slots: tuple[Slot, ...], given: Sequence[Given], setting: frozenset[str] = frozenset()
) -> Checked | tuple[float, InstructionError]:
    """The checked operands, or how many operands fitted (a half more where the next has the right shape) and the complaint."""
    entry = match.entry
    if len(slots) != len(given):
        wanted = sorted({len(one) for one in match.form.operand_lists})
        error = InstructionError(
            f"takes {' or '.join(map(str, wanted))} operands, not {len(given)}",
            opcode=match.opcode,
            section=entry.section,
            legal=match.form.syntax,
        )
        return -abs(len(slots) - len(given)), error
    bindings = {**match.bindings, **dict.fromkeys(setting, True)}
    constants: dict[str, int] = {}
    for index, (slot, one) in enumerate(zip(slots, given)):
        if slot.second and one.kind != "pair":
            single = InstructionError(
                f"{one.text} stands where the instruction takes a pair of results",
                opcode=match.opcode,
                operand=slot.name,
                section=entry.section,
                legal=f"{slot.name}|{slot.second}",
            )
            return index + 0.5, single
        if one.kind == "pair" and all(half.kind == "sink" for half in one.items):
            dropped = InstructionError(
                f"{one.text} drops both results",
                opcode=match.opcode,
                operand=slot.name,
                section=entry.section,
                legal=match.form.syntax,
            )
            return index + 1, dropped
        if one.kind == "address" and len(one.items) != len(slot.inner):
            bracket = f"[{', '.join((slot.name, *slot.inner))}]"
            parts = InstructionError(
                f"{one.text} has {1 + len(one.items)} part{'s' * bool(one.items)} where the instruction takes {bracket}",
                opcode=match.opcode,
                operand=slot.name,
                rule="an address has the parts that the syntax line shows",
                section=entry.section,
                legal=match.form.syntax,
            )
            return index + 0.5, parts
        for name, part, contract in _parts(match, slot, one):
            marked = "" if contract is None else mark_problem(slot, contract, part)
            problem = marked or ("" if contract is None else _operand_problem(match, contract, part, slot.bracket and part is one))
            if part.value is not None and contract is not None:
                constants[name] = held(match, contract, part.value)
            if problem:
                assert contract is not None
                rule, section = (MARK_RULE, entry.section) if marked else rule_of(match, contract, part)
                legal = legal_operand(match, contract, name)
                error = InstructionError(problem, opcode=match.opcode, operand=name, rule=rule, section=section, legal=legal)
                shaped = one.kind == "vector" and match.count(contract.vector) == len(one.items)
                return index + (1.5 if shaped else 1), error
            bindings[name] = True
    for name, value in constants.items():
        limit = entry.operands[name].limit
        if value > constants.get(limit, value):
            error = InstructionError(
                f"the constant {value} is above {limit}, which is {constants[limit]}",
                opcode=match.opcode,
                operand=name,
                rule=f"this operand is at most {limit}",
                section=entry.section,
                legal=match.form.syntax,
            )
            return len(slots) + 1, error
    for broken in broken_rules(entry, bindings, operands_known=True):
        error = InstructionError(
            "these qualifiers and operands do not go together",
            opcode=match.opcode,
            rule=broken.says,
            section=broken.section or entry.section,
            legal=match.form.syntax,
        )
        return len(slots) + 1, error
    return Checked(match, slots, given)


def _parts(match: Match, slot: Slot, one: Given) -> Iterator[tuple[str, Given, Operand | None]]:
    """The named operands behind one position: both halves of a pair, the entries of a bracket."""
    contract = match.entry.operands
    if slot.second:
        yield slot.name, one.items[0], contract[slot.name]
        yield slot.second, one.items[1], contract[slot.second]
        return
    yield slot.name, one, contract[slot.name]
    for name, inner in zip(slot.inner, one.items):
        yield name, inner, contract[name]


def _operand_problem(match: Match, contract: Operand, one: Given, bracket: bool) -> str:
    """What is wrong with one operand, or an empty text."""
    if one.kind == "negated":
        one = one.items[0]
    if bracket or contract.kind == "address":
        return _address_problem(match, contract, one)
    if contract.kind == "list":
        return _list_problem(contract, one)
    count = match.count(contract.vector)
    if count > 1 or contract.braced or one.kind == "vector":
        return _vector_problem(match, contract, one, count)
    return _scalar_problem(match, contract, one)


def _address_problem(match: Match, contract: Operand, one: Given) -> str:
    if one.kind != "address":
        return f"{one.text} is not an address"
    if one.named and not contract.named:
        return f"{one.text} begins with a name where the instruction takes a register; mov it into one first"
    space = match.value(contract.space) if contract.space.startswith(".") else contract.space
    if one.value is not None and space != "local":
        return f"{one.text} is a constant address, which only .local has"
    opaque = match.type(contract.type) if contract.type else None
    if opaque is not None and opaque.kind == "opaque":
        return _opaque_problem(one, opaque)
    if one.type is not None and not one.named and one.value is None:
        problem = _base_problem(contract, one, one.type, space)
        if problem:
            return problem
    if not space and contract.within and one.space.partition("::")[0] not in ("", contract.within):
        return f"{one.text} lies in .{one.space}, and the generic address here is one of .{contract.within}"
    return _space_problem(match, contract, one)


def _base_problem(contract: Operand, one: Given, base: Type, space: str) -> str:
    """A register that holds an address: 32 or 64 bits, unless the state space or the contract says which."""
    if base.is_float or base.kind == "pred":
        return ""  # has its own message
    widths = (32,) if space in ("tensor", "fabric") else (32, 64)
    if contract.exact and base.kind != "bits":
        return f"{one.text} begins with a register of .{base.name} where the instruction takes .b32 and nothing else"
    if base.bits not in widths:
        return f"{one.text} begins with a register of {base.bits} bits where an address has {' or '.join(map(str, widths))}"
    return ""


def _opaque_problem(one: Given, demanded: Type) -> str:
    """``[texture]``: a variable of the opaque type, or a register that holds its address."""
    if "+" in one.text.partition(",")[0]:
        return f"{one.text} has an offset where the instruction takes a .{demanded.name} as it is"
    if one.type is None or one.type.name == demanded.name or (not one.named and one.type.bits == 64):
        return ""
    return f"{one.text} is .{one.type.name} where the instruction takes a .{demanded.name}"


def _vector_problem(match: Match, contract: Operand, one: Given, count: int) -> str:
    if one.kind == "register" and count == 4 and match.allows(contract.special) and one.text in SPECIAL and SPECIAL[one.text].components:
        whole, demanded = SPECIAL[one.text], match.type(contract.type)  # all of %tid at once
        fitting = _reads(whole, demanded) if contract.vector != 4 else fits(whole.type, demanded)
        return "" if fitting else f"{one.text} is a vector of .{whole.type.name} where the instruction takes .{demanded.name}"
    if one.kind != "vector":
        if count == 1:
            return f"{one.text} stands where the instruction takes one register in braces"
        return f"{one.text} is one register where the instruction takes a vector of {count}"
    if len(one.items) != count and not (contract.padded and len(one.items) == contract.padded):
        return f"{one.text} has {len(one.items)} elements where the instruction takes {count}"
    if count == 1 and not (contract.braced or contract.braceable):
        return f"{one.text} stands in braces where the instruction takes one register as it is"
    for index, item in enumerate(one.items):
        problem = mark_problem(NO_MARKS, contract, item) or _scalar_problem(match, contract, item, index)
        if problem:
            return problem
    types = [item.type for item in one.items[bool(contract.first) :] if item.type is not None]
    widths = dict.fromkeys(type.bits for type in types)
    if len(widths) > 1:
        return f"{one.text} holds registers of {' and '.join(map(str, widths))} bits where those of a vector are of one width"
    classes = {type.name if type.is_float else "an integer" for type in types if type.kind != "bits"}
    if len(classes) > 1:
        return f"{one.text} mixes {' and '.join(sorted(classes))} where a vector holds values of one kind, or untyped bits"
    if contract.role == "out":
        names = [item.text for item in one.items if item.kind == "register"]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            return f"{twice} is written twice"
        if not names:
            return f"{one.text} drops every element"
    return ""


def _scalar_problem(match: Match, contract: Operand, one: Given, index: int = 0) -> str:
    if contract.kind == "sink":
        return "" if one.kind == "sink" else f"{one.text} stands where only the sink _ can"
    if one.kind == "sink":
        return "" if match.allows(contract.sink) else "the sink _ cannot stand here"
    if contract.kind in NAMED:
        return "" if one.kind == "symbol" else f"{one.text} is not {NAMED[contract.kind]}"
    if one.kind == "not":
        if not contract.negatable:
            return f"{one.text}: a negated predicate cannot stand here"
        wrong = one.type is not None and one.type.kind != "pred"
        return f"{one.text[1:]} is .{one.type.name}, and only a predicate is negated with !" if wrong and one.type else ""
    demanded = match.type(contract.first if contract.first and index == 0 and match.count(contract.vector) > 1 else contract.type)
    if one.kind in ("int", "float"):
        return constant_problem(match, contract, one, demanded, index)
    if one.kind == "symbol":
        return _symbol_problem(match, contract, one, demanded)
    if one.kind != "register":
        return f"{one.text} is not a register"
    if contract.kind == "immediate":
        return f"{one.text} is a register where the instruction encodes a constant"
    if is_special(one.text):
        return _special_problem(match, contract, one, demanded)
    if one.type is not None and not fits(one.type, demanded, wider=match.allows(contract.wider)):
        return f"{one.text} is .{one.type.name} where the instruction takes .{demanded.name}"
    if contract.exact and one.type is not None and one.type.name != demanded.name:
        return f"{one.text} is .{one.type.name} where the instruction takes .{demanded.name} and nothing else"
    return ""


def _reads(special: SpecialRegister, demanded: Type) -> bool:
    """Whether a value of this type can be read from a special register, or from a component of it."""
    return fits(special.type, demanded) or (special.narrow and 16 <= demanded.bits < special.type.bits and not demanded.is_float)


def _special_problem(match: Match, contract: Operand, one: Given, demanded: Type) -> str:
    """A special register (ISA chapter 10) where a register stands."""
    special, component = special_register(one.text)
    if contract.role != "in":
        return f"{one.text} is a special register, which can only be read"
    if not match.allows(contract.special):
        return f"{one.text} is a special register, which only mov and a cvt between integers read; mov it into a register first"
    if special.components and not component:
        return f"{one.text} is a vector where the instruction takes one value; name a component, such as {one.text}.x"
    if _reads(special, demanded):
        return ""
    return f"{one.text} is .{special.type.name} where the instruction takes .{demanded.name}"


def _symbol_problem(match: Match, contract: Operand, one: Given, demanded: Type) -> str:
    """A variable's or function's address where a value is taken."""
    if not match.allows(contract.symbol):
        return f"the name {one.text} stands where the instruction takes a register; mov it into one first"
    if demanded.kind == "opaque":
        return "" if one.type is None or one.type.name == demanded.name else f"{one.text} is no .{demanded.name}"
    if demanded.is_float or demanded.bits not in (32, 64) or (demanded.bits == 32 and one.space == "global"):
        return f"the address of {one.text} does not fit .{demanded.name}"
    return _space_problem(match, contract, one)


def _space_problem(match: Match, contract: Operand, one: Given) -> str:
    chosen = contract.space.startswith(".")
    space = match.value(contract.space) if chosen else contract.space
    if not one.space or not space or one.space == space:
        return ""
    if one.space == NO_SPACE:
        return f"{one.text} is a function, which lies in no state space, and not in .{space}"
    # An address in another block's shared memory is none in the own block's; a contract that leaves the block open takes both.
    elsewhere = chosen and one.space == "shared::cluster"
    if elsewhere or one.space.partition("::")[0] != space.partition("::")[0]:
        return f"{one.text} lies in .{one.space}, not in .{space}"
    return ""


def _list_problem(contract: Operand, one: Given) -> str:
    """Parentheses with registers and parameters, sinks among results, constants among arguments."""
    if one.kind != "list":
        return f"{one.text} is not a list in parentheses"
    allowed = ("register", "symbol", "sink") if contract.role == "out" else ("register", "symbol", "int", "float")
    wrong = next((item.text for item in one.items if item.kind not in allowed and not _is_vector_register(item)), None)
    return "" if wrong is None else f"{wrong} cannot stand in a list of {'results' if contract.role == 'out' else 'arguments'}"


def _is_vector_register(item: Given) -> bool:
    return item.kind == "vector" and not item.text.startswith("{")


def legal_operand(match: Match, contract: Operand | None, name: str) -> str:
    """One line that says what would be legal for an operand."""
    if contract is None:
        return match.form.syntax
    if contract.kind == "address":
        opaque = match.type(contract.type) if contract.type else None
        if opaque is not None and opaque.kind == "opaque":
            return f"[a]: a .{opaque.name} variable, or a 64-bit register with its address"
        space = match.value(contract.space) if contract.space.startswith(".") else contract.space
        if space == "tensor":
            return "an address [base+offset] in tensor memory, 32 bits"
        if space == "fabric":
            return "a place of the fabric [endpoint, offset], 32 and 64 bits"
        base = "base" if contract.named else "register"
        return f"an address [{base}+offset]{f' in .{space}' if space else ''}"
    if contract.kind in NAMED:
        return NAMED[contract.kind]
    if contract.kind == "list":
        return "a list in parentheses, as the function's declaration asks"
    if contract.kind == "sink":
        return "the sink _"
    demanded = match.type(contract.type)
    fitting = f".{demanded.name}" if contract.exact else _fitting(demanded)
    wide = " or wider" if match.allows(contract.wider) else ""
    count = match.count(contract.vector)
    what = f"{count} registers of {fitting}{wide} in braces" if count > 1 else f"a register of {fitting}{wide}"
    if count == 1 and contract.braced:
        what += " in braces"
    if contract.first and count > 1 and match.type(contract.first) is not demanded:
        what += f", of which the first is of {_fitting(match.type(contract.first))}"
    if contract.kind == "immediate":
        what = f"a .{demanded.name} constant"
    elif match.allows(contract.immediate) and has_constants(demanded):
        what += ", or a constant"
    if contract.fraction:
        what += " (above 0, at most 1)"
    if contract.values is not None:
        shown = [_shown(values) for index in range(count) if (values := allowed_values(contract, index)) is not None]
        what += f" ({'; '.join(dict.fromkeys(shown))})"
    if match.allows(contract.symbol) and demanded.bits in (32, 64) and not demanded.is_float:
        what += ", or the name of a variable"
    if contract.negatable:
        what += ", possibly negated"
    if contract.selector:
        what += f", or a part of it ({', '.join('.' + one for one in contract.selector.split())}) where the syntax line says so"
    return what


def _shown(values: tuple[int, ...] | range) -> str:
    if not isinstance(values, range) or len(values) <= 2:
        return ", ".join(map(str, values))
    if values.step == 1:
        return f"{values.start} to {values.stop - 1}"
    return f"{values.start}, {values.start + values.step}, {values.start + 2 * values.step}, ... {values[-1]}"


def _fitting(demanded: Type) -> str:
    """The types of register that hold a value of a type, as words: ``.f32 or .b32``."""
    bits = f".b{max(demanded.bits, 8)}"
    if demanded.kind == "pred":
        return ".pred"
    if demanded.kind in ("bits", "opaque"):
        return f"{demanded.bits} bits"
    if demanded.is_integer and demanded.lanes == 1:
        return f".{demanded.name}, .{'s' if demanded.kind == 'unsigned' else 'u'}{demanded.bits} or {bits}"
    if demanded.name in ("f16", "f16x2", "f32", "f64"):
        return f".{demanded.name} or {bits}"
    return f"{bits} (holding .{demanded.name})"
