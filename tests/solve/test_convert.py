"""Conversions run bit by bit in the emulator, through memory that NumPy arranges; existence of exchanges against union and find."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import R, S, laneid, tx
from ptxgen.assemble import assemble
from ptxgen.layouts import AxisTerm, Layout, blocked_product
from ptxgen.layouts.search import exchange, gather
from ptxgen.solve.steps import Step

NAMES = "abcdefghijkl"


class Tile:
    """A register layout of digits: which of the tile's axes are the threads' digits and which the registers', slowest first."""

    def __init__(self, shape, threads, registers, axis=tx):
        self.shape, self.digits = tuple(shape), (tuple(threads), tuple(registers))
        strides = [AxisTerm()] * len(shape)
        for digits, along in zip(self.digits, (axis, None)):
            step = 1
            for digit in reversed(digits):
                strides[digit] = step @ along if along is not None else AxisTerm.of(step)
                step *= shape[digit]
        self.layout = Layout(S[self.shape : tuple(strides)])
        self.threads, self.registers = (int(np.prod([shape[digit] for digit in digits])) for digits in self.digits)

    def view(self, tile):
        """(threads, registers), registers in order."""
        names = NAMES[: len(self.shape)]
        sides = [" ".join(names[digit] for digit in digits) for digits in self.digits]
        ordered = tile.rearrange(f"{' '.join(names)} -> ({sides[0]}) {sides[1] or '1'}")
        return ordered.view(self.threads, self.registers)

    def arranged(self, array):
        return np.ascontiguousarray(array.transpose(self.digits[0] + self.digits[1]).reshape(self.threads, self.registers))


def converted(plan, source, target, dtype):
    """The kernel that loads a tile as `source` has it, converts, and stores it as `target` has it."""
    held, into = plan.containers
    scope = plan.scope

    From, To = (px.Tensor((one.threads, one.registers), dtype, align=8) for one in (source, target))

    @px.kernel(grid=1, block=source.threads)
    def kernel(A: From, B: To):
        r = px.local(source.shape, dtype, layout=source.layout, container=held)
        q = px.local(target.shape, dtype, layout=target.layout, container=into)
        for word, tile, layout, memory, load in ((held, r, source, A, True), (into, q, target, B, False)):
            if not load:
                plan.apply(r, q, px.shared(**plan.tile) if plan.kind == "shared" else None)
            bits = getattr(px, f"b{word.bits}")
            count = layout.registers * dtype.bits // word.bits
            registers, cells = (one.view(bits).view(source.threads, count, 1) for one in (layout.view(tile), memory))
            px.tile.apply(f"{'ld' if load else 'st'}.global.{bits}", *((registers, cells) if load else (cells, registers)), scope=scope)

    return kernel


def check(source, target, dtype, container=None, into=None, seed=0, assembled=False):
    plan = px.solve.convert(source.layout, target.layout, dtype, container=container, into=into, threads=source.threads)
    plan.check()
    kernel = converted(plan, source, target, dtype)
    numbers = np.random.default_rng(seed).integers(0, 1 << min(63, dtype.bits), source.shape, dtype=np.int64)
    logical = numbers.astype(f"u{dtype.bits // 8}").view(dtype.numpy)
    result = np.zeros((source.threads, target.registers), dtype.numpy)
    kernel(source.arranged(logical), result)
    plain = f"u{dtype.bits // 8}"
    np.testing.assert_array_equal(result.view(plain), target.arranged(logical).view(plain))
    if assembled:
        assemble(kernel.ptx())
    return plan, kernel


TURNED = {
    "registers": (((4, 32, 2), (1,), (0, 2)), ((4, 32, 2), (1,), (2, 0))),
    "lanes": (((2, 16, 4), (0, 1), (2,)), ((2, 16, 4), (1, 0), (2,))),
    "two words": (((16, 2, 2), (0, 1), (2,)), ((16, 2, 2), (2, 0), (1,))),
    "three words": (((32, 3), (0,), (1,)), ((32, 3), (0,), (1,))),
    "a transpose": (((32, 32), (0,), (1,)), ((32, 32), (1,), (0,))),
    "warps": (((4, 32, 4, 8), (0, 1), (2, 3)), ((4, 32, 4, 8), (2, 1), (0, 3))),
}


@pytest.mark.parametrize("name", TURNED)
def test_words_in_the_emulator(name):
    source, target = (Tile(*one) for one in TURNED[name])
    plan, _ = check(source, target, px.f32, assembled=True)
    kinds = {"registers": "registers", "three words": "registers", "a transpose": "shared", "warps": "shared"}
    assert plan.kind == kinds.get(name, "shuffles")
    assert plan.shared is None or plan.shared.conflicts == 0


@pytest.mark.parametrize(
    ("dtype", "container", "into"),
    [("f64", None, None), ("f16", None, None), ("f16", "b32", None), ("f16", None, "b32"), ("bf16", "b32", None), ("u8", "b32", None),
     ("u8", None, "b32"), ("u8", "b16", "b64"), ("f32", "b64", None), ("f16", "b64", "b32")],
)  # fmt: skip
def test_registers_of_every_width_in_the_emulator(dtype, container, into):
    held, other = (getattr(px, one) if one else None for one in (container, into))
    if into is None and container is not None:
        other = held
    elif into is None:
        other = getattr(px, dtype)
    elif held is None:
        held = getattr(px, dtype)
    shape = (2, 2, 2, 16, 2)
    source, target = Tile(shape, (3, 4), (0, 1, 2)), Tile(shape, (2, 3), (4, 1, 0))
    check(source, target, getattr(px, dtype), held, other, assembled=True)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(8)), st.permutations(range(8)), st.sampled_from(["u8", "bf16", "f32"]), st.integers(0, 99))
def test_any_order_of_bits_in_the_emulator(one, other, name, seed):
    """Five of eight bits name the lane, three the register, in any two orders; narrow elements are packed."""
    source, target = (Tile((2,) * 8, order[:5], order[5:], laneid) for order in (one, other))
    dtype = getattr(px, name)
    container = None if dtype.bits == 32 else px.b32
    check(source, target, dtype, container, seed=seed)


@settings(max_examples=6, deadline=None)
@given(st.permutations(range(5)), st.permutations(range(5)))
def test_other_extents_and_several_warps_in_the_emulator(one, other):
    """Axes of 2, 4, 8, 2 and 3: any of them in the registers that leaves whole warps."""
    shape = (2, 4, 8, 2, 3)
    made = []
    for order in (one, other):
        for cut in range(6):
            threads = int(np.prod([shape[axis] for axis in order[:cut]], dtype=int))
            if threads in (64, 128, 96, 32):
                made.append(Tile(shape, order[:cut], order[cut:]))
                break
    if len(made) == 2 and made[0].threads == made[1].threads:
        check(*made, px.f32)


@pytest.mark.parametrize("name", ["u8", "f16", "f32", "f64"])
def test_registers_of_every_type_are_moved(name):
    plan, _ = check(*(Tile(*one) for one in TURNED["registers"]), getattr(px, name), assembled=True)
    assert plan.kind == "registers" and len(plan.steps) == 8


def test_replicas_are_read_and_written():
    """One row of 32 values: each lane's own becomes known to all; and the copy that a lane has itself is the one it reads."""
    spread = px.solve.convert(S[32 : 1 @ laneid], Layout(S[32:1], R[32 : 1 @ laneid]), px.f32)
    spread.check()
    assert spread.kind == "shuffles" and len(spread.steps) == 32
    back = px.solve.convert(Layout(S[32:1], R[32 : 1 @ laneid]), S[32 : 1 @ laneid], px.f32)
    back.check()
    assert back.kind == "registers"
    assert not any("shfl" in step.opcode for step in back.steps)


def test_a_wrong_program_does_not_pass_the_check():
    source, target = (Tile(*one) for one in TURNED["two words"])
    plan = px.solve.convert(source.layout, target.layout, px.f32)
    swapped = [Step(step.opcode, tuple({"s0": "s1", "s1": "s0"}.get(one, one) for one in step.operands)) for step in plan.steps]
    with pytest.raises(px.LayoutError, match="would not hold"):
        plan._replace(steps=tuple(swapped)).check()


def test_a_plan_in_words():
    plan = px.solve.convert(S[(32, 2) : (1 @ laneid, 1)], S[((16, 2), 2) : ((1 @ laneid, 1), 16 @ laneid)], px.bf16, container=px.b32)
    assert str(plan) == """\
convert bf16 by 32 threads: shuffles, 9 instructions, cost 11
  from: Layout(S[(32, 2) : (1 @ laneid, 1)])
  to: Layout(S[((16, 2), 2) : ((1 @ laneid, 1), 16 @ laneid)])
  and.b32 t0, lane, 15
  shl.b32 t1, t0, 1
  shfl.sync.idx.b32 t2, s0, t1, 31, 0xffffffff
  xor.b32 t3, t1, 1
  shfl.sync.idx.b32 t4, s0, t3, 31, 0xffffffff
  and.b32 t5, lane, 16
  setp.ne.u32 p0, t5, 0
  selp.b32 t6, 0x7632, 0x5410, p0
  prmt.b32 d0, t2, t4, t6"""


def test_equal_layouts_need_no_moves():
    plan = px.solve.convert(S[(32, 2) : (1 @ laneid, 1)], S[(32, 2) : (1 @ laneid, 1)], px.f32)
    assert plan.same
    assert str(plan) == """\
convert f32 by 32 threads: registers, 2 instructions, cost 2
  from: Layout(S[(32, 2) : (1 @ laneid, 1)])
  to: Layout(S[(32, 2) : (1 @ laneid, 1)])
  nothing needs to move: the source or a view of it is the destination; apply() copies it into another tile
  mov.b32 d0, s0
  mov.b32 d1, s1"""
    assert not px.solve.convert(S[(32, 2) : (1 @ laneid, 1)], S[(32, 2) : (1 @ laneid, 2)], px.f32).same


def test_the_weights_of_an_attention_in_8_bits():
    """By hand: for each of four registers a prmt, two shuffles of it, a prmt; and 8 for the lanes."""
    opcode = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
    sums = blocked_product(px.hardware_layout(opcode, "D"), S[1, 4])
    plan = px.solve.convert(sums, px.hardware_layout(opcode, "A"), px.e4m3, container=px.b32)
    plan.check()
    assert (plan.kind, plan.cost) == ("shuffles", 4 * (1 + 2 * 2 + 1) + 8)


def test_one_lane_reads_all_others_by_a_shuffle_for_each_word():
    plan = px.solve.convert(S[(32, 2) : (1 @ laneid, 1)], S[(32, 2) : (2, 1)], px.f32)
    plan.check()
    assert (plan.kind, len(plan.steps)) == ("shuffles", 64)
    assert {step.opcode for step in plan.steps} == {"mov.b32", "shfl.sync.bfly.b32"}


def test_the_kernel_has_the_listed_instructions_and_no_other():
    source, target = (Tile(*one) for one in TURNED["two words"])
    plan, kernel = check(source, target, px.f32)
    body = [line.strip() for line in kernel.ptx(comments=False).splitlines()]
    opcodes = {step.opcode for step in plan.steps} - {"and.b32", "shl.b32", "shr.u32"}  # those that addresses are made of
    emitted = [line.split()[0] for line in body if line.partition(" ")[0].strip() in opcodes]
    assert emitted == [step.opcode for step in plan.steps if step.opcode in opcodes]


def test_what_no_way_serves():
    """Four of axis 0 in a register there, of axis 2 here, and values that change warps: shared memory has neighbours along one axis."""
    source = S[(4, 64, 4) : (1, 1 @ tx, 4)]
    with pytest.raises(px.Impossible) as caught:
        px.solve.convert(source, S[(4, (32, 2), 4) : (4, (1 @ tx, 32 @ tx), 1)], px.bf16, container=px.b64)
    assert str(caught.value) == (
        "no instructions convert these layouts\n"
        "  demand: values change warps\n"
        "  demand: the registers of both pack elements along different axes of the tile\n"
        "  legal: layouts that pack neighbours along one axis and name every thread once"
    )
    with pytest.raises(px.LayoutError, match="one shape"):
        px.solve.convert(source, S[1024 : 1 @ tx], px.bf16, container=px.b64)


def test_packed_registers_are_taken_apart_where_shared_memory_needs_it():
    source, target = Tile((2, 64, 2), (1,), (2, 0)), Tile((2, 32, 2, 2), (1, 2), (0, 3))
    moved = Tile((2, 64, 2), (1,), (0, 2))
    assert moved.layout != source.layout and target.threads == 64
    crossed = px.solve.convert(source.layout, S[(2, (32, 2), 2) : (2, (1 @ tx, 32 @ tx), 1)], px.bf16, container=px.b32)
    crossed.check()
    assert crossed.kind == "shared" and [step.opcode for step in crossed.steps].count("mov.b32") == 2


def test_elements_below_a_byte_keep_their_byte():
    source = Layout(S[(32, 8) : (1 @ laneid, 1)])
    moved = px.solve.convert(source, S[((2, 16), 8) : ((16 @ laneid, 1 @ laneid), 1)], px.e2m1, container=px.b32)
    moved.check()
    with pytest.raises(px.Impossible) as caught:
        px.solve.convert(source, S[(32, (4, 2)) : (1 @ laneid, (1, 4))], px.e2m1, container=px.b32)
    assert caught.value.demands[0] == "elements of .e2m1 leave their byte"


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([1, 2, 3, 4]), st.randoms(use_true_random=False), st.booleans())
def test_exchanges_exist_where_union_and_find_says_so(words, random, structured):
    """Levels of lanes are unknowns, each word that moves an equation between two of them."""
    lanes = list(range(32))
    if structured:  # levels drawn first: round k permutes the lanes
        sends, receives = ([random.randrange(words) for _ in lanes] for _ in range(2))
        want = np.zeros((32, words, 1, 3), int)
        powers = words & (words - 1) == 0 and random.random() < 0.5
        for k in range(words):
            order = random.sample(lanes, 32)
            for lane, sender in enumerate(order):
                word, number = ((k ^ level) if powers else (k + level) % words for level in (receives[lane], sends[sender]))
                want[lane, word, 0] = sender, number, 0
    else:
        places = random.sample(list(itertools.product(lanes, range(words))), 32 * words)
        want = np.array([(*place, 0) for place in places]).reshape(32, words, 1, 3)
    found = exchange(want)
    kinds = (True, False) if words & (words - 1) == 0 else (False,)
    assert (found is not None) == any(consistent(want, words, powers) for powers in kinds)
    if found is not None:
        held = np.arange(32 * words).reshape(32, words)
        for turn in found.before:
            held = turned(held, turn)
        held = np.stack([held[lanes, at] for at, lanes in enumerate(found.rounds)], axis=-1)
        for turn in found.after:
            held = turned(held, turn)
        np.testing.assert_array_equal(held, want[:, :, 0, 0] * words + want[:, :, 0, 1])


def turned(held, turn):
    lanes = np.array([turn.lanes >> lane & 1 for lane in range(32)], bool)
    return np.where(lanes[:, None], held[:, list(turn.order)], held)


def consistent(want, words, powers):
    """Whether levels exist: union and find with distances, senders 0 to 31 and receivers 32 to 63."""
    parent, offset = list(range(64)), [0] * 64

    def add(a, b):
        return a ^ b if powers else (a + b) % words

    def negated(a):
        return a if powers else -a % words

    def root(x):
        total = 0
        while parent[x] != x:
            total, x = add(total, offset[x]), parent[x]
        return x, total

    for lane, word in itertools.product(range(32), range(words)):
        sender, number = int(want[lane, word, 0, 0]), int(want[lane, word, 0, 1])
        step = add(number, negated(word))  # level of the sender less that of the receiver
        (a, x), (b, y) = root(sender), root(32 + lane)
        if a != b:
            parent[a], offset[a] = b, add(add(y, step), negated(x))
        elif x != add(y, step):
            return False
    return True


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_gathers_bring_every_unit(random):
    """Any units of any words of any lanes, some of them wanted by nobody."""
    want = np.full((32, 3, 2, 3), -1)
    for at in itertools.product(range(32), range(3), range(2)):
        if random.random() < 0.8:
            want[at] = random.randrange(32), random.randrange(2), random.randrange(2)
    for word, streams in enumerate(gather(want).words):
        for lane, unit in itertools.product(range(32), range(2)):
            brought = [(int(one.lanes[lane]), one.word, int(one.picks[lane, unit])) for one in streams if one.picks[lane, unit] >= 0]
            assert brought == ([tuple(want[lane, word, unit])] if want[lane, word, unit, 0] >= 0 else [])


def test_of_many_instructions_the_first_are_printed():
    plan = px.solve.convert(px.Layout(S[(32, 3) : (1 @ laneid, 1)]), px.Layout(S[(32, 3) : (3, 1)]), px.f32)
    lines = str(plan).splitlines()
    assert len(plan.steps) > 64
    assert lines[3 + 32] == f"  ... {len(plan.steps) - 32} more: plan.steps"
    assert [line.strip() for line in lines[3 : 3 + 32]] == [str(step) for step in plan.steps[:32]]
