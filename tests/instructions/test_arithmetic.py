"""Arithmetic, comparison and logic: variants that the ISA dates, operands as ptxas judges them, opcodes of real code, refusals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.choices import legal_choices
from ptxgen.certify.judge import refusals
from ptxgen.certify.statements import Statement, statements
from ptxgen.instructions.checking import Given, check
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Form, forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries, lookup
from ptxgen.instructions.targets import FIRST_VERSION, lowest_target
from ptxgen.instructions.types import TYPES

FAMILY_NAMES = ("integer", "extended", "floating", "half", "mixed", "comparison", "logic")
needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")


def register(text: str) -> Given:
    """``%f32_1`` is an .f32 register."""
    return Given("register", text, TYPES[text[1:].rpartition("_")[0]])


def given(text: str) -> Given:
    """An operand as PTX writes it."""
    if "|" in text:
        return Given("pair", text, items=tuple(map(given, text.split("|"))))
    if text == "_":
        return Given("sink", text)
    if text.startswith("!"):
        return Given("not", text)
    if text.startswith("%"):
        return register(text)
    if text.startswith(("0f", "0d")):
        return Given("float", text)
    return Given("int", text, value=int(text, 0))


def checked(statement: str) -> Match:
    opcode, _, operands = statement.partition(" ")
    return check(opcode, [given(one.strip()) for one in operands.split(",")]).match


# ---- variants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "version", "target"),
    [
        ("add.f32x2 %b64_0, %b64_1, %b64_2", (8, 6), "sm_100"),
        ("fma.rz.ftz.f32x2 %b64_0, %b64_1, %b64_2, %b64_3", (8, 6), "sm_100"),
        ("add.u16x2 %b32_0, %b32_1, %b32_2", (8, 0), "sm_90"),
        ("min.relu.s32 %s32_0, %s32_1, 0", (8, 0), "sm_90"),
        ("max.s16x2 %b32_0, %b32_1, %b32_2", (8, 0), "sm_90"),
        ("min.NaN.f32 %f32_0, %f32_1, %f32_2", (7, 0), "sm_80"),
        ("min.xorsign.abs.f32 %f32_0, %f32_1, %f32_2", (7, 2), "sm_86"),
        ("max.f32 %f32_0, %f32_1, %f32_2, %f32_3", (8, 8), "sm_100"),
        ("max.NaN.abs.f32 %f32_0, %f32_1, %f32_2, %f32_3", (8, 8), "sm_100"),
        ("add.rn.bf16x2 %b32_0, %b32_1, %b32_2", (7, 8), "sm_90"),
        ("fma.rn.relu.bf16 %b16_0, %b16_1, %b16_2, %b16_3", (7, 0), "sm_80"),
        ("fma.rn.oob.relu.f16x2 %b32_0, %b32_1, %b32_2, %b32_3", (8, 1), "sm_90"),
        ("tanh.approx.bf16 %b16_0, %b16_1", (7, 8), "sm_90"),
        ("ex2.approx.ftz.bf16x2 %b32_0, %b32_1", (7, 8), "sm_90"),
        ("add.rz.sat.f32.bf16 %f32_0, %b16_1, %f32_2", (8, 6), "sm_100"),
        ("fma.rn.f32.f16 %f32_0, %b16_1, %b16_2, 0f3F800000", (8, 6), "sm_100"),
        ("add.f32x2.f16x2.f32x2 %b64_0, %b32_0, %b64_1", (9, 4), "sm_107f"),
        ("szext.wrap.s32 %s32_0, %s32_1, 8", (7, 6), "sm_75"),
        ("clmad.hi.u64 %u64_0, %u64_1, %u64_2, 0", (9, 3), "sm_80"),
        ("add.sat.u32 %u32_0, %u32_1, 1", (9, 2), "sm_120f"),
        ("sub.s8x4 %b32_0, %b32_1, %b32_2", (9, 2), "sm_120f"),
        ("sin.approx.ftz.2pi.f32 %f32_0, %f32_1", (9, 5), "sm_75"),
        ("lop3.or.b32 _|%pred_0, %b32_1, %b32_2, 7, 0x80, !%pred_1", (8, 2), "sm_75"),
        ("setp.lt.bf16x2 %pred_0|%pred_1, %b32_1, %b32_2", (7, 8), "sm_90"),
        ("set.gt.u16.f16 %u16_0, %b16_1, %b16_2", (6, 5), "sm_75"),
    ],
)
def test_first_version_and_lowest_target(statement: str, version: tuple[int, int], target: str) -> None:
    match = checked(statement)
    assert match.version == version
    # The byte and saturating forms are those of two families.
    if target == "sm_120f":
        assert match.targets == {"sm_107a", "sm_107f", "sm_120a", "sm_120f", "sm_121a", "sm_121f"}
    else:
        assert lowest_target(match.targets) == target


def test_a_third_input_needs_a_newer_version_than_two() -> None:
    assert checked("min.f32 %f32_0, %f32_1, %f32_2").version < checked("min.f32 %f32_0, %f32_1, %f32_2, %f32_3").version


def test_opcodes_of_real_code_are_known() -> None:
    lines = (Path(__file__).parent.parent / "data" / "arithmetic_opcodes.txt").read_text().splitlines()
    opcodes = [line for line in lines if not line.startswith("#")]
    assert len(opcodes) > 150
    for opcode in opcodes:
        assert lookup(opcode)


# ---- operands --------------------------------------------------------------------------------------------------------

REGISTERS = (
    "%pred_7", "%b8_7", "%u8_7", "%s8_7", "%b16_7", "%u16_7", "%s16_7", "%f16_7", "%b32_7", "%u32_7", "%s32_7", "%f32_7",
    "%f16x2_7", "%b64_7", "%u64_7", "%s64_7", "%f64_7",
)  # fmt: skip
# In a wrong place these are syntax errors, at which ptxas stops reading: they are judged only where the contract takes them. So are
# constants in a pair of results.
UNGRAMMATICAL = ("_", "!%pred_7")
OTHERS = ("5", "-1", "300", "0f3F800000", "0d3FF0000000000000", *UNGRAMMATICAL)

# Where ptxas takes more than the ISA allows, and this library stays with the ISA.
LENIENT = {
    "an .f16x2 register counts as 32 untyped bits": lambda name, alternative: alternative == "%f16x2_7",
    "lop3's table is an 8-bit constant (9.7.9.6)": lambda name, alternative: name == "lop3 immLut",
    "lop3 without a predicate result has nothing to drop": lambda name, alternative: name == "lop3 d" and alternative == "_",
    "fns's offset is an .s32 (9.7.1.18)": lambda name, alternative: name == "fns offset",
}


def one_of_each_type(form: Form) -> Iterator[Statement]:
    """A plain statement for each choice of types, modes and combining operations of a syntax line."""
    seen = set()
    for bound in legal_choices(form):
        key = tuple(sorted((name, value) for name, value in bound.items() if name in (".mode", ".BoolOp") or str(value)[1:] in TYPES))
        if key not in seen:
            seen.add(key)
            yield from statements(Match(form.opcode(bound), form, bound), variant=0)


def replaced(statement: Statement) -> Iterator[tuple[str, str, list[Given]]]:
    """The statement with each operand replaced by each alternative."""
    for place, slot in enumerate(statement.slots):
        for text in (*REGISTERS, *(UNGRAMMATICAL if slot.second else OTHERS)):
            if slot.second:
                first, second = (one.text for one in statement.given[place].items)
                changed = [(slot.name, f"{text}|{second}"), (slot.second, f"{first}|{text}")]
            else:
                changed = [(slot.name, text)]
            for name, spelled in changed:
                yield name, text, [*statement.given[:place], given(spelled), *statement.given[place + 1 :]]


def accepts(opcode: str, operands: list[Given]) -> bool:
    try:
        check(opcode, operands)
    except InstructionError:
        return False
    return True


@needs_ptxas
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_operands_are_judged_as_ptxas_judges_them(family: str) -> None:
    batches = defaultdict(list)
    for entry in family_entries(family):
        for statement in (one for form in forms(entry) for one in one_of_each_type(form)):
            for name, alternative, operands in replaced(statement):
                named = f"{entry.name} {name}"
                if any(lenient(named, alternative) for lenient in LENIENT.values()):
                    continue
                opcode = statement.match.opcode
                accepted = accepts(opcode, operands)
                if alternative in UNGRAMMATICAL and not accepted:
                    continue
                text = f"{opcode} {', '.join(one.text for one in operands)};"
                batches[statement.version, statement.target].append((text, accepted))
    for (version, target), judged in batches.items():
        refused = refusals([text for text, _ in judged], version, target)
        wrong = [text for index, (text, accepted) in enumerate(judged) if accepted == (index in refused)]
        assert not wrong, f"{len(wrong)} judged otherwise by ptxas for {target}:\n" + "\n".join(wrong[:40])


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "problem", "law"),
    [
        ("add.sat.u64 %u64_0, %u64_1, %u64_2", "these qualifiers do not go together", ".sat goes with .s32, .u32 and the packed types"),
        ("setp.lo.s32 %pred_0, %s32_0, %s32_1", "these qualifiers do not go together", "compare by eq, ne, lt, le, gt, ge"),
        ("div.ftz.rn.f32 %f32_0, %f32_1, %f32_2", "the ISA writes these qualifiers in another order", "div.rn.ftz.f32"),
        ("add.f32 %f32_0, %u32_0, %f32_1", "operand a: %u32_0 is .u32 where the instruction takes .f32", "a register of .f32 or .b32"),
        ("lop3.b32 %b32_0, %b32_1, %b32_2, %b32_3, 256", "operand immLut: the constant 256 is out of range", "0 to 255"),
        ("add.f16 %f16_0, %f16_1, 0x3C00", "operand b: the constant 0x3C00", "a type that PTX has no constants of"),
        ("setp.eq.u32 _|_, %u32_0, 1", "operand p: _|_ drops both results", "9.7.7.2"),
        ("setp.eq.f16 %pred_0|%pred_1, %f16_0, %f16_1", "do not go together", "only pairs write a second predicate (PTX ISA 9.7.8.2)"),
        ("add.u16x2 %b32_0, %u32_1, %b32_2", "%u32_1 is .u32 where the instruction takes .u16x2", ".b32"),
        (
            "shl.b64 %b64_0, %b64_1, %u64_0",
            "operand b: %u64_0 is .u64 where the instruction takes .u32",
            "a register of .u32, .s32 or .b32",
        ),
    ],
)
def test_refusals_name_the_law(statement: str, problem: str, law: str) -> None:
    with pytest.raises(InstructionError) as caught:
        checked(statement)
    opening, _, explanation = str(caught.value).partition("\n")
    assert opening.startswith(statement.partition(" ")[0])
    assert problem in opening
    assert law in opening + explanation


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_every_entry_explains_its_qualifiers(family: str) -> None:
    """Everything that a syntax line lists beside types and comparisons has a sentence."""
    for entry in family_entries(family):
        for form in forms(entry):
            for bound in legal_choices(form):
                for name, value in bound.items():
                    if name in entry.operands or str(value)[1:] in TYPES:
                        continue
                    assert name in entry.meaning or str(value) in entry.meaning or "CmpOp" in name, (entry, name, value)


def test_family_table_names_every_first_word() -> None:
    for family in FAMILY_NAMES:
        heads = {form.head for entry in family_entries(family) for form in forms(entry)}
        assert heads == set(FAMILIES[family])
    assert set(FIRST_VERSION) >= {"sm_107", "sm_107a", "sm_107f"}
