"""Asynchronous families: forms against a published table, constants against ptxas, and how operands are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.choices import legal_choices
from ptxgen.certify.gates import NEWEST
from ptxgen.certify.judge import judge
from ptxgen.certify.statements import Statement, statements
from ptxgen.instructions.checking import Given, check
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Form, Slot, broken_rules, forms
from ptxgen.instructions.registry import Match, family_entries, lookup
from ptxgen.instructions.targets import FIRST_VERSION, lowest_target, target_set
from ptxgen.instructions.types import TYPES

DATA = Path(__file__).parent.parent / "data"
FAMILIES = ("async_copy", "bulk_copy", "cache", "mbarrier", "fence", "fabric", "warpgroup", "tensor_memory")
needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")


# ---- a table of forms -------------------------------------------------------------------------------------------------

# Forms that a C++ header library states, each with its operands ("[" an address), first version and targets. What ptxas 13.5 proves
# wrong there: opcodes, our version and targets, and what the table says instead.
DISAGREEMENTS = {
    r".*\.kind::i8\b.*": "ptxas has products of integers on sm_100a and sm_110a alone, not in their families and not on sm_103a",
    r".*\.kind::mxf4nvf4\.block_scale\.scale_vec::.*": "ptxas wants version 8.7 of .kind::mxf4nvf4, not 8.6",
    r"cp\.async\.bulk\.(shared.*|tensor.*\.tile\.mbarrier.*)\.multicast::cluster": "ptxas takes it on plain sm_90 too, and warns",
}
NEWER_THAN_THE_TABLE = target_set("sm_107+") - target_set("sm_110+")


def spelled(pattern: str) -> Iterator[str]:
    """``mbarrier.{arrive,init}.b64`` -> ``mbarrier.arrive.b64``, ``mbarrier.init.b64``."""
    parts = re.split(r"\{([^}]*)\}", pattern)
    return map("".join, product(*(part.split(",") if number % 2 else [part] for number, part in enumerate(parts))))


def table() -> Iterator[tuple[str, str, tuple[int, int], frozenset[str]]]:
    """Every opcode of the table with the shape of its operands, its version and targets."""
    for line in (DATA / "async_forms.tsv").read_text().splitlines():
        pattern, shape, version, targets = line.split("\t")
        for opcode in spelled(pattern):
            # The table has the type of tcgen05.ld.red in front of the operation, as ptxas takes it as well; the ISA has it last.
            opcode = re.sub(r"\.(f32|s32|u32)\.(min|max)(\.abs)?$", lambda found: f".{found[2]}{found[3] or ''}.{found[1]}", opcode)
            major, minor = version.split(".")
            yield opcode, shape.replace("-", ""), (int(major), int(minor)), target_set(targets)


def takes(match: Match, slots: tuple[Slot, ...]) -> bool:
    names = {name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name}
    return not any(broken_rules(match.entry, {**match.bindings, **dict.fromkeys(names, True)}, operands_known=True))


def shapes(match: Match) -> set[str]:
    """The operand lists of an opcode, as the table writes them."""
    return {" ".join("[" if slot.bracket else "r" for slot in slots) for slots in match.form.operand_lists if takes(match, slots)}


def test_forms_versions_and_targets_are_those_of_a_published_table() -> None:
    seen: set[str] = set()
    number = 0
    for opcode, shape, version, targets in table():
        found = [match for match in lookup(opcode) if shape in shapes(match)]
        assert found, f"{opcode} with the operands {shape!r}"
        number += 1
        stated = max(version, FIRST_VERSION[lowest_target(targets)]), targets - NEWER_THAN_THE_TABLE
        ours = {(max(match.version, FIRST_VERSION[lowest_target(match.targets)]), match.targets - NEWER_THAN_THE_TABLE) for match in found}
        reasons = [pattern for pattern in DISAGREEMENTS if re.fullmatch(pattern, opcode)]
        assert (stated in ours) == (not reasons), f"{opcode}: {stated} in the table, {ours} here"
        seen.update(reasons)
    assert seen == set(DISAGREEMENTS)
    assert number == 878


def test_opcodes_of_published_kernels_are_known() -> None:
    opcodes = [opcode for pattern in (DATA / "async_opcodes.txt").read_text().split() for opcode in spelled(pattern)]
    assert len(set(opcodes)) == 802
    for opcode in opcodes:
        assert lookup(opcode), opcode


# ---- constants --------------------------------------------------------------------------------------------------------

# Operands whose constants ptxas 13.5 does not look at, or not at both ends: in the opcodes that a pattern matches.
SILENT = {
    "tx_count": ".*",
    "n": ".*",
    "imm_half_split_off": ".*",
    "byte_mask": ".*",
    "count": r"mbarrier\.arrive.*",
    "few": ".*",
    "phase_parity": r".*\.phase_type::primary\..*",  # where what was reported is asked for
    "size": r"fabric\..*",
}


def outside(values: tuple[int, ...] | range) -> list[int]:
    """Constants next to those that are allowed."""
    listed = [values[0], values[-1]] if isinstance(values, range) else list(values)
    step = values.step if isinstance(values, range) else 1
    near = {value + by for value in listed for by in (-step, step, *((1,) if step > 1 else ()))}
    return sorted(value for value in near if value not in values and value >= -1)


def replaced(statement: Statement, place: int, one: Given) -> Statement:
    given = (*statement.given[:place], one, *statement.given[place + 1 :])
    return statement._replace(given=given, text=f"{statement.match.opcode} {', '.join(operand.text for operand in given)};")


def wrong_constants(form: Form) -> Iterator[tuple[str, Statement]]:
    """Statements of a syntax line in which one constant is just outside of what its contract allows."""
    bound = legal_choices(form)[0]
    match = Match(form.opcode(bound), form, bound)
    for slots in form.operand_lists:
        plain = next((one for one in statements(match) if one.slots is slots), None)
        for place, slot in enumerate(slots):
            contract = form.entry.operands[slot.name]
            if plain is None or contract.values is None or slot.bracket:
                continue
            for value in outside(contract.values):
                yield slot.name, replaced(plain, place, Given("int", str(value), value=value))


@needs_ptxas
@pytest.mark.parametrize("family", FAMILIES)
def test_constants_out_of_range_are_refused_here_and_by_ptxas(family: str) -> None:
    wrong = [one for entry in family_entries(family) for form in forms(entry) for one in wrong_constants(form)]
    for _, statement in wrong:
        with pytest.raises(InstructionError):
            check(statement.match.opcode, statement.given, statement.setting)
    refused = {id(refusal.statement) for refusal in judge((statement, NEWEST, statement.target) for _, statement in wrong)}
    accepted = [(name, one) for name, one in wrong if id(one) not in refused]
    unexplained = [one.text for name, one in accepted if not re.fullmatch(SILENT.get(name, ""), one.match.opcode)]
    assert wrong and not unexplained, "\n".join(unexplained)


# ---- refusals ---------------------------------------------------------------------------------------------------------


def given(text: str) -> Given:
    """An operand as PTX writes it: ``%r1`` and the like are registers, ``p`` a predicate."""
    text = text.strip()
    if text.startswith("["):
        first, *inner = re.findall(r"\{[^}]*\}|[^,\[\]]+", text)
        return Given("address", f"[{first}]", items=tuple(map(given, inner)))
    if text.startswith("{"):
        return Given("vector", text, items=tuple(given(part) for part in text[1:-1].split(",")))
    if text == "_":
        return Given("sink", "_")
    if re.fullmatch(r"-?\d+", text):
        return Given("int", text, value=int(text))
    return Given("register", text, TYPES[{"%p": "pred", "%r": "b32", "%d": "b64", "%f": "f32", "%h": "b16"}[text[:2]]])


def refusal(statement: str) -> str:
    opcode, _, operands = statement.partition(" ")
    parts = re.findall(r"\[[^\]]*\]|\{[^}]*\}|[^,\[\]{}\s]+", operands)
    with pytest.raises(InstructionError) as caught:
        check(opcode, [given(part) for part in parts])
    return str(caught.value)


_BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
_TENSOR = "cp.async.bulk.tensor.{}.mbarrier::complete_tx::bytes"
_WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}"
REFUSED = [
    ("cp.async.ca.shared.global [%r0], [%d0], 12", "the constant 12 is out of range", "(4, 8, 16)"),
    ("cp.async.cg.shared.global [%r0], [%d0], 8", "the constant 8 is out of range", "(16)"),
    ("cp.async.ca.shared.global [%r0], [%d0], 4, 8", "the constant 8 is above cp_size, which is 4", "at most cp_size"),
    ("cp.async.ca.shared.global.L2::cache_hint [%r0], [%d0], 4", "given exactly where .L2::cache_hint is"),
    ("cp.async.wait_group %r0", "%r0 is a register where the instruction encodes a constant"),
    (f"{_BULK} [%r0], [%d0], 252, [%r1]", "the constant 252 is out of range", "0, 16, 32, ..."),
    (f"{_BULK} [%r0], [%d0], 16, [%r1], 3", "given exactly where .multicast::cluster"),
    (
        f"{_TENSOR.format('2d.shared::cluster.global')} [%r0], [%d0, {{%r1}}], [%r2]",
        "operand tensor_coords: {%r1} has 1 elements where the instruction takes 2",
    ),
    (f"{_TENSOR.format('1d.shared::cluster.global')} [%r0], [%d0, %r1], [%r2]", "takes one register in braces"),
    (
        f"{_TENSOR.format('2d.shared::cluster.global.im2col')} [%r0], [%d0, {{%r1, %r3}}], [%r2]",
        "im2col needs a tensor of three to five dimensions",
    ),
    ("mbarrier.init.shared.b64 [%r0], 0", "the constant 0 is out of range", "1 to 1048575"),
    ("mbarrier.arrive.shared::cluster.b64 %d0, [%r0]", "%d0 stands where only the sink _ can", "legal: the sink _"),
    ("mbarrier.arrive.release.shared::cta.b64 %d0, [%r0]", "a memory order and its scope are given together"),
    ("mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 2", "the constant 2 is out of range", "(0, 1)"),
    ("mbarrier.arrive.expect_tx.shared::cta.b64 %d0, [%r0], 1048576", "the constant 1048576 is out of range", "0 to 1048575"),
    ("fence.proxy.tensormap::generic.acquire.gpu [%d0], 64", "the constant 64 is out of range", "(128)"),
    ("createpolicy.range.L2::evict_last.b64 %d0, [%d1], 8192, 4096", "the constant 8192 is above total_size, which is 4096"),
    ("setmaxnreg.inc.sync.aligned.u32 230", "the constant 230 is out of range", "24, 32, 40, ..."),
    ("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f0}, %d0, %d1, %p0, 1, 1, 0, 0", "'.m64n12k16' cannot stand after"),
    (f"{_WGMMA}, %d0, %d1, %p0, 1, 2, 0, 0", "operand imm_scale_b: the constant 2 is out of range", "(-1, 1)"),
    (f"{_WGMMA}, {{%r0, %r1, %r2, %r3}}, %d1, %p0, 1, 1, 0, 0", "operand a_desc: {%r0, %r1, %r2, %r3} has 4 elements"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 48", "the constant 48 is out of range", "32, 64, 128, 256, 512"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 %r0, [%r1]", "%r0 stands where the instruction takes one register in braces"),
    ("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r0}, [%r1]", "takes four registers for each repetition, and at most 128"),
    ("tcgen05.mma.cta_group::1.kind::f8f6f4 [%r0], %d0, %d1, %r1, %p0, 3", "a scale for the accumulator is for .kind::f16"),
]


@pytest.mark.parametrize("case", REFUSED, ids=[case[0].split()[0] for case in REFUSED])
def test_refusals_say_what_is_wrong_and_what_is_legal(case: tuple[str, ...]) -> None:
    statement, *parts = case
    message = refusal(statement)
    assert "PTX ISA" in message
    assert [part for part in parts if part not in message] == [], message
