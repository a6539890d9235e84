"""Warp collectives: each against a loop over lanes written from the ISA's text, under random member masks and any order of threads."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.assemble import assemble

THREADS = 64


@pytest.fixture
def exchange(run) -> Callable[..., tuple]:
    """``exchange(lines, *inputs, outputs=1)``: 32-bit inputs in %r10, %r11 ..., outputs in %r20 ...; gives outputs and result."""

    def launch(lines: str, *inputs, outputs: int = 1, **options):
        results = [np.zeros(THREADS, np.uint32) for _ in range(outputs)]
        arrays = [np.ascontiguousarray(one, np.uint32) for one in inputs] + results
        body = ["mov.u32 %r50, %tid.x;"]
        for number in range(len(arrays)):
            body.append(f"ld.param.u64 %rd{number}, [{'abcdefgh'[number]}]; mad.wide.u32 %rd{number}, %r50, 4, %rd{number};")
        body += [f"ld.global.b32 %r{10 + number}, [%rd{number}];" for number in range(len(inputs))]
        body.append(lines)
        body += [f"st.global.b32 [%rd{len(inputs) + number}], %r{20 + number};" for number in range(outputs)]
        result = run("\n".join(body), *arrays, block=THREADS, **options)
        return (*results, result)

    return launch


def messages(result) -> list[str]:
    return [str(report).removeprefix(f"{report.where}: ") for report in result.reports]


def random_masks(rng: np.random.Generator) -> np.ndarray:
    """Each thread's member mask: every warp is parted into up to three sets."""
    part = rng.integers(0, rng.integers(1, 4), THREADS)
    masks = np.zeros(THREADS, np.uint32)
    for thread in range(THREADS):
        warp = thread // 32 * 32
        masks[thread] = sum(1 << lane for lane in range(32) if part[warp + lane] == part[thread])
    return masks


def members(mask: int) -> list[int]:
    return [lane for lane in range(32) if int(mask) >> lane & 1]


# ---- shuffles ---------------------------------------------------------------------------------------------------------


def shuffle_of_one_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The pseudo code of the ISA for one thread."""
    bval, cval, segment = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & segment) | (cval & ~segment)
    min_lane = lane & segment
    if mode == "up":
        source = lane - bval
        in_range = source >= max_lane
    elif mode == "down":
        source = lane + bval
        in_range = source <= max_lane
    elif mode == "bfly":
        source = lane ^ bval
        in_range = source <= max_lane
    else:
        source = min_lane | (bval & ~segment)
        in_range = source <= max_lane
    return (source if in_range else lane), in_range


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("seed", range(4))
def test_shuffle(exchange, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, offsets = rng.integers(0, 2**32, THREADS), rng.integers(0, 64, THREADS)
    clamps = rng.choice([0, 31, 0x1F00, 0x1800, 0x181F, 0x0C07, 0x101F], THREADS)
    masks = random_masks(rng)
    lines = f"shfl.sync.{mode}.b32 %r20|%p1, %r10, %r11, %r12, %r13; selp.u32 %r21, 1, 0, %p1;"
    d, p, result = exchange(lines, values, offsets, clamps, masks, outputs=2, seed=seed)
    undefined = 0
    for thread in range(THREADS):
        warp, lane = thread // 32 * 32, thread % 32
        source, in_range = shuffle_of_one_lane(mode, lane, int(offsets[thread]), int(clamps[thread]))
        assert p[thread] == in_range
        if masks[thread] >> source & 1:
            assert d[thread] == values[warp + source], (thread, source)
        else:
            undefined += 1
    assert sum(report.count for report in result.reports if report.kind == "undefined value") == undefined
    assert {report.kind for report in result.reports} <= {"undefined value"}


def test_shuffle_takes_constants_and_needs_no_predicate(exchange) -> None:
    d, result = exchange("shfl.sync.down.b32 %r20, %r10, 1, 0x1f, 0xffffffff;", np.arange(THREADS) + 100)
    assert result.ok
    assert d.tolist() == [*range(101, 132), 131, *range(133, 164), 163]


@pytest.mark.parametrize("seed", range(3))
def test_members_come_from_different_places(exchange, seed: int) -> None:
    """What an H200 gave for these lines, lane by lane: the ISA asks for equal qualifiers and masks, not for one place."""
    lines = """and.b32 %r1, %r50, 1; setp.eq.u32 %p1, %r1, 0; mul.lo.u32 %r2, %r50, 3;
        @%p1 bra EVEN;
        add.u32 %r2, %r2, 1000; shfl.sync.bfly.b32 %r20, %r2, 1, 31, -1; xor.b32 %r20, %r20, 0x10000; bra DONE;
        EVEN: sub.u32 %r2, %r2, 7; shfl.sync.bfly.b32 %r20, %r2, 1, 31, -1; mul.lo.u32 %r20, %r20, 5;
        DONE:"""
    d, result = exchange(lines, seed=seed)
    assert result.ok
    assert d[:4].tolist() == [5015, 4294901753, 5045, 4294901759]
    assert d[:32:2].tolist() == [5 * (1003 + 3 * lane) for lane in range(0, 32, 2)]
    assert d[1:32:2].tolist() == [(3 * lane - 10) % 2**32 ^ 0x10000 for lane in range(1, 32, 2)]


def test_a_reduction_in_a_loop(exchange) -> None:
    lines = """mov.u32 %r20, %r10; mov.u32 %r1, 16;
        NEXT: shfl.sync.bfly.b32 %r2, %r20, %r1, 31, -1; add.u32 %r20, %r20, %r2; shr.u32 %r1, %r1, 1;
        setp.ne.u32 %p1, %r1, 0; @%p1 bra NEXT;"""
    values = np.random.default_rng(3).integers(0, 2**32, THREADS, dtype=np.uint64)
    for seed in range(4):
        d, result = exchange(lines, values, seed=seed)
        assert result.ok
        assert d.tolist() == np.repeat(values.reshape(2, 32).sum(1) % 2**32, 32).tolist()


# ---- votes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_votes(exchange, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, masks = rng.random(THREADS) < (0.5, 0.98, 0.02)[seed % 3], random_masks(rng)
    lines = """setp.ne.u32 %p1, %r10, 0; vote.sync.all.pred %p2, %p1, %r11; vote.sync.any.pred %p3, %p1, %r11;
        vote.sync.uni.pred %p4, !%p1, %r11; vote.sync.ballot.b32 %r23, !%p1, %r11;
        selp.u32 %r20, 1, 0, %p2; selp.u32 %r21, 1, 0, %p3; selp.u32 %r22, 1, 0, %p4;"""
    every, some, same, ballot, result = exchange(lines, truth, masks, outputs=4, seed=seed)
    assert result.ok
    for thread in range(THREADS):
        votes = {lane: bool(truth[thread // 32 * 32 + lane]) for lane in members(masks[thread])}
        assert every[thread] == all(votes.values())
        assert some[thread] == any(votes.values())
        assert same[thread] == (len(set(votes.values())) == 1)
        assert ballot[thread] == sum(1 << lane for lane, vote in votes.items() if not vote)


def test_a_part_of_a_warp_votes_under_a_guard(exchange) -> None:
    """.uni is a mode of voting here, no promise that the threads of a warp go one way."""
    lines = """mov.u32 %r20, 7; setp.lt.u32 %p1, %r50, 40; setp.ne.u32 %p2, %r10, 0; and.b32 %r1, %r50, 32; setp.eq.u32 %p3, %r1, 0;
        selp.b32 %r2, -1, 0xff, %p3; @%p1 vote.sync.uni.pred %p4, %p2, %r2; @%p1 selp.u32 %r20, 1, 0, %p4;"""
    d, result = exchange(lines, np.arange(THREADS) != 3)
    assert result.ok
    assert d.tolist() == [0] * 32 + [1] * 8 + [7] * 24


@pytest.mark.parametrize("seed", range(4))
def test_match(exchange, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, masks = rng.integers(0, (2, 5, 1, 40)[seed], THREADS) * 0x01000001, random_masks(rng)
    lines = """match.any.sync.b32 %r20, %r10, %r11; match.all.sync.b32 %r21|%p1, %r10, %r11; selp.u32 %r22, 1, 0, %p1;
        cvt.u64.u32 %rd20, %r10; shl.b64 %rd20, %rd20, 30; match.any.sync.b64 %r23, %rd20, %r11;"""
    some, every, agreed, wide, result = exchange(lines, values, masks, outputs=4, seed=seed)
    assert result.ok
    for thread in range(THREADS):
        held = {lane: int(values[thread // 32 * 32 + lane]) for lane in members(masks[thread])}
        equal = sum(1 << lane for lane, value in held.items() if value == values[thread])
        assert some[thread] == equal == wide[thread]
        assert (every[thread], agreed[thread]) == ((masks[thread], 1) if len(set(held.values())) == 1 else (0, 0))


@pytest.mark.parametrize("seed", range(3))
def test_elect(exchange, seed: int) -> None:
    """The lowest member, as an H200 chose."""
    masks = random_masks(np.random.default_rng(seed))
    lead, chosen, result = exchange("elect.sync %r20|%p1, %r10; selp.u32 %r21, 1, 0, %p1;", masks, outputs=2, seed=seed)
    assert result.ok
    assert lead.tolist() == [min(members(mask)) for mask in masks]
    assert chosen.tolist() == [int(min(members(mask)) == thread % 32) for thread, mask in enumerate(masks)]


def test_activemask_names_those_who_run_together(exchange) -> None:
    d, result = exchange("mov.u32 %r20, 0; setp.lt.u32 %p1, %r50, 40; @%p1 activemask.b32 %r20;")
    assert result.ok
    assert d.tolist() == [0xFFFFFFFF] * 32 + [0xFF] * 8 + [0] * 24


# ---- reductions -------------------------------------------------------------------------------------------------------

_REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "add.u32": sum, "min.u32": min, "max.u32": max, "add.s32": sum, "min.s32": min, "max.s32": max,
    "and.b32": lambda values: int(np.bitwise_and.reduce(np.array(values, np.uint32))),
    "or.b32": lambda values: int(np.bitwise_or.reduce(np.array(values, np.uint32))),
    "xor.b32": lambda values: int(np.bitwise_xor.reduce(np.array(values, np.uint32))),
}  # fmt: skip


@pytest.mark.parametrize("operation", _REDUCTIONS)
def test_integer_reductions(exchange, operation: str) -> None:
    rng = np.random.default_rng(5)
    values, masks = rng.integers(0, 2**32, THREADS, dtype=np.uint64).astype(np.uint32), random_masks(rng)
    d, result = exchange(f"redux.sync.{operation} %r20, %r10, %r11;", values, masks, seed=1)
    assert result.ok
    read = values.view(np.int32) if operation.endswith("s32") else values
    for thread in range(THREADS):
        held = [int(read[thread // 32 * 32 + lane]) for lane in members(masks[thread])]
        assert int(d[thread]) == _REDUCTIONS[operation](held) % 2**32


@pytest.mark.parametrize("qualifiers", ["min", "max", "min.abs", "max.abs", "min.NaN", "max.abs.NaN"])
def test_float_reductions(exchange, qualifiers: str) -> None:
    rng = np.random.default_rng(8)
    values = rng.choice(np.float32([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, 1e-40, 7.0]), THREADS)
    values[rng.random(THREADS) < 0.1] = np.nan
    masks = random_masks(rng)
    masks[[0, 5]] = 1, 1 << 5  # alone with a value, and with a NaN
    masks[[lane for lane in range(32) if lane not in (0, 5)]] = 0xFFFFFFDE
    values[0], values[5] = -2.5, np.nan
    lines = f"mov.b32 %f1, %r10; redux.sync.{qualifiers}.f32 %f2, %f1, %r11; mov.b32 %r20, %f2;"
    d, result = exchange(lines, values.view(np.uint32), masks)
    assert result.ok
    for thread in range(THREADS):
        held = [values[thread // 32 * 32 + lane] for lane in members(masks[thread])]
        held = [np.abs(value) for value in held] if ".abs" in qualifiers else held
        numbers = [value for value in held if not np.isnan(value)]
        if not numbers or (".NaN" in qualifiers and len(numbers) < len(held)):
            assert d[thread] == 0x7FFFFFFF
            continue
        choose = min if qualifiers.startswith("min") else max
        expected = choose(numbers, key=lambda value: (float(value), not np.signbit(value)))
        assert d[thread] == np.float32(expected).view(np.uint32), (thread, expected)


# ---- programs ---------------------------------------------------------------------------------------------------------

STEPS: dict[str, Callable[[dict[int, int], int], dict[int, int]]] = {
    # From the values of the members, by lane, and a number: their new values.
    "shfl.sync.idx.b32 %r1, %r20, {lowest}, 0x1f, {mask}; mad.lo.u32 %r20, %r20, 3, %r1;": lambda held, number: {
        lane: 3 * value + held[min(held)] for lane, value in held.items()
    },
    "vote.sync.ballot.b32 %r1, %p2, {mask}; add.u32 %r20, %r20, %r1;": lambda held, number: {
        lane: value + sum(1 << other for other in held if held[other] & 1) for lane, value in held.items()
    },
    "redux.sync.add.u32 %r1, %r20, {mask}; xor.b32 %r20, %r1, %r50;": lambda held, number: {
        lane: sum(held.values()) % 2**32 ^ number + lane for lane in held
    },
    "redux.sync.max.u32 %r1, %r20, {mask}; sub.u32 %r20, %r1, %r20;": lambda held, number: {
        lane: max(held.values()) - value for lane, value in held.items()
    },
    "match.any.sync.b32 %r1, %r20, {mask}; add.u32 %r20, %r20, %r1;": lambda held, number: {
        lane: value + sum(1 << other for other in held if held[other] == value) for lane, value in held.items()
    },
}
step = st.tuples(
    st.sampled_from(sorted(STEPS)), st.sampled_from(sorted(STEPS)), st.sampled_from([0, 1, 2, 0xFFFFFFFF, 0x0F0F3333]), st.integers(0, 31)
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(step, min_size=1, max_size=5), st.integers(0, 5))
def test_collectives_in_branches(exchange, program: list[tuple[str, str, int, int]], seed: int) -> None:
    """The lanes of a set go one way, the others the other, each with their own collective, in whatever order threads run."""
    lines, state = ["mov.u32 %r20, %r50; and.b32 %r21, %r50, 31;"], list(range(THREADS))
    for number, (one, other, chosen, turn) in enumerate(program):
        mask = (chosen << turn | chosen >> (32 - turn)) & 0xFFFFFFFF
        lines.append(f"shr.u32 %r1, {mask:#x}, %r21; and.b32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra IN{number};")
        for name, text, part in (("", other, ~mask & 0xFFFFFFFF), (f"IN{number}: ", one, mask)):
            code = text.format(mask=f"{part:#x}", lowest=min(members(part), default=0))
            lines.append(f"{name} and.b32 %r2, %r20, 1; setp.ne.u32 %p2, %r2, 0; {code}" + ("" if name else f" bra OUT{number};"))
            for warp in range(0, THREADS, 32):
                held = {lane: state[warp + lane] for lane in members(part)}
                for lane, value in STEPS[text](held, warp).items() if held else ():
                    state[warp + lane] = value % 2**32
        lines.append(f"OUT{number}:")
    d, result = exchange("\n".join(lines), seed=seed)
    assert result.ok
    assert d.tolist() == state


# ---- reports ----------------------------------------------------------------------------------------------------------


def test_absent_lanes_are_named(exchange) -> None:
    lines = "setp.lt.u32 %p1, %r50, 12; @%p1 bra SKIP; shfl.sync.bfly.b32 %r1, %r50, 1, 31, -1; SKIP: bar.sync 3; mov.u32 %r20, 0;"
    *_, result = exchange(lines)
    barrier = result.reports[1].where
    assert messages(result)[0] == (
        "shfl.sync.bfly.b32: collective: warp 0 of block 0 waits here for the members of mask 0xffffffff, and lanes 0-11 never come; "
        f"thread 0 waits in barrier 3 ({barrier}) (block 0, thread 12 and 19 more)"
    )
    assert result.reports[1].kind == "deadlock"


def test_one_absent_lane_is_told_by_the_collective_where_it_waits(exchange) -> None:
    lines = """setp.eq.u32 %p1, %r50, 33; @%p1 vote.sync.any.pred %p2, %p1, 0x3; @!%p1 vote.sync.all.pred %p3, %p1, -1;
        mov.u32 %r20, 0;"""
    *_, result = exchange(lines)
    places = {report.opcode: report.where for report in result.reports}
    assert sorted(messages(result)) == [
        "vote.sync.all.pred: collective: warp 1 of block 0 waits here for the members of mask 0xffffffff, and lane 1 never comes; "
        f"thread 33 waits in vote.sync.any.pred ({places['vote.sync.any.pred']}) (block 0, thread 32 and 30 more)",
        "vote.sync.any.pred: collective: warp 1 of block 0 waits here for the members of mask 0x00000003, and lane 0 never comes; "
        f"thread 32 waits in vote.sync.all.pred ({places['vote.sync.all.pred']}) (block 0, thread 33)",
    ]


def test_the_barrier_of_a_warp_names_its_absent_lanes(exchange) -> None:
    lines = "mov.u32 %r20, 0; setp.lt.u32 %p1, %r50, 30; @%p1 bar.warp.sync 0x8000ffff; @!%p1 bar.warp.sync -1;"
    *_, result = exchange(lines)
    first, second = (report.where for report in result.reports[1:])
    assert messages(result) == [
        "bar.warp.sync: collective: lane 16 executes this with the member mask 0x8000ffff, which does not name it"
        " (block 0, thread 16 and 13 more)",
        f"bar.warp.sync: collective: warp 0 of block 0 waits here for the members of mask 0x8000ffff, and lane 31 never comes; "
        f"thread 31 waits in bar.warp.sync ({second}) (block 0, thread 0 and 29 more)",
        f"bar.warp.sync: collective: warp 0 of block 0 waits here for the members of mask 0xffffffff, and lanes 0-29 never come; "
        f"thread 0 waits in bar.warp.sync ({first}) (block 0, thread 30 and 1 more)",
    ]


def test_exited_lanes_are_not_waited_for(exchange) -> None:
    lines = "mov.u32 %r20, 0; setp.ge.u32 %p1, %r50, 40; @%p1 exit; vote.sync.ballot.b32 %r20, 1, -1;"
    for seed in range(3):
        d, result = exchange(lines, seed=seed)
        assert result.ok
        assert d.tolist() == [0xFFFFFFFF] * 32 + [0xFF] * 8 + [0] * 24


def test_a_value_of_an_absent_lane_may_lie_there_but_not_be_used(exchange) -> None:
    lines = """shfl.sync.down.b32 %r1, %r10, 4, 31, 0x00ff00ff; mov.u32 %r20, 0; and.b32 %r2, %r50, 7;
        setp.lt.u32 %p1, %r2, LIMIT; @%p1 mov.u32 %r20, %r1;"""
    enter = "and.b32 %r3, %r50, 8; setp.ne.u32 %p2, %r3, 0; @%p2 exit;"
    _, result = exchange(enter + lines.replace("LIMIT", "4"), np.arange(THREADS))
    assert result.ok
    _, result = exchange(enter + lines.replace("LIMIT", "5"), np.arange(THREADS))
    said = re.sub(r"<text>:\d+:\d+", "LINE", "; ".join(messages(result)))
    assert said == (
        "mov.u32: undefined value: %r1 is read, which shfl.sync.down.b32 (LINE) took from lane 8, "
        "which has exited or is not in its member mask (block 0, thread 4 and 3 more)"
    )


@pytest.mark.parametrize(("mask", "first", "others"), [("0", "0", 63), ("0xfffffff0", "0", 7)])
def test_a_mask_without_the_executing_lane(exchange, mask: str, first: str, others: int) -> None:
    *_, result = exchange(f"vote.sync.ballot.b32 %r20, 1, {mask};")
    assert messages(result) == [
        f"vote.sync.ballot.b32: collective: lane {first} executes this with the member mask {int(mask, 0):#010x}, "
        f"which does not name it (block 0, thread 0 and {others} more)"
    ]


def test_constants_of_a_shuffle_count_by_their_low_bits() -> None:
    """PTX ISA 9.7.10.6: bval = b[4:0], cval = c[4:0], segmask = c[12:8]; ptxas takes whatever else b and c hold."""

    @px.kernel(grid=1, block=32)
    def shuffled(out: px.Tensor((32,), px.u32)) -> None:
        px.ptx["st.global.u32"](out[px.tid.x], px.ptx["shfl.sync.bfly.b32"](px.tid.x + 100, 32 + 16, 8192 + 31, 0xFFFFFFFF))

    out = np.zeros(32, np.uint32)
    shuffled(out)
    assert (out == (np.arange(32) ^ 16) + 100).all()
    assemble(shuffled.ptx())
