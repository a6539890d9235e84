"""Barriers that are objects in shared memory: arrivals, bytes under way, and phases (ISA 9.7.15.16)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, predicate, sink, source

_STATE = ".state = { .shared{::cta} };"
_OWN = address("inout", "b64", space=".state", holds="mbarrier", within="shared")
_COUNT = source("u32", values=range(1, 1 << 20))
# ptxas 13.5 takes any constant; the object counts up to 2^20 - 1 bytes at a time (ISA 9.7.15.16.1).
_TX_COUNT = source("u32", values=range(1 << 20))
_PLACE = (Since("7.8", when=".state in .shared::cta"),)
_PAIRED = (
    Rule("a memory order and its scope are given together", when=".sem", need=".scope"),
    Rule("a memory order and its scope are given together", when=".scope", need=".sem"),
)
_ORDERED = (
    Since("8.0", when=".sem"),
    Since("8.0", "sm_90+", when=".scope in .cluster"),
    Since("8.6", "sm_90+", when=".sem in .relaxed"),
)
_SCOPE = ".scope = { .cta, .cluster };"
_PLACES = {
    ".state": "Where the mbarrier lies; left out, the address is generic.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".shared::cluster": "Shared memory of any block in the cluster: arrivals only, and the state stays unknown.",
    ".window": "Shared memory of any block in the cluster; left out, the address is generic.",
    ".multicast::cluster::32b": "In each block whose number stands in the mask, at the same offset.",
}
_LAYOUTS = {
    ".layout": "How the 64 bits are used.",
    ".layout::v0": "As it always was; what is meant where none is named.",
    ".layout::v1": "With a second phase, which completes only if no copy has reported anything, and with what copies report.",
}
_LAYOUT = ".layout = { .layout::v0, .layout::v1 };"
_NEW_LAYOUT = Since("9.3", "sm_90+", when=".layout or .layout::v0 or .layout::v1")
_WINDOW = ".window = { .shared::cluster };"
_EVERY = address("inout", "b64", space=".window", within="shared")
_MASK = source("u32", values=range(1 << 32), blocks=True)
_MULTICAST = Since("9.4", "sm_107f", when=".multicast::cluster::32b")
_ORDERS = {
    ".sem": "How the thread's other memory accesses are ordered; left out, arrivals release and waits acquire, both for .cta.",
    ".release": "Earlier accesses are visible to whoever acquires the completed phase.",
    ".relaxed": "Orders nothing.",
    ".acquire": "What the arriving threads released is visible afterwards, if the phase is complete.",
    ".scope": "The threads between which this holds.",
    ".cta": "The thread's own block.",
    ".cluster": "The blocks of the thread's cluster.",
}

mbarrier_init = instruction(
    "mbarrier.init",
    section="9.7.15.16.12",
    summary="Makes an mbarrier: phase 0, so many arrivals expected in each phase, no bytes under way.",
    syntax="""
        mbarrier.init{.layout::v0}{.state}.b64 [addr], count;
        mbarrier.init.layout::v1{.state}.b64 [addr], few;
    """,
    choices=_STATE,
    operands={
        "addr": address("out", "b64", space=".state", holds="mbarrier", within="shared"),
        "count": _COUNT,
        "few": source("u32", values=range(1, 512)),
    },
    since=(Since("7.0", "sm_80+"), *_PLACE, _NEW_LAYOUT),
    issuer="one",
    meaning={
        **_PLACES,
        **_LAYOUTS,
        "count": "Arrivals that complete a phase.",
        "few": "Arrivals that complete a phase.",
    },
)

mbarrier_inval = instruction(
    "mbarrier.inval",
    section="9.7.15.16.13",
    summary="Ends an mbarrier, so that its memory may be used for anything else.",
    syntax="mbarrier.inval{.state}.b64 [addr];",
    choices=_STATE,
    operands={"addr": _OWN},
    since=(Since("7.0", "sm_80+"), *_PLACE),
    issuer="one",
    meaning=_PLACES,
)

_TX_CHOICES = f"""
    .sem = {{ .relaxed }};
    {_SCOPE}
    .space = {{ .shared{{::cta, ::cluster}} }};
    {_WINDOW}
"""
_TX_OPERANDS = {
    "addr": address("inout", "b64", space=".space", within="shared"),
    "every": _EVERY,
    "tx_count": _TX_COUNT,
    "cta_mask": _MASK,
}
_TX_MEANING = {**_ORDERS, **_PLACES, ".space": "Where the mbarrier lies; left out, the address is generic."}

mbarrier_expect_tx = instruction(
    "mbarrier.expect_tx",
    section="9.7.15.16.14",
    summary="Adds to the bytes that the current phase waits for.",
    syntax="""
        mbarrier.expect_tx{.sem}{.scope}{.space}.b64 [addr], tx_count;
        mbarrier.expect_tx{.sem}{.scope}{.window}.multicast::cluster::32b.b64 [every], tx_count, cta_mask;
    """,
    choices=_TX_CHOICES,
    operands=_TX_OPERANDS,
    rules=_PAIRED,
    since=(Since("8.0", "sm_90+"), _MULTICAST),
    several=".multicast::cluster::32b",
    issuer="one",
    meaning=_TX_MEANING,
)

mbarrier_complete_tx = instruction(
    "mbarrier.complete_tx",
    section="9.7.15.16.15",
    summary="Takes from the bytes that the current phase waits for, as a copy that has arrived does; nothing is copied.",
    syntax="""
        mbarrier.complete_tx{.sem}{.scope}{.space}.b64 [addr], tx_count;
        mbarrier.complete_tx{.sem}{.scope}{.window}.multicast::cluster::32b.b64 [every], tx_count, cta_mask;
    """,
    choices=_TX_CHOICES,
    operands=_TX_OPERANDS,
    rules=_PAIRED,
    since=(Since("8.0", "sm_90+"), _MULTICAST),
    several=".multicast::cluster::32b",
    issuer="one",
    meaning=_TX_MEANING,
)

_REMOTE = address("inout", "b64", space="shared")
_ARRIVE_CHOICES = f"""
    .sem = {{ .release, .relaxed }};
    {_SCOPE}
    {_STATE}
    {_WINDOW}
"""
_ARRIVE_OPERANDS = {
    "state": out("u64"),
    "_": sink(),
    "addr": _OWN,
    "remote": _REMOTE,
    "every": _EVERY,
    "count": _COUNT,
    "tx_count": _TX_COUNT,
    "cta_mask": _MASK,
}
_NO_COMPLETE = (
    Rule("an arrival that cannot complete the phase is for threads of the block, with .release.cta or without order",
         when=".noComplete and .release", need=".cta"),
    Rule("an arrival that cannot complete the phase is for threads of the block, with .release.cta or without order",
         when=".noComplete and .cta", need=".release"),
)  # fmt: skip
_ARRIVE_SINCE = (
    Since("7.0", "sm_80+"),
    *_PLACE,
    *_ORDERED,
    Since("7.8", "sm_90+", when="count and not .noComplete"),
    Since("8.0", "sm_90+", when=".shared::cluster or .expect_tx"),
    Since("8.0", when=".noComplete and .release"),
    _MULTICAST,
)
_ARRIVE_MEANING = {
    **_ORDERS,
    **_PLACES,
    ".arrive": "The phase completes when no arrival is pending and no byte is under way; the next one then begins.",
    ".arrive_drop": "As .arrive, and one arrival less is expected in the phases that follow.",
    ".expect_tx": "First adds tx_count to the bytes that the phase waits for.",
    ".noComplete": "The caller's promise that this does not complete the phase.",
}

mbarrier_arrive = instruction(
    "mbarrier.arrive",
    section="9.7.15.16.16",
    summary="Takes arrivals from those that the current phase waits for; returns the state before, which a wait for the phase takes.",
    syntax="""
        mbarrier.arrive{.sem}{.scope}{.state}.b64 state, [addr];
        mbarrier.arrive{.sem}{.scope}{.state}.b64 state, [addr], count;
        mbarrier.arrive{.sem}{.scope}{.state}.b64 _, [addr];
        mbarrier.arrive{.sem}{.scope}{.state}.b64 _, [addr], count;
        mbarrier.arrive{.sem}{.scope}.shared::cluster.b64 _, [remote]{, count};
        mbarrier.arrive.expect_tx{.sem}{.scope}{.state}.b64 state, [addr], tx_count;
        mbarrier.arrive.expect_tx{.sem}{.scope}{.state}.b64 _, [addr], tx_count;
        mbarrier.arrive.expect_tx{.sem}{.scope}.shared::cluster.b64 _, [remote], tx_count;
        mbarrier.arrive{.sem}{.scope}{.window}.multicast::cluster::32b.b64 _, [every]{, count}, cta_mask;
        mbarrier.arrive.expect_tx{.sem}{.scope}{.window}.multicast::cluster::32b.b64 _, [every], tx_count, cta_mask;
        mbarrier.arrive.noComplete{.release}{.cta}{.state}.b64 state, [addr], count;
        mbarrier.arrive.noComplete{.release}{.cta}{.state}.b64 _, [addr], count;
    """,
    choices=_ARRIVE_CHOICES,
    operands=_ARRIVE_OPERANDS,
    rules=(*_PAIRED, *_NO_COMPLETE),
    since=(*_ARRIVE_SINCE, Since("7.1", when="_")),
    several=".multicast::cluster::32b",
    meaning=_ARRIVE_MEANING,
)

mbarrier_arrive_drop = instruction(
    "mbarrier.arrive_drop",
    section="9.7.15.16.17",
    summary="Arrives for the last time: fewer arrivals are expected in this phase and in all that follow.",
    syntax="""
        mbarrier.arrive_drop{.sem}{.scope}{.state}.b64 state, [addr];
        mbarrier.arrive_drop{.sem}{.scope}{.state}.b64 state, [addr], count;
        mbarrier.arrive_drop{.sem}{.scope}{.state}.b64 _, [addr];
        mbarrier.arrive_drop{.sem}{.scope}{.state}.b64 _, [addr], count;
        mbarrier.arrive_drop{.sem}{.scope}.shared::cluster.b64 _, [remote]{, count};
        mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.state}.b64 state, [addr], tx_count;
        mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.state}.b64 _, [addr], tx_count;
        mbarrier.arrive_drop.expect_tx{.sem}{.scope}.shared::cluster.b64 _, [remote], tx_count;
        mbarrier.arrive_drop{.sem}{.scope}{.window}.multicast::cluster::32b.b64 _, [every]{, count}, cta_mask;
        mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.window}.multicast::cluster::32b.b64 _, [every], tx_count, cta_mask;
        mbarrier.arrive_drop.noComplete{.release}{.cta}{.state}.b64 state, [addr], count;
        mbarrier.arrive_drop.noComplete{.release}{.cta}{.state}.b64 _, [addr], count;
    """,
    choices=_ARRIVE_CHOICES,
    operands=_ARRIVE_OPERANDS,
    rules=(*_PAIRED, *_NO_COMPLETE),
    since=_ARRIVE_SINCE,
    several=".multicast::cluster::32b",
    meaning=_ARRIVE_MEANING,
)

_WAIT_CHOICES = f"""
    .phase_type = {{ .phase_type::primary, .phase_type::conditional }};
    .sem = {{ .acquire, .relaxed }};
    {_SCOPE}
    {_STATE}
"""
_WAIT_OPERANDS = {
    "wait_complete": predicate("out"),
    "report_predicate": predicate("out", sink=True),
    "report_value": out("b8"),
    "addr": address("in", "b64", space=".state", holds="mbarrier", within="shared"),
    "state": source("u64"),
    "phase_parity": source("u32", values=(0, 1)),
    "suspend_time_hint": source("u32"),
}
_WAIT_MEANING = {
    **_ORDERS,
    **_PLACES,
    ".parity": "The phase is named by the parity of its number, as a counter of completed rounds knows it: parity 1 passes at once on a "
               "barrier that has completed nothing.",
    ".phase_type": "Which of the two phases that an mbarrier of layout v1 has; one of layout v0 has them complete together.",
    ".phase_type::primary": "The one that arrivals and bytes complete, whatever copies have reported; what they have may be asked for.",
    ".phase_type::conditional": "The one that completes only if no copy has reported anything.",
}  # fmt: skip
_TYPED = Since("9.3", "sm_90+", when=".phase_type or .phase_type::primary")

mbarrier_test_wait = instruction(
    "mbarrier.test_wait",
    section="9.7.15.16.19",
    summary="Tells at once whether a phase is complete.",
    syntax="""
        mbarrier.test_wait{.phase_type::primary}{.sem}{.scope}{.state}.b64 wait_complete, [addr], state;
        mbarrier.test_wait.parity{.phase_type}{.sem}{.scope}{.state}.b64 wait_complete, [addr], phase_parity;
        mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.state}.b64 wait_complete|report_predicate{, report_value}, [addr], state;
        mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.state}.b64
            wait_complete|report_predicate{, report_value}, [addr], phase_parity;
    """,
    choices=_WAIT_CHOICES,
    operands=_WAIT_OPERANDS,
    rules=_PAIRED,
    since=(Since("7.0", "sm_80+"), *_PLACE, *_ORDERED, Since("7.1", when=".parity"), _TYPED),
    meaning=_WAIT_MEANING,
)

mbarrier_try_wait = instruction(
    "mbarrier.try_wait",
    section="9.7.15.16.19",
    summary="Waits a while for a phase to complete and tells whether it has; false is no failure, one tries again.",
    syntax="""
        mbarrier.try_wait{.phase_type::primary}{.sem}{.scope}{.state}.b64 wait_complete, [addr], state{, suspend_time_hint};
        mbarrier.try_wait.parity{.phase_type}{.sem}{.scope}{.state}.b64 wait_complete, [addr], phase_parity{, suspend_time_hint};
        mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.state}.b64
            wait_complete|report_predicate{, report_value}, [addr], state{, suspend_time_hint};
        mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.state}.b64
            wait_complete|report_predicate{, report_value}, [addr], phase_parity{, suspend_time_hint};
    """,
    choices=_WAIT_CHOICES,
    operands=_WAIT_OPERANDS,
    rules=_PAIRED,
    since=(Since("7.8", "sm_90+"), *_ORDERED, _TYPED),
    meaning=_WAIT_MEANING,
)

mbarrier_pending_count = instruction(
    "mbarrier.pending_count",
    section="9.7.15.16.20",
    summary="The number of arrivals that were pending in a state that an arrival returned.",
    syntax="mbarrier.pending_count{.layout::v0}.b64 count, state;",
    operands={"count": out("u32"), "state": source("u64")},
    since=(Since("7.0", "sm_80+"), _NEW_LAYOUT),
    meaning=_LAYOUTS,
)

mbarrier_check_layout = instruction(
    "mbarrier.check_layout",
    section="9.7.15.16.21",
    summary="Whether an mbarrier was made with a layout.",
    syntax="mbarrier.check_layout.layout{.state}.b64 p, [addr];",
    choices=f"""
        {_LAYOUT}
        {_STATE}
    """,
    operands={"p": predicate("out"), "addr": address("in", "b64", space=".state", holds="mbarrier", within="shared")},
    since=(Since("9.3", "sm_90+"),),
    meaning={**_PLACES, **_LAYOUTS},
)
