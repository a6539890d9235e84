"""What the threads of a warp do together: exchange, vote, match, reduce, elect (ISA 9.7.10.6 and 9.7.15.10 to 9.7.15.15)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, instruction, out, predicate, source

_MASK = source("u32", lanes=True)
_SYNC = {".sync": "Waits until every thread that membermask names executes this; the executing thread is among them."}

shfl_sync = instruction(
    "shfl.sync",
    section="9.7.10.6",
    summary="Reads register a of another thread of the warp.",
    syntax="shfl.sync.mode.b32 d{|p}, a, b, c, membermask;",
    choices=".mode = { .up, .down, .bfly, .idx };",
    operands={
        "d": out("b32"),
        "p": predicate("out", sink=True),
        "a": source("b32"),
        "b": source("b32"),  # bits 0 to 4 count; a larger one "may still result in a valid computed source lane index"
        # Bits 0 to 4 clamp the source lane; bits 8 to 12 are those of the lane's number that stay, which splits the warp into segments.
        "c": source("b32"),
        "membermask": _MASK,
    },
    since=(Since("6.0"),),
    issuer="warp",
    meaning={
        **_SYNC,
        ".mode": "Which thread is read; past the clamp in c a thread reads itself and p is false.",
        ".up": "The thread b lanes below.",
        ".down": "The thread b lanes above.",
        ".bfly": "The thread whose lane number differs in the bits of b.",
        ".idx": "The thread of lane b.",
        "p": "Whether the lane that is read lies in the thread's segment; where it does not, d is the thread's own a.",
        "b": "A distance, a mask of lane bits to flip, or a lane, as the mode says; bits 0 to 4 count.",
        "c": "Bits 0 to 4: the last lane that may be read (.up: the first). Bits 8 to 12: lane bits that stay the thread's own. "
        "For the whole warp 0 with .up, else 31; in segments of w lanes add (32 - w) << 8.",
    },
)

vote_sync = instruction(
    "vote.sync",
    section="9.7.15.10",
    summary="Combines a predicate of the warp's threads and gives all of them the result.",
    syntax="""
        vote.sync.mode.pred d, {!}a, membermask;
        vote.sync.ballot.b32 ballot, {!}a, membermask;
    """,
    choices=".mode = { .all, .any, .uni };",
    operands={
        "d": predicate("out"),
        "ballot": out("b32"),
        "a": predicate(negatable=True, immediate=True),
        "membermask": _MASK,
    },
    since=(Since("6.0"),),
    issuer="warp",
    meaning={
        **_SYNC,
        ".mode": "How the predicates are combined.",
        ".all": "Whether all are true.",
        ".any": "Whether any is true.",
        ".uni": "Whether all are equal.",
        ".ballot": "Bit i is the predicate of lane i, and 0 for lanes that do not take part.",
    },
)

match_sync = instruction(
    "match.sync",
    section="9.7.15.11",
    summary="Tells which threads of the warp hold the same value.",
    syntax="""
        match.any.sync.type d, a, membermask;
        match.all.sync.type d{|p}, a, membermask;
    """,
    choices=".type = { .b32, .b64 };",
    operands={
        "d": out("u32", sink=".all"),
        "p": predicate("out", sink=True),
        "a": source(".type"),
        "membermask": _MASK,
    },
    since=(Since("6.0"),),
    issuer="warp",
    meaning={
        **_SYNC,
        ".any": "The mask of the lanes whose value equals that of the executing thread.",
        ".all": "membermask where all values are equal, which makes p true, and else 0.",
        ".type": "What is compared.",
        "p": "Whether all values are equal.",
    },
)

activemask = instruction(
    "activemask",
    section="9.7.15.12",
    summary="The mask of the warp's threads that execute this together; it neither waits nor converges.",
    syntax="activemask.b32 d;",
    operands={"d": out("b32")},
    since=(Since("6.2"),),
    issuer="warp",
)

_REDUCED = "u32 if .type in .b32 else .type"  # ptxas takes no float register here

redux_sync = instruction(
    "redux.sync",
    section="9.7.15.13",
    summary="Reduces a register over the threads of the warp and gives all of them the result.",
    syntax="""
        redux.sync.op.type dst, src, membermask;
        redux.sync.op{.abs}{.NaN}.f32 dst, src, membermask;
    """,
    choices="""
        .op = { .add, .min, .max, .and, .or, .xor };
        .type = { .u32, .s32, .b32 };
    """,
    operands={"dst": out(_REDUCED), "src": source(_REDUCED), "membermask": _MASK},
    rules=(
        Rule("integers are reduced by .add, .min or .max", when=".type in .u32 .s32", need=".op in .add .min .max"),
        Rule("untyped bits are reduced by .and, .or or .xor", when=".type in .b32", need=".op in .and .or .xor"),
        Rule("floats are reduced by .min or .max", when=".f32", need=".op in .min .max"),
    ),
    since=(
        Since("7.0", "sm_80+"),
        Since("8.6", "sm_100f", when=".f32"),
    ),
    issuer="warp",
    meaning={
        **_SYNC,
        ".op": "How the values are combined.",
        ".add": "The sum, which wraps.",
        ".min": "The smallest.",
        ".max": "The largest.",
        ".and": "Bitwise and.",
        ".or": "Bitwise or.",
        ".xor": "Bitwise exclusive or.",
        ".abs": "Takes absolute values first.",
        ".NaN": "The result is the canonical NaN where an input is NaN; without it NaN inputs are passed over.",
        ".type": "How the bits are read.",
    },
)

elect_sync = instruction(
    "elect.sync",
    section="9.7.15.15",
    summary="Chooses one of the warp's threads: p is true in it alone, and d is its lane in all of them.",
    syntax="elect.sync d|p, membermask;",
    operands={"d": out("u32", sink=True), "p": predicate("out"), "membermask": _MASK},
    since=(Since("8.0", "sm_90+"),),
    issuer="warp",
    meaning=_SYNC,
)
