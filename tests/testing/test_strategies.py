"""Everything that `ptxgen.testing` draws is legal, shrinks to what is plain, and means what it says."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import PtxgenError, S, laneid, u32
from ptxgen.assemble import ptxas
from ptxgen.certify.judge import judge
from ptxgen.instructions.checking import check
from ptxgen.instructions.targets import FIRST_VERSION
from ptxgen.testing import (
    kernels,
    layouts,
    memory_layouts,
    module_of,
    opcodes,
    operand_sets,
    register_layouts,
    shapes,
    statements,
    swizzles,
    view_steps,
)  # fmt: skip

SOME = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIMPLEST = settings(database=None, deadline=None, phases=[Phase.generate, Phase.shrink], max_examples=250)


def simplest(strategy, condition=lambda drawn: True):
    return find(strategy, condition, settings=SIMPLEST, random=Random(0))


def positions(layout):
    """Every element's place, axis by axis, by calling the layout."""
    return [tuple(sorted((axis.name, value) for axis, value in layout(*at).items() if value)) for at in np.ndindex(*layout.shape)]


# ---- layouts ----------------------------------------------------------------------------------------------------------


@SOME
@given(shapes(min_axes=2, max_axes=4, max_elements=120, multiple_of=2))
def test_shapes_are_as_they_were_asked_for(shape):
    assert 2 <= len(shape) <= 4 and prod(shape) <= 120 and all(extent % 2 == 0 for extent in shape)


@SOME
@given(swizzles(granule=4, period=256))
def test_swizzles_keep_their_granule_and_period_and_are_their_own_inverse(swizzle):
    at = np.arange(512)
    moved = swizzle.apply_bytes(at)
    assert (swizzle.apply_bytes(moved) == at).all() and (moved != at).any()
    assert (moved % 4 == at % 4).all(), "4 bytes stay together"
    assert (moved[256:] == moved[:256] + 256).all()


@SOME
@given(layouts())
def test_layouts_give_every_element_a_place_of_its_own(layout):
    assert max(Counter(positions(layout)).values()) == 1


@FEW
@given(memory_layouts((4, 6), swizzle=swizzles(granule=4)))
def test_swizzled_layouts_hold_in_shared_memory_what_is_stored(layout):
    assert layout.swizzle is not None

    @px.kernel(grid=1, block=1)
    def kernel(y: px.Tensor((4, 6), u32)):
        tile = px.shared((4, 6), u32, layout=layout)
        for at in np.ndindex(4, 6):
            px.ptx["st.shared.u32"](tile[at], px.u32(6 * at[0] + at[1]))
        for at in np.ndindex(4, 6):
            px.ptx["st.global.u32"](y[at], px.ptx["ld.shared.u32"](tile[at]))

    found = np.zeros((4, 6), np.uint32)
    kernel(found)
    assert (found == np.arange(24).reshape(4, 6)).all()


@SOME
@given(memory_layouts((4, 6), gaps=False))
def test_layouts_without_gaps_fill_a_row(layout):
    assert sorted(positions(layout)) == sorted([tuple([("m", at)] if at else []) for at in range(24)])


@SOME
@given(register_layouts((8, 12), lanes=16, warps=2))
def test_registers_stay_within_the_lanes_and_warps_that_there_are(layout):
    for at in np.ndindex(8, 12):
        place = {axis.name: value for axis, value in layout(*at).items()}
        thread = place.get("tx", 0) + 32 * place.get("warpid", 0) + place.get("laneid", 0)
        assert thread < 64 and thread % 32 < 16


def test_what_is_plain_comes_last():
    assert simplest(shapes()) == (1,)
    assert simplest(swizzles()) == px.Swizzle(1, 0, 1)
    assert simplest(memory_layouts((2, 3))) == px.Layout(S[(2, 3)])
    assert simplest(register_layouts((2, 3))) == px.Layout(S[(2, 3)])
    assert simplest(view_steps((2, 3))).operations == ()
    drawn = simplest(kernels())
    assert (drawn.family, drawn.seed, drawn.fields["dtype"], drawn.fields["threads"]) == ("ld and st", 0, "b32", ("thread", 1, 0, 1))


def test_a_condition_shrinks_to_the_least_that_meets_it():
    """A layout that is not row-major; one that uses lanes; a chain that drops an axis."""
    assert simplest(memory_layouts((2, 3)), lambda layout: positions(layout)[3] != (("m", 3),)) == px.Layout(S[(2, 3) : (4, 1)])
    lanes = simplest(register_layouts((2, 3)), lambda layout: any(axis.name == "tx" for axis in layout(1, 1)))
    assert lanes in (px.Layout(S[(2, 3) : (1 @ laneid, 1)]), px.Layout(S[(2, 3) : (3, 1 @ laneid)]))
    assert str(simplest(view_steps((4, 5)), lambda steps: len(steps.shape) < 2)) in ("x[0, 0]", "x[0, 0:1]", "x[0:1, 0]", "x.view(20)")


def test_a_swizzle_needs_room():
    with pytest.raises(ValueError, match="no swizzle keeps 16 bytes together and repeats after 32; a period of at least 64 does"):
        simplest(swizzles(granule=16, period=32))


# ---- views ------------------------------------------------------------------------------------------------------------


@FEW
@given(st.data(), shapes(max_elements=48))
def test_a_chain_of_views_means_what_numpy_says(data, shape):
    steps = data.draw(view_steps(shape))
    array = np.arange(prod(shape), dtype=np.uint32).reshape(shape)
    wanted = steps.of(array)
    assert np.shares_memory(wanted, array) and steps.shape == wanted.shape

    @px.kernel(grid=1, block=1)
    def kernel(x: px.Tensor(shape, u32), y: px.Tensor((max(1, wanted.size),), u32)):
        view = steps.of(x)
        for number, at in enumerate(np.ndindex(*wanted.shape)):
            px.ptx["st.global.u32"](y[number], px.ptx["ld.global.u32"](view[at]))

    found = np.zeros(wanted.size, np.uint32)
    kernel(array, found)
    assert (found == wanted.reshape(-1)).all()


def test_a_chain_prints_as_it_is_typed():
    steps = simplest(view_steps((6, 4)), lambda steps: [name for name, _ in steps.operations] == ["permute", "index"])
    assert str(steps).startswith("x.permute(0, 1)[")


# ---- instructions -----------------------------------------------------------------------------------------------------


@SOME
@given(st.data(), opcodes())
def test_contracts_accept_the_operands_of_every_opcode(data, opcode):
    operands = data.draw(operand_sets(opcode))
    assert check(opcode, list(operands)).match.opcode == opcode


@FEW
@given(opcodes(("memory", "matrix"), target="sm_90"))
def test_opcodes_are_of_their_families_and_run_on_their_target(opcode):
    from ptxgen.instructions.registry import lookup

    matches = lookup(opcode)
    assert any(match.entry.family in ("memory", "matrix") and "sm_90" in match.targets for match in matches)


@settings(FEW, max_examples=1)
@given(st.lists(statements(target="sm_90a"), min_size=20, max_size=20))
def test_statements_assemble(drawn):
    placed = [(one, max(one.match.version, FIRST_VERSION["sm_90a"]), "sm_90a") for one in drawn]
    assert judge(placed) == []


@given(statements("integer"))
@settings(FEW, max_examples=1)
def test_a_module_holds_a_statement_and_assembles(statement):
    text = module_of(statement, "sm_90")
    assert statement.text in text
    ptxas(text, "compute_90")


def test_unknown_families_and_targets():
    with pytest.raises(PtxgenError, match="no family of instructions is called 'memori'"):
        opcodes("memori")
    with pytest.raises(PtxgenError, match="unknown target 'sm_91'"):
        opcodes("memory", target="sm_91")
    with pytest.raises(PtxgenError, match="no instruction of tensor_memory runs on sm_80"):
        opcodes("tensor_memory", target="sm_80")


# ---- kernels ----------------------------------------------------------------------------------------------------------


@FEW
@given(kernels())
def test_kernels_compute_what_numpy_says(drawn):
    assert drawn.wrong() is None


def test_a_wrong_result_is_told(monkeypatch):
    drawn = simplest(kernels("ld and st"))
    case = drawn.build()
    case.wanted[1][...] += 1
    _, wrong = case.emulated()
    assert wrong is not None and wrong.startswith("argument 1: ") and "elements differ, the first at (0, 0, 0, 0)" in wrong


# ---- without Hypothesis -----------------------------------------------------------------------------------------------


def test_without_hypothesis_the_message_says_what_to_install():
    program = "import sys; sys.modules['hypothesis'] = None; import ptxgen as px\ntry: px.testing.layouts\n"
    program += "except px.PtxgenError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "px.testing.layouts draws with Hypothesis, which is not installed: pip install ptxgen[testing]\n", done.stderr
