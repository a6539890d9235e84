"""cp.async: copies of a few bytes that go on by themselves (ISA 9.7.10.28.3)."""

from __future__ import annotations

from ptxgen.instructions.copies import HINT, POLICY, POLICY_RULES, SPACES
from ptxgen.instructions.language import Since, address, immediate, instruction, predicate, source
from ptxgen.instructions.tiles import Tile

cp_async = instruction(
    "cp.async",
    section="9.7.10.28.3.1",
    summary="Copies 4, 8 or 16 bytes from global into shared memory while the thread goes on.",
    syntax="""
        cp.async.ca.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp_size{, src_size}{, cache_policy};
        cp.async.cg.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], 16{, src_size}{, cache_policy};
        cp.async.ca.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp_size, {!}ignore_src{, cache_policy};
        cp.async.cg.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], 16, {!}ignore_src{, cache_policy};
    """,
    choices=f"""
        .state = {{ .shared{{::cta}} }};
        .level::prefetch_size = {{ .L2::64B, .L2::128B, .L2::256B }};
        {HINT}
    """,
    operands={
        "dst": address("out", "b8", space=".state", align=4),
        "src": address("in", "b8", space="global", align=4),
        "cp_size": immediate("u32", (4, 8, 16)),
        "16": immediate("u32", (16,)),
        "src_size": source("u32", values=range(17), limit="cp_size"),
        "ignore_src": predicate(negatable=True),
        "cache_policy": POLICY,
    },
    rules=POLICY_RULES,
    since=(
        Since("7.0", "sm_80+"),
        Since("7.4", when=".level::cache_hint or .level::prefetch_size"),
        Since("7.5", when="ignore_src"),
    ),
    completes="cp.async group",
    tile=Tile({}, sized={"dst": "cp_size 16", "src": "cp_size 16"}),
    meaning={
        **SPACES,
        ".ca": "Cached in L1 and L2.",
        ".cg": "Cached in L2 alone; moves 16 bytes.",
        ".state": "Where the bytes go.",
        "16": "Bytes that are written.",
        ".level::prefetch_size": "How many bytes around the address L2 may fetch ahead.",
    },
)

cp_async_commit_group = instruction(
    "cp.async.commit_group",
    section="9.7.10.28.3.2",
    summary="Closes a group of all cp.async of the thread that belong to none yet; it may be empty.",
    syntax="cp.async.commit_group;",
    commits="cp.async group",
    since=(Since("7.0", "sm_80+"),),
    meaning={".commit_group": "The group is complete when all of its copies have written."},
)

cp_async_wait_group = instruction(
    "cp.async.wait_group",
    section="9.7.10.28.3.3",
    summary="Waits until at most n of the thread's youngest groups, or none of its copies, are still under way.",
    syntax="""
        cp.async.wait_group n;
        cp.async.wait_all;
    """,
    awaits="cp.async group",
    operands={"n": immediate("u32", range(1 << 31))},
    since=(Since("7.0", "sm_80+"),),
    meaning={
        ".wait_group": "Waits for the older groups; what the thread copied is then visible to it alone, to others after a barrier.",
        ".wait_all": "Waits for every copy of the thread, committed or not.",
        "n": "Groups that may still be under way, the youngest ones; 0 waits for all.",
    },
)

cp_async_mbarrier_arrive = instruction(
    "cp.async.mbarrier.arrive",
    section="9.7.15.16.18",
    summary="Arrives at an mbarrier once all cp.async that the thread has issued before are done.",
    syntax="cp.async.mbarrier.arrive{.noinc}{.state}.b64 [addr];",
    choices=".state = { .shared{::cta} };",
    operands={"addr": address("inout", "b64", space=".state")},
    since=(Since("7.0", "sm_80+"), Since("7.8", when=".state in .shared::cta")),
    completes="mbarrier arrival",
    meaning={
        **SPACES,
        ".noinc": "The count that init set includes this arrival; left out, the pending count is raised by one first.",
        ".state": "Where the mbarrier lies; left out, the address is generic.",
    },
)
