"""Taking over the work of clusters that have not started yet (ISA 9.7.15.18 and 9.7.15.19)."""

from __future__ import annotations

from ptxgen.instructions.language import Since, address, instruction, out, predicate, source

_RESPONSE = source("b128", immediate=False)

try_cancel = instruction(
    "clusterlaunchcontrol.try_cancel",
    section="9.7.15.18",
    summary="Asks that a cluster that has not started be cancelled; an answer of 16 bytes goes to shared memory and an mbarrier is told.",
    syntax="""
        clusterlaunchcontrol.try_cancel.async{.space}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [addr], [mbar];
    """,
    choices=".space = { .shared::cta };",
    operands={"addr": address("out", "b128", space=".space"), "mbar": address("inout", "b64", space=".space")},
    since=(Since("8.6", "sm_100+"), Since("8.6", "sm_100f sm_110f sm_120f", when=".multicast::cluster::all")),
    several=".multicast::cluster::all",
    issuer="one",
    completes="mbarrier transaction",
    meaning={
        ".async": "The thread goes on; the answer comes with the mbarrier's phase.",
        ".space": "Where answer and mbarrier lie; left out, the addresses are generic.",
        ".shared::cta": "Shared memory of the thread's own block.",
        ".mbarrier::complete_tx::bytes": "Counts the 16 bytes of the answer as arrived at the mbarrier.",
        ".multicast::cluster::all": "The answer, and the signal, go to the same offset in the shared memory of every block of the cluster.",
        ".b128": "The answer: 16 bytes that query_cancel reads.",
        "addr": "Where the answer goes.",
        "mbar": "The mbarrier that is told of the answer: 16 bytes that were announced by expect_tx, in each block that receives it.",
    },
)

query_cancel = instruction(
    "clusterlaunchcontrol.query_cancel",
    section="9.7.15.19",
    summary="Reads from the answer of try_cancel whether a cluster was cancelled, and the place in the grid of its first block.",
    syntax="""
        clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 pred, response;
        clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 ctaid, response;
        clusterlaunchcontrol.query_cancel.dimension.b32.b128 place, response;
    """,
    choices=".dimension = { .get_first_ctaid::x, .get_first_ctaid::y, .get_first_ctaid::z };",
    operands={
        "pred": predicate("out"),
        "ctaid": out("b32", vector=4, sink=True),
        "place": out("b32"),
        "response": _RESPONSE,
    },
    since=(Since("8.6", "sm_100+"),),
    meaning={
        ".is_canceled": "Whether a cluster was cancelled.",
        ".get_first_ctaid": "x, y and z of its first block; the fourth element is anything. Undefined where none was cancelled.",
        ".dimension": "x, y or z of its first block. Undefined where none was cancelled.",
        ".b128": "The answer, loaded from shared memory.",
        "pred": "Whether a cluster was cancelled; if so its work is the block's to do.",
        "response": "The answer, as ld.shared.b128 loads it once the mbarrier's phase has completed.",
    },
)
