"""Every form of the register instructions that the GPU has, on the GPU and in the emulator, with equal bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.instructions.grammar import Form, Slot, broken_rules, forms
from ptxgen.instructions.registry import Match, family_entries
from ptxgen.instructions.types import Type
from ptxgen.text import read, write

pytestmark = pytest.mark.gpu

FAMILIES = ("integer", "floating", "half", "comparison", "logic", "conversion", "move")
TARGET, VERSION = "sm_90a", (8, 8)
THREADS, PER_ENTRY, COLUMNS = 256, 64, 3
CONSTANT = 0x96  # of lop3: an exclusive or of all three

# Brings operands into the range where the ISA defines the result (of fns an offset of -2^31 overflows on the hardware).
RANGES = {
    ("fns", "base"): "and.b32 {0}, {0}, 31;",
    ("fns", "offset"): "shr.s32 {0}, {0}, 26;",
    ("bfe", "b"): "and.b32 {0}, {0}, 255;",
    ("bfe", "c"): "and.b32 {0}, {0}, 255;",
    ("bfi", "c"): "and.b32 {0}, {0}, 255;",
    ("bfi", "d"): "and.b32 {0}, {0}, 255;",
}

_LOADS = {8: ("u8", "%c"), 16: ("u16", "%h"), 32: ("u32", "%r"), 64: ("u64", "%rd")}


def inputs() -> dict[int, np.ndarray]:
    """For each width COLUMNS columns of values: random bits, and those where arithmetic has corners, in different orders."""
    rng = np.random.default_rng(11)
    singles = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.4e38, 255.4, -128.6, 65504.0, 2.0**31]
    halves = [value for value in singles if not 65504 < abs(value) < np.inf]
    corners = {
        8: np.array([0, 1, 127, 128, 255], np.uint8),
        16: np.concatenate([np.float16(halves).view(np.uint16), np.uint16([0x3F80, 0x7F80, 0x8000, 0x0001, 31, 33])]),
        32: np.concatenate([np.float32(singles).view(np.uint32), np.uint32([1, 2, 5, 31, 32, 33, 2**31 - 1, 2**31, 2**32 - 1])]),
        64: np.concatenate([np.float64(singles).view(np.uint64), np.uint64([1, 5, 63, 64, 2**63 - 1, 2**63, 2**64 - 1])]),
    }
    found = {}
    with np.errstate(all="ignore"):
        for width, special in corners.items():
            columns = []
            for _ in range(COLUMNS):
                random = rng.integers(0, 256, THREADS * width // 8, dtype=np.uint8).view(f"u{width // 8}")
                near_one = rng.normal(0, 4, THREADS)
                floats = {16: np.float16, 32: np.float32, 64: np.float64}.get(width)
                if floats is not None:
                    random = np.where(rng.random(THREADS) < 0.5, near_one.astype(floats).view(random.dtype), random)
                columns.append(np.where(rng.random(THREADS) < 0.4, rng.choice(special, THREADS), random))
            found[width] = np.stack(columns)
    return found


def statements() -> Iterator[tuple[Match, Form]]:
    for family in FAMILIES:
        for entry in family_entries(family):
            if family == "move" and entry.name != "prmt":
                continue  # their results are addresses, or copies
            for form in forms(entry):
                for bindings in form.combinations():
                    match = Match(form.opcode(bindings), form, bindings)
                    known = TARGET in match.targets and match.version <= VERSION
                    if known and not {".approx", ".full", ".oob", ".rs"} & set(bindings) and ".approx" not in entry.name:
                        yield match, form


def legal_operands(match: Match, form: Form) -> tuple[Slot, ...]:
    """The shortest operand list that the rules allow."""
    for slots in form.operand_lists:
        named = dict.fromkeys((name for slot in slots for name in (slot.name, slot.second) if name), True)
        if not any(broken_rules(match.entry, {**match.bindings, **named}, operands_known=True)):
            return slots
    raise AssertionError(f"{match.opcode} takes no operands")


def lines(match: Match, form: Form, number: int) -> list[str]:
    """Loads of the sources, the instruction, a store of what it gives at ``out + 8 * (number * THREADS + tid)``."""
    text, operands, stores, column = [], [], [], 0
    for slot in legal_operands(match, form):
        names = []
        for name in filter(None, (slot.name, slot.second)):
            contract = match.entry.operands[name]
            of = match.type(contract.type)
            if contract.role == "out":
                names.append(_destination(of, len(stores)))
                stores.append((of, names[-1]))
            elif contract.kind == "immediate":
                names.append(str(CONSTANT))
            else:
                names.append(_source(of, column, text))
                column += 1
                if (match.entry.name, name) in RANGES:
                    text.append(RANGES[match.entry.name, name].format(names[-1]))
        operands.append("|".join(names))
    text.append(f"{match.opcode} {', '.join(operands)};")
    for position, (of, name) in enumerate(stores):
        offset = 8 * number * THREADS + 4 * position
        if of.kind == "pred":
            text.append(f"selp.u32 %r40, 1, 0, {name}; st.global.u32 [%rd40+{offset}], %r40;")
        else:
            text.append(f"st.global.{_LOADS[max(of.bits, 8)][0]} [%rd40+{offset}], {name};")
    return text


def _destination(of: Type, position: int) -> str:
    return f"%p{position}" if of.kind == "pred" else f"{_LOADS[max(of.bits, 8)][1]}{position}"


def _source(of: Type, column: int, text: list[str]) -> str:
    if of.kind == "pred":
        text.append(f"and.b32 %r41, %r50, {1 << column}; setp.ne.u32 %p{10 + column}, %r41, 0;")
        return f"%p{10 + column}"
    move, prefix = _LOADS[max(of.bits, 8)]
    width = max(of.bits, 8) // 8
    text.append(f"ld.global.{move} {prefix}{10 + column}, [%rd{40 + width}+{column % COLUMNS * THREADS * width}];")
    return f"{prefix}{10 + column}"


def module_text(chosen: list[tuple[Match, Form]]) -> str:
    entries = []
    for first in range(0, len(chosen), PER_ENTRY):
        body = ["mov.u32 %r50, %tid.x; ld.param.u64 %rd40, [out]; mad.wide.u32 %rd40, %r50, 8, %rd40;"]
        for width in (1, 2, 4, 8):
            body.append(f"ld.param.u64 %rd{40 + width}, [x{width}]; mad.wide.u32 %rd{40 + width}, %r50, {width}, %rd{40 + width};")
        for number, (match, form) in enumerate(chosen[first : first + PER_ENTRY]):
            body += lines(match, form, number)
        entries.append(
            f".visible .entry k{first // PER_ENTRY}({', '.join(f'.param .u64 {name}' for name in ('out', 'x1', 'x2', 'x4', 'x8'))})\n{{\n"
            ".reg .pred %p<20>; .reg .b8 %c<20>; .reg .b16 %h<20>; .reg .b32 %r<60>; .reg .b64 %rd<60>;\n" + "\n".join(body) + "\nret;\n}\n"
        )
    return f".version {VERSION[0]}.{VERSION[1]}\n.target {TARGET}\n.address_size 64\n" + "".join(entries)


def on_gpu(text: str, entry: str, arrays: list[np.ndarray], threads: int = THREADS) -> None:
    """Launch one block; the first array is copied back."""
    from cuda.bindings import driver

    def call(result):
        assert result[0] == driver.CUresult.CUDA_SUCCESS, result
        return result[1] if len(result) > 1 else None

    module = call(driver.cuModuleLoadData(text.encode() + b"\0"))
    pointers = [call(driver.cuMemAlloc(array.nbytes)) for array in arrays]
    for pointer, array in zip(pointers, arrays):
        call(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
    values = [np.array([int(pointer)], np.uint64) for pointer in pointers]
    packed = np.array([value.ctypes.data for value in values], np.uint64)
    function = call(driver.cuModuleGetFunction(module, entry.encode()))
    call(driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, packed.ctypes.data, 0))
    call(driver.cuCtxSynchronize())
    call(driver.cuMemcpyDtoH(arrays[0].ctypes.data, pointers[0], arrays[0].nbytes))
    for pointer in pointers:
        call(driver.cuMemFree(pointer))
    call(driver.cuModuleUnload(module))


@pytest.fixture
def context():
    from cuda.bindings import driver

    driver.cuInit(0)
    _, device = driver.cuDeviceGet(0)
    _, primary = driver.cuDevicePrimaryCtxRetain(device)
    driver.cuCtxSetCurrent(primary)
    yield
    driver.cuDevicePrimaryCtxRelease(device)


@pytest.mark.parametrize("family", FAMILIES)
def test_bits_are_the_gpus(context, family) -> None:
    columns = inputs()
    chosen = [(match, form) for match, form in statements() if match.entry.family == family]
    assert chosen
    different = []
    for first in range(0, len(chosen), PER_ENTRY):
        part = chosen[first : first + PER_ENTRY]
        text = module_text(part)
        found, expected = (np.zeros((len(part), THREADS, 2), np.uint32) for _ in range(2))
        values = [columns[width] for width in (8, 16, 32, 64)]
        on_gpu(text, "k0", [expected, *values])
        emulate(read(text), "k0", grid=1, block=THREADS, arguments=[found, *values]).raise_for_reports()
        for (match, _), mine, gpus in zip(part, found, expected):
            wrong = np.flatnonzero((mine != gpus).any(1))
            if len(wrong):
                thread = int(wrong[0])
                sources = {width: [hex(int(value)) for value in columns[width][:, thread]] for width in (16, 32, 64)}
                values_differ = f"{mine[thread]} here, {gpus[thread]} on the GPU"
                different.append(f"{match.opcode}: {len(wrong)} threads, thread {thread}: {values_differ}; sources {sources}")
    assert not different, "\n".join(different)


CHAINS = [
    "add.cc.u32 %r1, %r10, %r11; addc.cc.u32 %r2, %r11, %r12; addc.u32 %r3, %r10, 0;",
    "sub.cc.u32 %r1, %r10, %r11; subc.cc.u32 %r2, %r11, %r12; subc.u32 %r3, %r10, 0;",
    "add.cc.u32 %r1, %r10, %r11; subc.u32 %r2, %r11, %r12; mov.u32 %r3, 0;",
    "sub.cc.u32 %r1, %r10, %r11; addc.u32 %r2, %r11, %r12; mov.u32 %r3, 0;",
    "mad.lo.cc.u32 %r1, %r10, %r11, %r12; madc.hi.cc.u32 %r2, %r10, %r11, %r12; addc.u32 %r3, %r10, 0;",
    "mad.hi.cc.s32 %r1, %r10, %r11, %r12; madc.lo.cc.s32 %r2, %r10, %r11, %r12; addc.u32 %r3, %r10, 0;",
    "bar.sync 0; setp.lt.u32 %p1, %r10, %r11; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p1;"
    " selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3;",
    "mov.b32 {%h1, %h2}, %r10; mov.b32 %r1, {%h2, %h1}; mov.b64 %rd1, {%r11, %r12}; mov.b64 {%r2, %r3}, %rd1;",
    "mov.u32 %r1, %laneid; mov.u32 %r2, %lanemask_le; mov.u32 %r3, %ntid.x;",
    "cvt.s8.u32 %r1, %r10; cvt.u16.u32 %r2, %r11; cvt.sat.s16.s32 %r3, %r12;",
    "setp.lt.u32 %p1, %r50, 200; @!%p1 exit; bar.sync 0; mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3;",
]

SHARED = ".shared .align 16 .b8 s[4096]; mov.u32 %r5, s; mad.lo.u32 %r6, %r50, 16, %r5;"
WARPS = [
    "shfl.sync.up.b32 %r1|%p1, %r10, %r11, 0x0c00, -1; selp.u32 %r2, 1, 0, %p1; shfl.sync.down.b32 %r3, %r10, %r12, 0x0c1f, -1;",
    "shfl.sync.bfly.b32 %r1|%p1, %r10, %r11, 0x1807, -1; selp.u32 %r2, 1, 0, %p1; shfl.sync.idx.b32 %r3, %r10, %r12, 0x181f, -1;",
    "setp.lt.u32 %p1, %r10, %r11; vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1;"
    " vote.sync.uni.pred %p4, %p1, -1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; selp.u32 %r4, 4, 0, %p4; or.b32 %r3, %r3, %r4;",
    "and.b32 %r5, %r10, 3; match.any.sync.b32 %r1, %r5, -1; match.all.sync.b32 %r2|%p1, %r5, -1; selp.u32 %r3, 1, 0, %p1;",
    "and.b32 %r5, %r50, 1; setp.eq.u32 %p1, %r5, 0; selp.b32 %r5, 0x55555555, 0xaaaaaaaa, %p1; elect.sync %r1|%p2, %r5;"
    " selp.u32 %r2, 1, 0, %p2; vote.sync.ballot.b32 %r3, 1, %r5;",
    "redux.sync.add.s32 %r1, %r10, -1; redux.sync.min.u32 %r2, %r11, -1; redux.sync.max.s32 %r3, %r12, -1;",
    "redux.sync.and.b32 %r1, %r10, -1; redux.sync.or.b32 %r2, %r11, -1; redux.sync.xor.b32 %r3, %r12, -1;",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r10; mov.u32 %r2, 0; mov.u32 %r3, 0;",
    f"{SHARED} st.shared.v4.b32 [%r6], {{%r10, %r11, %r12, %r10}}; bar.sync 0; and.b32 %r7, %r10, 255; mad.lo.u32 %r7, %r7, 16, %r5;"
    " ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r8}, [%r7];",
    f"{SHARED} st.shared.v4.b32 [%r6], {{%r10, %r11, %r12, %r10}}; bar.sync 0; and.b32 %r7, %r10, 255; mad.lo.u32 %r7, %r7, 16, %r5;"
    " ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r7]; mov.u32 %r3, 0;",
    f"{SHARED} stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r6], {{%r10, %r11, %r12, %r10}}; bar.sync 0;"
    " ld.shared.v4.b32 {%r1, %r2, %r3, %r8}, [%r6];",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12, %r10}, {%r11, %r12, %r10, %r11};",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16 {%r1, %r2, %r3, %r8, %r9, %r13, %r14, %r15}, {%r10, %r11}, {%r12, %r10},"
    " {%r11, %r12, %r10, %r11};",
]


@pytest.mark.parametrize("chain", CHAINS + WARPS)
def test_sequences_give_the_gpus_bits(context, kernel, chain) -> None:
    values = inputs()[32]
    found, expected = (np.zeros((THREADS, 4), np.uint32) for _ in range(2))
    body = f"""
        mov.u32 %r50, %tid.x; ld.param.u64 %rd30, [out]; ld.param.u64 %rd31, [x];
        mad.wide.u32 %rd30, %r50, 16, %rd30; mad.wide.u32 %rd31, %r50, 4, %rd31;
        ld.global.u32 %r10, [%rd31]; ld.global.u32 %r11, [%rd31+{4 * THREADS}]; ld.global.u32 %r12, [%rd31+{8 * THREADS}];
        {chain}
        mov.u32 %r4, 0; st.global.v4.u32 [%rd30], {{%r1, %r2, %r3, %r4}};"""
    text = write(kernel(body, ".param .u64 out, .param .u64 x")).replace("sm_100a", TARGET)
    on_gpu(text, "k", [expected, values])
    emulate(read(text), "k", grid=1, block=THREADS, arguments=[found, values])
    np.testing.assert_array_equal(found, expected)
