"""Barriers of a block, a warp and a cluster (ISA 9.7.15.1 to 9.7.15.3)."""

from __future__ import annotations

from ptxgen.instructions.language import Since, instruction, out, predicate, source

_OPERANDS = {
    "a": source("u32", values=range(16)),
    "b": source("u32", values=range(0, 1 << 20, 32)),
    "n": source("u32", values=range(32, 1 << 20, 32)),
    "d": out("u32"),
    "p": predicate("out"),
    "c": predicate(negatable=True, immediate=True),
}
_CTA = (Since("7.8", when=".cta"),)
_MEANING = {
    ".cta": "Says that the barrier is the block's; the same without it.",
    ".sync": "Waits until all taking part have arrived; their earlier memory accesses are then visible.",
    ".arrive": "Announces arrival and goes on without waiting; the number of threads that take part is required.",
    ".red": "Waits as .sync does, and combines a predicate of all threads.",
    ".popc": "How many predicates are true.",
    ".op": "How the predicates are combined.",
    ".and": "Whether all are true.",
    ".or": "Whether any is true.",
    ".aligned": "All threads of the warp execute this very instruction.",
    ".u32": "The count's type.",
    ".pred": "The result is a predicate.",
    "a": "The barrier's number, 0 to 15.",
    "b": "Threads that take part, a multiple of 32; left out, all of the block.",
    "n": "Threads that take part, a multiple of 32: those that arrive and those that wait.",
    "c": "The thread's predicate.",
}

bar = instruction(
    "bar",
    section="9.7.15.1",
    summary="Synchronises the threads of a block at one of its 16 barriers; every thread of a warp takes part in it together.",
    syntax="""
        bar{.cta}.sync a{, b};
        bar{.cta}.arrive a, n;
        bar{.cta}.red.popc.u32 d, a{, b}, {!}c;
        bar{.cta}.red.op.pred p, a{, b}, {!}c;
    """,
    choices=".op = { .and, .or };",
    operands=_OPERANDS,
    since=_CTA,
    issuer="cta",
    meaning=_MEANING,
)

barrier = instruction(
    "barrier",
    section="9.7.15.1",
    summary="Synchronises the threads of a block at one of its 16 barriers; with .aligned the same as bar.",
    syntax="""
        barrier{.cta}.sync{.aligned} a{, b};
        barrier{.cta}.arrive{.aligned} a, n;
        barrier{.cta}.red.popc{.aligned}.u32 d, a{, b}, {!}c;
        barrier{.cta}.red.op{.aligned}.pred p, a{, b}, {!}c;
    """,
    choices=".op = { .and, .or };",
    operands=_OPERANDS,
    since=_CTA,
    issuer="cta",
    meaning=_MEANING,
)

bar_warp = instruction(
    "bar.warp.sync",
    section="9.7.15.2",
    summary="Waits until all threads of the warp that a mask names have come here; orders their memory accesses.",
    syntax="bar.warp.sync mask;",
    operands={"mask": source("u32", lanes=True)},
    issuer="warp",
    meaning={
        ".warp": "Threads of one warp.",
        ".sync": "Waits for every thread that the mask names; the executing thread must be among them.",
    },
)

barrier_cluster = instruction(
    "barrier.cluster",
    section="9.7.15.3",
    summary="Arrives at, or waits for, the barrier of all threads of the cluster.",
    syntax="""
        barrier.cluster.arrive{.sem}{.aligned};
        barrier.cluster.wait{.acquire}{.aligned};
    """,
    choices=".sem = { .release, .relaxed };",
    since=(
        Since("7.8", "sm_90+"),
        Since("8.0", when=".sem or .acquire"),
    ),
    issuer="warp",
    meaning={
        ".cluster": "All threads of all blocks in the cluster.",
        ".arrive": "Announces arrival without waiting.",
        ".wait": "Waits until all threads of the cluster have arrived.",
        ".sem": "How earlier accesses are ordered; left out, .release.",
        ".release": "Earlier accesses are visible to whoever waits with .acquire.",
        ".relaxed": "Orders nothing; a fence must do it where needed.",
        ".acquire": "Sees what the others released at arrival; the default of .wait.",
        ".aligned": "All threads of the warp execute this very instruction.",
    },
)
