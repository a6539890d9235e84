"""What `explain` says comes from contracts that ptxas has judged; what it adds, the examples and the neighbours, is judged here."""

from __future__ import annotations

import pytest

from ptxgen.assemble.referee import check_many
from ptxgen.assemble.tools import find_tool
from ptxgen.certify.choices import legal_choices
from ptxgen.explain import (
    Explanation,
    Overview,
    described,
    described_register,
    example_of,
    explain,
    explain_register,
    nearest_opcodes,
)
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries, lookup, mnemonics
from ptxgen.instructions.special import SPECIAL
from ptxgen.instructions.targets import FIRST_VERSION, lowest_target
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read
from ptxgen.verify import verify

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
PER_FORM = 24


def _matches() -> list[Match]:
    """Some readings of every syntax line of every contract."""
    found = []
    for family in FAMILIES:
        for entry in family_entries(family):
            for form in forms(entry):
                choices = legal_choices(form)
                found += [Match(form.opcode(bound), form, bound) for bound in choices[:: max(1, len(choices) // PER_FORM)]]
    return found


def _modules() -> list[tuple[str, str]]:
    """(target, text): the examples of one version and target together in a module."""
    batches: dict[tuple[str, str], list[object]] = {}
    for match in _matches():
        example = example_of(match)
        if example is not None:
            batches.setdefault((example.version, example.target), []).append(example)
    found = []
    for (version, target), examples in batches.items():
        outside = sorted({line for example in examples for line in example.outside})  # type: ignore[attr-defined]
        functions = [example.function(f"example_{number}") for number, example in enumerate(examples)]  # type: ignore[attr-defined]
        lines = [f".version {version}", f".target {target}", ".address_size 64", *outside, *functions]
        found.append((target, "\n".join(lines) + "\n"))
    return found


def test_metadata_of_sparse_factors_has_its_bits_told() -> None:
    """Row 1's chunks 4 to 7 are lane 5's lower half word, and row 9's its upper one; in tensor memory lane r + 8 has the upper four."""
    (sparse,) = explain("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    held = {one.name: one.holds for one in sparse.operands}
    assert held["e"] == (
        "with selector = 0: S[((2, 8), (2, 4)) : ((4, 4 @ laneid), (1 @ laneid, 1))]: thread 5 has register 0: "
        "(1, 4) (1, 5) (1, 6) (1, 7) (9, 4) (9, 5) (9, 6) (9, 7)"
    )
    (product,) = explain("tcgen05.mma.sp.cta_group::1.kind::f16")
    operands = {one.name: one for one in product.operands}
    assert operands["sp_meta_tmem"].holds.startswith("with rows = 128, selector = 0: S[((8, 2, 8), (2, 4)) : ((16 @ TLane, 4, 1 @ TLane)")
    assert "0-1 the selector of the metadata; 2 whether A is sparse" in operands["idesc"].meaning
    assert operands["a_desc"].holds.startswith("bits 0-13 the matrix's shared address / 16; bits 16-29")


@needs_ptxas
def test_every_example_assembles() -> None:
    modules = _modules()
    assert sum(text.count("example_") for _, text in modules) > 1000
    for target, text in modules:
        (verdict,) = check_many([text], target.replace("sm_", "compute_"))
        assert verdict.ok, verdict.log[:2000]


def test_verify_finds_nothing_in_the_examples() -> None:
    for _, text in _modules():
        assert [str(problem) for problem in verify(read(text))] == []


@needs_ptxas
@pytest.mark.parametrize(
    "opcode", ["ld.global.v4.b32", "st.shared.f32", "mov.b64", "setp.lt.and.f32", "bra", "brx.idx", "call", "bar.sync"]
)
def test_a_printed_module_assembles_as_it_stands(opcode: str) -> None:
    answer = explain(opcode)
    assert not isinstance(answer, Overview)
    for one in answer:
        assert one.example is not None
        (verdict,) = check_many([one.example.module()], one.example.target)
        assert verdict.ok, verdict.log


def test_ld_global_v4() -> None:
    answer = explain("ld.global.v4.b32")
    assert isinstance(answer, list)
    (one,) = answer
    assert described(one).splitlines()[0] == f"ld.global.v4.b32  (PTX ISA {one.section})"
    assert [(facts.name, facts.takes, facts.alignment, facts.view) for facts in one.operands] == [
        ("d", "4 registers of 32 bits or wider in braces", None, "(*group, *repeat, 4)"),
        ("a", "an address [base+offset] in .global", 16, "(*group, *repeat, 4)"),
    ]
    chosen = {qualifier.name: qualifier for qualifier in one.qualifiers if qualifier.value}
    assert chosen[".ss"].value == ".global" and ".shared" in chosen[".ss"].others and "" in chosen[".ss"].others
    assert set(chosen[".vec"].others) == {".v2", ".v8", ""}
    assert "" not in chosen[".type"].others and ".b128" not in chosen[".type"].others
    assert (one.issuer, one.completes, one.version, one.targets, one.tile) == ("thread", "at once", "1.0", "all", "")
    assert one.example is not None
    assert one.example.statement == "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0];"


@pytest.mark.parametrize(
    ("opcode", "line"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            "d (*group, *repeat, M, N, 16, 8), a (*group, *repeat, M, K, 16, 16), "
            "b (*group, *repeat, N, K, 8, 16), c (*group, *repeat, M, N, 16, 8)",
        ),
        ("cp.async.cg.shared.global", "dst (*group, *repeat, elements of one copy), src (*group, *repeat, elements of one copy)"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "r (*group, *repeat, 4, 8, 8), p (*group, *repeat, 4, 8, 8)"),
        ("add.f32", "d (*group, *repeat, 1), a (*group, *repeat, 1), b (*group, *repeat, 1)"),
    ],
)
def test_shapes_of_tiles(opcode: str, line: str) -> None:
    assert f"\ntile.apply: shapes {line}\n" in described(explain(opcode)[0])


def test_every_other_choice_is_legal() -> None:
    """Putting one of the other values in the place of the chosen one spells an opcode that exists."""
    for opcode in ("ld.global.v4.b32", "add.rn.ftz.f32", "cvt.rn.f16.f32", "setp.lt.f32"):
        for one in explain(opcode):
            assert isinstance(one, Explanation)
            (match, *_) = lookup(opcode)
            for qualifier in one.qualifiers:
                for other in qualifier.others:
                    bound = {**match.bindings, qualifier.name: other}
                    if other and qualifier.value:
                        assert lookup(match.form.opcode(bound)), (opcode, qualifier)


def test_this_variant_needs_this_version_and_target() -> None:
    (one,) = explain("ld.global.v8.b32")
    assert isinstance(one, Explanation)
    assert (one.version, one.targets) == ("8.8", "sm_100 and newer")


def test_two_instructions_of_one_spelling() -> None:
    names = [one.name for one in explain("mov.b64")]  # type: ignore[union-attr]
    assert names == ["mov", "mov (pack and unpack)"]


@pytest.mark.parametrize("mnemonic", sorted(mnemonics() - {"bra", "ret", "exit", "call", "brkpt", "pmevent", "trap"}))
def test_a_mnemonic_alone_gives_an_overview(mnemonic: str) -> None:
    answer = explain(mnemonic)
    assert isinstance(answer, Overview)
    assert all(line.startswith(mnemonic) for one in answer.instructions for line in one.syntax)
    assert described(answer)
    assert answer.json()["mnemonic"] == mnemonic


def test_a_value_is_explained_beside_its_position_and_what_could_be_added_value_by_value() -> None:
    (loaded,) = explain("tcgen05.ld.sync.aligned.16x256b.x2.b32")  # type: ignore[misc]
    shape = next(one for one in loaded.qualifiers if one.value == ".16x256b")
    assert shape.meaning.startswith("16 lanes") and "a warp reaches" in shape.position
    (waited,) = explain("mbarrier.try_wait.parity.shared::cta.b64")  # type: ignore[misc]
    order = next(one for one in waited.qualifiers if one.name == ".sem")
    assert order.others == (".acquire", ".relaxed") and order.beside == ".scope" and dict(order.each)[".relaxed"]
    assert "  .acquire .relaxed (together with .scope): " in described(waited)


@pytest.mark.parametrize(
    "wrong, near",
    [
        ("ld.globl.v4.b32", "ld.global.v4.b32"),
        ("add.ftz.f64", "add.f64"),
        ("fma.f32", "fma.rn.f32"),
        ("adds.f32", "add.f32"),
        ("ld.global.v4", "ld.global.v4.b8"),
        ("mul.u32", "mul.lo.u32"),
        ("mma.m16n8k16.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("ldmatrix.x4.m8n8.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
        ("tcgen05.ld.32x32b.x8.b32", "tcgen05.ld.sync.aligned.32x32b.x8.b32"),
    ],
)
def test_a_wrong_opcode_names_legal_ones_nearby(wrong: str, near: str) -> None:
    with pytest.raises(InstructionError) as caught:
        explain(wrong)
    assert near in str(caught.value).rpartition("nearest: ")[2].split(", ")
    assert all(lookup(opcode) for opcode in nearest_opcodes(wrong))


@needs_ptxas
def test_special_registers_are_read_as_the_example_says() -> None:
    for name, register in SPECIAL.items():
        facts = explain_register(name)
        assert described_register(facts).startswith(f"{name}  (PTX ISA {register.section})\n")
        if register.directive:
            continue
        target = lowest_target(register.targets)
        version = max(register.version, FIRST_VERSION[target])
        body = f".reg .pred %p<1>; .reg .b32 %r<1>; .reg .b64 %rd<1>; {facts['example']}"
        text = f".version {version[0]}.{version[1]}\n.target {target}\n.address_size 64\n.visible .entry k() {{ {body} ret; }}\n"
        (verdict,) = check_many([text], target.replace("sm_", "compute_"))
        assert verdict.ok, (name, verdict.log)


def test_a_component_of_a_special_register() -> None:
    facts = explain_register("%tid.z")
    assert (facts["register"], facts["type"], facts["largest"], facts["below"]) == ("%tid.z", "u32", {".z": 63}, "%ntid")
    with pytest.raises(PtxgenError, match="nearest: %tid"):
        explain_register("%tidd")


@pytest.mark.parametrize("kind, k", [("f16", 16), ("bf16", 8), ("s8", 32)])
def test_fragments_of_a_product_are_where_the_isa_puts_them(kind, k):
    """Thread 5 has group 1 and place 1 in it: rows 1 and 9, and of every four words of a row the second (ISA "Matrix fragments")."""
    result = "s32" if kind == "s8" else "f32"
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.{result}.{kind}.{kind}.{result}"
    (explained,) = explain(opcode)
    said = {one.name: one.holds.partition("thread 5 has ")[2] for one in explained.operands}
    each = {"f16": 2, "bf16": 2, "s8": 4}[kind]

    def word(row, number):
        return " ".join(f"({row}, {4 * each * number + each + at})" for at in range(each))

    words = k // (4 * each)
    a = [word(row, number) for number in range(words) for row in (1, 9)]
    assert said["a"] == "; ".join(f"register {at}: {one}" for at, one in enumerate(a))
    assert said["b"] == "; ".join(f"register {number}: {word(1, number)}" for number in range(words))
    assert said["d"] == "register 0: (1, 2); register 1: (1, 3); register 2: (9, 2); register 3: (9, 3)"


def test_descriptors_are_taken_apart():
    (with_shared, *_) = explain("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    (said,) = [one.holds for one in with_shared.operands if one.name == "b_desc"]
    assert "bits 16-29 the leading-dimension byte offset / 16" in said and "bits 62-63 the swizzle: 0 for none, 3 for 32 bytes" in said
    (product,) = explain("tcgen05.mma.cta_group::1.kind::tf32")
    (said,) = [one.holds for one in product.operands if one.name == "idesc"]
    assert "from bit 7 the type of a_desc or a_tmem: 2 for tf32" in said and "from bit 17 n // 8; from bit 24 m // 16" in said
