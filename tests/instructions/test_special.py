"""Special registers against ptxas: first version, targets, type and components of each."""

from __future__ import annotations

from collections import defaultdict

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.gates import NEWEST, VERSIONS
from ptxgen.certify.judge import refusals
from ptxgen.instructions.checking import Given, check
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.special import SPECIAL, SpecialRegister, is_special, special_register
from ptxgen.instructions.targets import FIRST_VERSION, lowest_target
from ptxgen.instructions.types import type_named
from ptxgen.layouts.errors import PtxgenError

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")

# Those that need a directive of their kernel have no place among the others.
PLAIN = [one for one in SPECIAL.values() if not one.directive]


def reads(one: SpecialRegister) -> list[str]:
    suffixes = [f".{part}" for part in one.components] or [""]
    return [f"mov.{one.type.name} %{one.type.name}_0, {one.name}{suffix};" for suffix in suffixes]


def accepted(texts: list[str], version: tuple[int, int], target: str) -> set[str]:
    refused = refusals(texts, version, target)
    return {text for index, text in enumerate(texts) if index not in refused}


@needs_ptxas
def test_each_is_read_from_its_first_version_on_and_not_before() -> None:
    for target in ("sm_75", "sm_80", "sm_90", "sm_100"):
        mine = [one for one in PLAIN if lowest_target(one.targets) == target]
        assert mine
        for version in (version for version in VERSIONS if version >= FIRST_VERSION[target]):
            texts = [text for one in mine for text in reads(one)]
            expected = {text for one in mine for text in reads(one) if one.version <= version}
            assert accepted(texts, version, target) == expected, (version, target)


@needs_ptxas
def test_each_is_read_on_its_targets_and_no_other() -> None:
    texts = [text for one in PLAIN for text in reads(one)]
    for target in FIRST_VERSION:
        expected = {text for one in PLAIN for text in reads(one) if target in one.targets}
        assert accepted(texts, NEWEST, target) == expected, target


@needs_ptxas
def test_types_and_components_are_those_of_ptxas() -> None:
    types = ("pred", "u16", "u32", "f32", "u64", "f64")
    for text, legal in {
        f"mov.{name} %{name}_0, {one.name}{suffix};": _legal(one, suffix, name)
        for one in PLAIN
        for suffix in ("", ".x", ".w")
        for name in types
    }.items():
        verdicts[legal].append(text)
    assert not refusals(verdicts[True], NEWEST, "sm_100")
    assert len(refusals(verdicts[False], NEWEST, "sm_100")) == len(verdicts[False])


verdicts: dict[bool, list[str]] = defaultdict(list)


def _legal(one: SpecialRegister, suffix: str, name: str) -> bool:
    """What `check` says of reading it by ``mov.name``."""
    try:
        check(f"mov.{name}", [Given("register", "%r", type_named(name)), Given("register", one.name + suffix, one.type)])
    except PtxgenError:
        return False
    return True


def test_ranges() -> None:
    tid, component = special_register("%tid.z")
    assert (tid.name, component) == ("%tid", "z")
    assert tid.values("z") == range(64)
    assert tid.values("x") == range(1024)
    assert tid.values("w") == range(1)
    assert special_register("laneid")[0].values() == range(32)
    assert special_register("%clock64")[0].values() == range(2**64)
    assert special_register("%nctaid.x")[0].values("x").stop == 2**31
    for one in SPECIAL.values():
        assert not one.below or one.below in SPECIAL
        assert one.meaning.endswith(".")


def test_names() -> None:
    assert is_special("%tid.x") and is_special("%envreg31")
    assert not is_special("%r1") and not is_special("%envreg32") and not is_special("tid")
    with pytest.raises(PtxgenError, match=r"PTX has no special register '%lainid'; nearest: %laneid"):
        special_register("%lainid")
    with pytest.raises(PtxgenError, match=r"%laneid.x: %laneid has no components \(PTX ISA 10.3\)"):
        special_register("%laneid.x")
    with pytest.raises(PtxgenError, match=r"%tid.q: %tid has the components .x, .y, .z, .w"):
        special_register("%tid.q")


def test_only_mov_and_integer_cvt_read_one() -> None:
    u32 = type_named("u32")
    lane = Given("register", "%laneid", u32)
    check("cvt.u64.u32", [Given("register", "%rd1", type_named("u64")), lane])
    with pytest.raises(InstructionError, match="%laneid is a special register, which only mov and a cvt between integers read"):
        check("st.global.u32", [Given("address", "[%rd1]"), lane])
    with pytest.raises(InstructionError, match="%laneid is a special register, which can only be read"):
        check("mov.u32", [lane, Given("register", "%r1", u32)])
    with pytest.raises(InstructionError, match=r"%tid is a vector where the instruction takes one value; name a component, such as %tid.x"):
        check("mov.u32", [Given("register", "%r1", u32), Given("register", "%tid", u32)])
