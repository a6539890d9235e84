"""Each lint: its exact message, texts that it is silent about, and its switch."""

from __future__ import annotations

import pytest

from ptxgen.layouts.errors import PtxgenError
from ptxgen.lint import LINTS, lint
from ptxgen.text import read
from tests.lint.kernels import found, ids, said, text_of

# id -> (directives, body, message)
MESSAGES: dict[str, tuple[str, str, str]] = {
    "misaligned": (
        "",
        "mov.u32 %r1, tile;\nadd.u32 %r2, %r1, 8;\nld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];",
        """\
k.ptx:11:1: warning misaligned: ld.shared.v4.b32, operand a: [%r2] is never a multiple of 16 bytes
  rule: an address is a multiple of the size of the access (PTX ISA 6.4.1)
  counter-example: tile is aligned to 16, and the address is 8 past a multiple of 16
  legal: an offset that is a multiple of 16""",
    ),
    "address-space": (
        "",
        "mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\nst.shared.b32 [%rd2+4], 1;",
        """\
k.ptx:11:1: warning address-space: st.shared.b32, operand a: [%rd2+4] is a generic address, from cvta.shared
  rule: an address within a state space is not the generic address of the same byte (PTX ISA 6.4.1)
  legal: cvta.to.shared, or an access without .shared""",
    ),
    "operand-range": (
        "",
        "mov.u32 %r1, 0;\nmbarrier.init.shared.b64 [full], %r1;",
        """\
k.ptx:10:1: error operand-range: mbarrier.init.shared.b64, operand count: %r1 is 0 on every path to here, which is out of range
  rule: count is 1 to 1048575 (PTX ISA 9.7.15.16.12)
  legal: 1 to 1048575""",
    ),
    "membermask": (
        ".reqntid 64",
        "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 16;\n@!%p1 bra END;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xff;\nEND:",
        """\
k.ptx:12:1: error membermask: shfl.sync.bfly.b32, operand membermask: the mask 0xff leaves out lanes that execute this
  rule: a mask names lanes that the warp has, the executing one among them (PTX ISA 9.7.10.6)
  counter-example: thread 15 executes it, and bit 15 is not set
  legal: a mask with the bits 0xffff""",
    ),
    "fragment-register": (
        "",
        """\
mov.u32 %r0, %tid.x; add.u32 %r1, %r0, 1; add.u32 %r2, %r0, 2; mov.f32 %f0, 0f00000000;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r0, %r2, %r2, %r1}, {%r0, %r1}, {%f0, %f0, %f0, %f0};""",
        """\
k.ptx:10:1: warning fragment-register: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, operand a: %r2 stands in a 2 times
  rule: the registers of a fragment hold different elements (PTX ISA 9.7.16.5.14)
  counter-example: elements 1 and 2 of {%r0, %r2, %r2, %r1} are one register
  legal: 4 registers, each its own""",
    ),
    "unwritten-register": (
        "",
        "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@!%p1 bra END;\nmov.u32 %r2, 1;\nEND:\nadd.u32 %r3, %r2, 1;",
        """\
k.ptx:14:1: warning unwritten-register: add.u32: %r2 is read, and there is a path to here on which nothing has written it
  rule: a register is written before it is read (PTX ISA 5.1)
  counter-example: the path on which %p1 is false
  legal: a write of %r2 on every path""",
    ),
    "register-in-flight": (
        "",
        "mov.u32 %r1, 0;\ntcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2, %r3}, [%r1];\nadd.u32 %r4, %r2, %r3;\ntcgen05.wait::ld.sync.aligned;",
        """\
k.ptx:11:1: warning register-in-flight: add.u32: %r2 is read while tcgen05.ld.sync.aligned.32x32b.x2.b32 may still work on it
  rule: a register that an instruction still works on is left alone until its wait (PTX ISA 9.7.18.8.3)
  counter-example: it was issued at k.ptx:10:1
  legal: tcgen05.wait::ld in between""",
    ),
    "unfenced-register": (
        "",
        "mov.u64 %rd1, 0;\nmov.f32 %f1, 0f00000000;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 0, 1, 1, 0, 0;",
        """\
k.ptx:11:1: warning unfenced-register: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16: %f1 was written, and no fence is in between
  rule: registers that products read are written in front of a fence that orders them (PTX ISA 9.7.17.5.2)
  counter-example: it is written at k.ptx:10:1
  legal: wgmma.fence in between""",
    ),
    "wait-before-commit": (
        "",
        "ld.param.u64 %rd1, [q];\ncp.async.ca.shared.global [tile], [%rd1], 16;\ncp.async.wait_group 0;\ncp.async.commit_group;",
        """\
k.ptx:11:1: warning wait-before-commit: cp.async.wait_group: no cp.async group has been closed on any path to here, so nothing is waited for
  rule: a wait for groups comes behind the commit that closes one (PTX ISA 9.7.10.28.3.3)
  legal: the commit in front of it""",
    ),
    "uninitialised-mbarrier": (
        "",
        "mbarrier.init.shared.b64 [full], 1;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [full+8], 0;\n@!%p1 bra WAIT;",
        """\
k.ptx:11:1: warning uninitialised-mbarrier: mbarrier.try_wait.parity.shared.b64, operand addr: nothing initialises the mbarrier at full+8
  rule: an mbarrier is initialised before it is used (PTX ISA 9.7.15.16.12)
  counter-example: initialised are full
  legal: mbarrier.init of full+8 by one thread, a fence and a barrier before the first use""",
    ),
    "not-given-back": (
        "",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 64;",
        """\
k.ptx:9:1: warning not-given-back: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32: nothing gives back the tensor memory
  rule: a kernel gives back what it has allocated before it ends (PTX ISA 9.7.18.7.1)
  counter-example: a later block on the multiprocessor waits for it forever
  legal: the deallocation, by the same warp, before the end""",
    ),
    "fused-product": (
        "",
        "mov.f32 %f1, 0f3F800000;\nmul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;",
        """\
k.ptx:11:1: note fused-product: add.f32: an assembler may round %f2, the product of mul.f32, and this sum at once
  rule: without .rnd a product and the sum that takes it may be rounded once (PTX ISA 9.7.3.5)
  legal: add.rn.f32 to round twice, fma.rn.f32 to round once""",
    ),
}


@pytest.mark.parametrize("id", LINTS)
def test_message(id: str) -> None:
    directives, body, message = MESSAGES[id]
    assert said(body, directives) == message


@pytest.mark.parametrize("id", LINTS)
def test_switch(id: str) -> None:
    directives, body, _ = MESSAGES[id]
    assert found(body, directives, without=(id,)) == []


def test_a_switch_that_is_none() -> None:
    with pytest.raises(PtxgenError, match="there is no lint 'misalignd'; known: misaligned, address-space"):
        lint(read(text_of("")), without=["misalignd"])


_MASKED = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8;"
_PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 0, 1, 1, 0, 0;"
_LOADED = "mov.u32 %r1, 0; tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2, %r3}, [%r1];"
_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3},"
_FRAGMENTS = "mov.u32 %r0, %tid.x; add.u32 %r1, %r0, 1; add.u32 %r2, %r0, 2; mov.u32 %r9, 0; mov.f32 %f9, 0f00000000;"
_EXPECT = "mbarrier.init.shared.b64 [full], 1; mbarrier.expect_tx.relaxed.cta.shared.b64 [full], %r1;"
_ALLOCATE = (
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], %r1; ld.shared.b32 %r2, [tile];"
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 128;"
)
_FENCE = "wgmma.fence.sync.aligned;"
_CLOSE, _WAIT = "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned"
_COPY = "ld.param.u64 %rd1, [q]; cp.async.ca.shared.global [tile], [%rd1], 16;"
_BULK = (
    "ld.param.u64 %rd1, [q]; mbarrier.init.shared.b64 [full], 1;"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], %r2, [full];"
)
_LOOP = "setp.lt.u32 %p1, %r1, 99; @%p1 bra L;"
_ROWS = "ld.param.u64 %rd1, [q]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 12, %rd1;"
_GENERIC = "mov.u64 %rd1, tile; cvta.shared.u64 %rd2, %rd1;"
_ZEROS = "{%f9, %f9, %f9, %f9}"
_ODD = "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0;"

# name -> (directives, body, findings)
CASES: dict[str, tuple[str, str, list[str]]] = {
    # alignment
    "a pointer without alignment": ("", "ld.param.u64 %rd1, [p]; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+4];", ["warning misaligned"]),
    "a pointer as it is": ("", "ld.param.u64 %rd1, [p]; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+32];", []),
    "bytes of a pointer": ("", "ld.param.u64 %rd1, [p]; ld.global.u8 %r1, [%rd1+3]; ld.global.u16 %rs1, [%rd1+2];", []),
    "rows of 12 bytes, halfway in a word": (
        "", f"{_ROWS} ld.global.b32 %r2, [%rd2+2];", ["warning misaligned"],
    ),
    "rows of 12 bytes, by words": (
        "", f"{_ROWS} ld.global.v2.b32 {{%r2, %r3}}, [%rd2+4];", [],
    ),
    "a loop over words": (
        "", f"mov.u32 %r1, tile; L: ld.shared.b64 %rd1, [%r1]; add.u32 %r1, %r1, 12; {_LOOP}", [],
    ),
    "a loop over doubles, from a word on": (
        "", f"mov.u32 %r9, tile; add.u32 %r1, %r9, 4; L: ld.shared.b64 %rd1, [%r1]; add.u32 %r1, %r1, 8; {_LOOP}",
        ["warning misaligned"],
    ),
    "moved on in place": ("", "mov.u32 %r1, tile; add.u32 %r1, %r1, 4; ld.shared.b64 %rd1, [%r1];", ["warning misaligned"]),
    "moved on in place, twice": ("", "mov.u32 %r1, tile; add.u32 %r1, %r1, 4; add.u32 %r1, %r1, 4; ld.shared.b64 %rd1, [%r1];", []),
    "moved on in one of two branches": (
        "", f"{_ODD} mov.u32 %r2, tile; @%p1 bra L; add.u32 %r2, %r2, 4; bra M; L: ld.shared.b64 %rd1, [%r2];"
        "M: ld.shared.b64 %rd2, [%r2];", [],
    ),
    "rounded up": ("", "mov.u32 %r1, tile; add.u32 %r1, %r1, 7; and.b32 %r2, %r1, -8; ld.shared.b64 %rd1, [%r2];", []),
    "rounded up, and one on": ("", "mov.u32 %r1, tile; and.b32 %r2, %r1, -8; ld.shared.b64 %rd1, [%r2+1];", ["warning misaligned"]),
    "an mbarrier between words": ("", "mov.u32 %r1, full; mbarrier.init.shared.b64 [%r1+4], 1;", ["warning misaligned"]),
    "either of two addresses": (
        "", f"{_ODD} mov.u32 %r2, tile; add.u32 %r3, %r2, 4; selp.b32 %r4, %r2, %r3, %p1; ld.shared.b64 %rd1, [%r4];", [],
    ),
    # spaces
    "shared through a generic access": ("", "mov.u64 %rd1, tile; ld.b32 %r1, [%rd1];", ["warning address-space"]),
    "shared as global": ("", "mov.u64 %rd1, tile; ld.global.b32 %r1, [%rd1];", ["warning address-space"]),
    "generic through a generic access": ("", f"{_GENERIC} ld.b32 %r1, [%rd2+8];", []),
    "there and back": (
        "", f"{_GENERIC} add.u64 %rd3, %rd2, 8; cvta.to.shared.u64 %rd4, %rd3; ld.shared.b32 %r1, [%rd4];", [],
    ),
    "a generic pointer cut to 32 bits": (
        "", f"{_GENERIC} cvt.u32.u64 %r1, %rd2; ld.shared.b32 %r2, [%r1];", [],
    ),
    # constants in registers
    "a barrier that is none": ("", "mov.u32 %r1, 15; add.u32 %r2, %r1, 1; bar.sync %r1; bar.sync %r2;", ["error operand-range"]),
    "threads of a barrier": ("", "mov.u32 %r2, 48; bar.sync 1, %r2;", ["error operand-range"]),
    "threads of a barrier, computed": ("", "mov.u32 %r1, 3; shl.b32 %r2, %r1, 5; bar.sync 1, %r2;", []),
    "expect_tx of 2^20": ("", f"mov.u32 %r1, 0x100000; {_EXPECT}", ["error operand-range"]),
    "expect_tx below 2^20": ("", f"mov.u32 %r1, 0xfffff; {_EXPECT}", []),
    "columns of tensor memory": ("", f"mov.u32 %r1, 96; {_ALLOCATE}", ["error operand-range"]),
    "a power of two": ("", f"mov.u32 %r1, 128; {_ALLOCATE}", []),
    "a bulk copy of 252 bytes": ("", f"mov.u32 %r2, 252; {_BULK}", ["error operand-range"]),
    "one of two sizes": ("", f"{_ODD} mov.u32 %r2, 252; @%p1 mov.u32 %r2, 256; {_BULK}", []),
    # masks
    "no lane": ("", "mov.u32 %r1, 0; bar.warp.sync %r1;", ["error membermask"]),
    "no lane, written out": ("", "bar.warp.sync 0;", ["error membermask"]),
    "all lanes": (".reqntid 128", "bar.warp.sync 0xffffffff; bar.warp.sync -1;", []),
    "half a warp, of a block that is one": (".reqntid 16", "bar.warp.sync 0xffff;", []),
    "half a warp, of any block": ("", "bar.warp.sync 0xffff;", []),
    "half a warp, executed by all": (".reqntid 32", "bar.warp.sync 0xffff;", ["error membermask"]),
    "lanes that are not there": (".reqntid 16", "bar.warp.sync 0xffffffff;", ["warning membermask"]),
    "behind a guard": (".reqntid 32", f"{_MASKED} @%p1 bar.warp.sync 0xff; @!%p1 bar.warp.sync 0xffffff00;", []),
    "behind the wrong guard": (".reqntid 32", f"{_MASKED} @!%p1 bar.warp.sync 0xff;", ["error membermask"]),
    "in a branch": (".reqntid 32", f"{_MASKED} @!%p1 bra END; bar.warp.sync 0xff; END:", []),
    "behind both branches": (".reqntid 32", f"{_MASKED} @!%p1 bra END; mov.u32 %r2, 1; END: bar.warp.sync 0xff;", ["error membermask"]),
    "lanes by their number": (".reqntid 64", "mov.u32 %r1, %laneid; setp.gt.u32 %p1, %r1, 30; @%p1 bar.warp.sync 0x80000000;", []),
    "what a value decides": (".reqntid 32", "ld.param.u32 %r1, [p]; setp.eq.u32 %p1, %r1, 0; @%p1 bar.warp.sync 0xff;", []),
    "rows of a block of two dimensions": (
        ".reqntid 8, 8", "mov.u32 %r1, %tid.y; setp.lt.u32 %p1, %r1, 1; @%p1 bar.warp.sync 0xff; @%p1 bar.warp.sync 0x7f;",
        ["error membermask"],
    ),
    # fragments
    "one value everywhere": ("", f"{_FRAGMENTS} {_MMA} {{%r0, %r0, %r0, %r0}}, {{%r1, %r1}}, {_ZEROS};", []),
    "rows that repeat": ("", f"{_FRAGMENTS} {_MMA} {{%r0, %r0, %r1, %r1}}, {{%r1, %r2}}, {_ZEROS};", []),
    "a constant": ("", f"{_FRAGMENTS} {_MMA} {{%r0, %r9, %r1, %r9}}, {{%r1, %r2}}, {_ZEROS};", []),
    "an accumulator twice": (
        "", f"mov.u64 %rd1, 0; {_PRODUCT.replace('%f2', '%f1')}",
        ["warning fragment-register"],
    ),
    "a matrix that is stored": (
        "", f"{_FRAGMENTS} stmatrix.sync.aligned.m8n8.x4.shared.b16 [tile], {{%r0, %r1, %r1, %r2}};", [],
    ),
    "words of one thread": ("", "mov.u32 %r1, 5; mov.u32 %r2, %tid.x; st.shared.v4.b32 [tile], {%r1, %r2, %r2, %r1};", []),
    # registers under way
    "a wait in between": ("", f"{_LOADED} tcgen05.wait::ld.sync.aligned; add.u32 %r4, %r2, %r3;", []),
    "the wait for stores": ("", f"{_LOADED} tcgen05.wait::st.sync.aligned; add.u32 %r4, %r2, %r3;", ["warning register-in-flight"]),
    "overwritten": ("", f"{_LOADED} mov.u32 %r3, 1; tcgen05.wait::ld.sync.aligned;", ["warning register-in-flight"]),
    "something else meanwhile": ("", f"{_LOADED} add.u32 %r4, %r1, 1; tcgen05.wait::ld.sync.aligned; add.u32 %r4, %r2, %r3;", []),
    "on one of two paths": (
        "", f"{_ODD} mov.u32 %r2, 0; mov.u32 %r3, 0; @%p1 bra END; {_LOADED} END: add.u32 %r4, %r2, %r3; tcgen05.wait::ld.sync.aligned;",
        ["warning register-in-flight"],
    ),
    "products one after another": (
        "", f"mov.u64 %rd1, 0; {_PRODUCT} {_PRODUCT} {_CLOSE} {_WAIT} 0; mov.f32 %f4, %f0;", [],
    ),
    "before the wait": (
        "", f"mov.u64 %rd1, 0; {_PRODUCT} {_CLOSE} mov.f32 %f4, %f0; {_WAIT} 0;",
        ["warning register-in-flight"],
    ),
    "a wait that leaves this group": (
        "", f"mov.u64 %rd1, 0; {_PRODUCT} {_CLOSE} {_WAIT} 1; mov.f32 %f4, %f0;",
        ["warning register-in-flight"],
    ),
    "a wait that leaves a younger group": (
        "", f"mov.u64 %rd1, 0; {_PRODUCT} {_CLOSE} {_CLOSE} {_WAIT} 1; mov.f32 %f4, %f0;",
        [],
    ),
    "never committed": (
        "", f"mov.u64 %rd1, 0; {_CLOSE} {_PRODUCT} {_WAIT} 0; mov.f32 %f4, %f0;",
        ["warning register-in-flight"],
    ),
    # registers that products read
    "a fence in between": ("", f"mov.u64 %rd1, 0; mov.f32 %f0, 0f00000000; {_FENCE} {_PRODUCT}", []),
    "a write behind the fence": ("", f"mov.u64 %rd1, 0; {_FENCE} mov.f32 %f0, 0f00000000; {_PRODUCT}", ["warning unfenced-register"]),
    "a write of something else": ("", f"mov.u64 %rd1, 0; {_FENCE} mov.f32 %f9, 0f00000000; {_PRODUCT}", []),
    "a product in a loop": (
        "", f"mov.u64 %rd1, 0; mov.u32 %r1, 0; {_FENCE} L: {_PRODUCT} {_CLOSE} {_WAIT} 0; add.u32 %r1, %r1, 1; {_LOOP}", [],
    ),
    "a loop that writes them": (
        "", f"mov.u64 %rd1, 0; mov.u32 %r1, 0; {_FENCE} L: {_PRODUCT} {_CLOSE} {_WAIT} 0; mov.f32 %f0, 0f00000000; {_LOOP}",
        ["warning unfenced-register"],
    ),
    # groups
    "a wait in a loop, the commit behind it": (
        "", f"mov.u32 %r1, 0; L: cp.async.wait_group 0; {_COPY} cp.async.commit_group; add.u32 %r1, %r1, 1; {_LOOP}", [],
    ),
    "wait_all": ("", f"{_COPY} cp.async.wait_all;", []),
    "groups of another kind": ("", "cp.async.commit_group; cp.async.bulk.wait_group 0;", ["warning wait-before-commit"]),
    # mbarriers
    "initialised through a register": (
        "", "mov.u32 %r1, full; add.u32 %r2, %r1, 8; mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.shared.b64 _, [full+8];", [],
    ),
    "initialised in a loop": (
        "", f"mov.u32 %r1, full; L: mbarrier.init.shared.b64 [%r1], 1; add.u32 %r1, %r1, 8; {_LOOP}"
        "mbarrier.arrive.shared.b64 _, [full+8];", [],
    ),
    "initialised who knows where": (
        "", "ld.shared.b32 %r1, [tile]; mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.shared.b64 _, [full];", [],
    ),
    "another variable's": (
        "", "mbarrier.init.shared.b64 [tile], 1; mbarrier.arrive.shared.b64 _, [full];", ["warning uninitialised-mbarrier"],
    ),
    # products and sums
    "rounded twice": ("", "mov.f32 %f1, 0f3F800000; mul.rn.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1;", []),
    "the sum rounded": ("", "mov.f32 %f1, 0f3F800000; mul.f32 %f2, %f1, %f1; add.rn.f32 %f3, %f2, %f1;", []),
    "a difference": ("", "mov.f32 %f1, 0f3F800000; mul.f32 %f2, %f1, %f1; sub.f32 %f3, %f1, %f2;", ["note fused-product"]),
    "a sum of sums": ("", "mov.f32 %f1, 0f3F800000; add.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1;", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    directives, body, expected = CASES[name]
    assert ids(body, directives) == expected


def test_a_function_may_use_what_its_caller_has_prepared() -> None:
    function = """
.func (.reg .b32 %r9) helper(.reg .b32 %r8)
{ .reg .pred %p; .reg .b32 %r<5>; cp.async.wait_group 0; mbarrier.try_wait.parity.shared.b64 %p, [%r8], 0; mov.u32 %r9, %r8; ret; }"""
    assert ids("", outside=function) == []


def test_a_call_may_do_anything() -> None:
    assert ids("call helper; cp.async.wait_group 0; mbarrier.arrive.shared.b64 _, [full];", outside="\n.extern .func helper;") == []


def test_a_result_that_a_function_does_not_write() -> None:
    function = "\n.func (.reg .b32 %r9) helper(.reg .b32 %r8)\n{ add.u32 %r8, %r8, %r9; ret; }"
    assert ids("", outside=function) == ["warning unwritten-register"]


def test_what_has_no_contract_may_write_its_operands() -> None:
    assert ids("unheard.of.b32 %r1, %r2; add.u32 %r3, %r1, %r2;") == []


def test_sums_of_products_are_one_note() -> None:
    (one,) = found("mov.f32 %f1, 0f3F800000;" + "mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1;" * 3)
    assert "and this sum at once (2 more sums here are like it)" in one.message
