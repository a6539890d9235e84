"""Fences, dependent grids and addresses within a cluster (ISA 9.7.10.26, .27, 9.7.15.4 and .14)."""

from __future__ import annotations

from ptxgen.instructions.language import Since, address, immediate, instruction, out, source

_SCOPES = {
    ".scope": "The threads between which the order holds.",
    ".cta": "The thread's own block.",
    ".cluster": "The blocks of the thread's cluster.",
    ".gpu": "All threads of the same device.",
    ".sys": "All threads of the machine, host and other devices included.",
}

fence = instruction(
    "fence",
    section="9.7.15.4",
    summary="Orders the thread's memory accesses before it against those behind it, as other threads see them.",
    syntax="""
        fence{.sem}.scope;
        fence.acquire.sync_restrict::shared::cluster.cluster;
        fence.release.sync_restrict::shared::cta.cluster;
        fence.mbarrier_init.release.cluster;
    """,
    choices="""
        .sem = { .sc, .acq_rel, .acquire, .release };
        .scope = { .cta, .cluster, .gpu, .sys };
    """,
    since=(
        Since("6.0"),
        Since("7.8", "sm_90+", when=".scope in .cluster or .cluster"),
        Since("8.0", when=".mbarrier_init"),
        Since("8.6", "sm_90+", when=".sem in .acquire .release or .acquire or .release and not .mbarrier_init"),
    ),
    meaning={
        **_SCOPES,
        ".sem": "The order; left out, .acq_rel.",
        ".sc": "Sequential consistency among all such fences; slower.",
        ".acq_rel": "Acquire and release in one.",
        ".acquire": "Accesses behind it see what was released before what the thread has read.",
        ".release": "Accesses before it are visible to whoever acquires what the thread writes next.",
        ".sync_restrict::shared::cta": "Only for accesses to the block's own shared memory.",
        ".sync_restrict::shared::cluster": "Only for accesses to shared memory of the cluster.",
        ".mbarrier_init": "Only for mbarrier.init: makes new mbarriers known to the cluster.",
    },
)

fence_proxy = instruction(
    "fence.proxy",
    section="9.7.15.4",
    summary="Orders accesses that go different ways to memory: those of ordinary instructions and those of asynchronous copies, for one.",
    syntax="""
        fence.proxy.proxykind;
        fence.proxy.alias.order.sys;
        fence.proxy.way.alias.order.sys;
        fence.proxy.tensormap::generic.release.scope;
        fence.proxy.tensormap::generic.acquire.scope [addr], size;
        fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
        fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
        fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;
    """,
    choices="""
        .proxykind = { .alias, .async, .async.global, .async.shared::cta, .async.shared::cluster };
        .way = { .generic::fabric, .fabric::generic, .fabric::fabric };
        .order = { .acquire, .release };
        .scope = { .cta, .cluster, .gpu, .sys };
    """,
    operands={"addr": address("in", "b8", align=64), "size": immediate("u32", (128,))},
    since=(
        Since("7.5"),
        Since("8.0", "sm_90+", when=".proxykind in .async .async.global .async.shared::cta .async.shared::cluster"),
        Since("8.3", "sm_90+", when=".tensormap::generic"),
        Since("8.6", "sm_90+", when=".async::generic"),
        Since("9.4", when=".sync_restrict::shared::cluster::read"),
        Since("9.4", "sm_90+", when=".alias and .order and not .way"),
        Since("9.3", "sm_100+", when=".way"),
    ),
    meaning={
        **_SCOPES,
        ".proxykind": "The way to memory that is brought in line with ordinary accesses, both directions.",
        ".alias": "Accesses to the same memory through different virtual addresses.",
        ".async": "Asynchronous copies, and the operands of wgmma and tcgen05 in shared memory.",
        ".async.global": "As .async, for global memory alone.",
        ".async.shared::cta": "As .async, for the block's own shared memory alone.",
        ".async.shared::cluster": "As .async, for shared memory of the cluster alone.",
        ".tensormap::generic": "From ordinary writes of a tensor map to its use by tensor copies.",
        ".async::generic": "From ordinary accesses to asynchronous ones.",
        ".order": "On which side the fence stands.",
        ".acquire": "At the user's side.",
        ".release": "At the writer's side.",
        ".way": "From which accesses to which.",
        ".generic::fabric": "From those of the fabric to ordinary ones.",
        ".fabric::generic": "From ordinary accesses to those of the fabric.",
        ".fabric::fabric": "From accesses of the fabric to others of the fabric.",
        ".sync_restrict::shared::cta": "Only for accesses to the block's own shared memory.",
        ".sync_restrict::shared::cluster": "Only for accesses to shared memory of the cluster.",
        ".sync_restrict::shared::cluster::read": "Only for reads of shared memory of the cluster.",
    },
)

membar = instruction(
    "membar",
    section="9.7.15.4",
    summary="The old spelling of fence.sc, and of fence.proxy.",
    syntax="""
        membar.level;
        membar.proxy.proxykind;
    """,
    choices="""
        .level = { .cta, .gl, .sys };
        .proxykind = { .alias, .async };
    """,
    since=(
        Since("7.5", when=".proxykind"),
        Since("8.0", "sm_90+", when=".proxykind in .async"),
    ),
    meaning={
        **_SCOPES,
        ".level": "The threads between which the order holds.",
        ".gl": "All threads of the same device.",
        ".proxykind": "The way to memory that is brought in line with ordinary accesses.",
        ".alias": "Accesses to the same memory through different virtual addresses.",
        ".async": "Asynchronous copies.",
    },
)

griddepcontrol = instruction(
    "griddepcontrol",
    section="9.7.15.14",
    summary="Lets a dependent grid start before this one ends, or waits for the grids that this one depends on.",
    syntax="griddepcontrol.action;",
    choices=".action = { .launch_dependents, .wait };",
    since=(Since("7.8", "sm_90+"),),
    meaning={
        ".action": "Which of the two.",
        ".launch_dependents": "The dependent grids may start once every block of this grid has said so or ended.",
        ".wait": "Waits until the grids before have ended and their writes are visible.",
    },
)

mapa = instruction(
    "mapa",
    section="9.7.10.26",
    summary="The address of the same variable in the shared memory of another block of the cluster, named by its rank.",
    syntax="mapa{.space}.type d, a, b;",
    choices="""
        .space = { .shared::cluster };
        .type = { .u32, .u64 };
    """,
    operands={
        "d": out(".type"),
        "a": source(".type", symbol=".space", space="shared"),
        "b": source("u32"),
    },
    since=(Since("7.8", "sm_90+"),),
    meaning={
        ".space": "What the addresses are; left out, both are generic.",
        ".shared::cluster": "Addresses in the cluster's window of shared memory.",
        ".type": "The width of the addresses.",
        "a": "A variable, or an address in shared memory of the thread's own block.",
        "b": "The rank of the block in the cluster, as %cluster_ctarank counts.",
    },
)

getctarank = instruction(
    "getctarank",
    section="9.7.10.27",
    summary="The rank in the cluster of the block in whose shared memory an address lies.",
    syntax="getctarank{.space}.type d, a;",
    choices="""
        .space = { .shared::cluster };
        .type = { .u32, .u64 };
    """,
    operands={"d": out("u32"), "a": source(".type", symbol=".space", space="shared")},
    since=(Since("7.8", "sm_90+"),),
    meaning={
        ".space": "What the address is; left out, it is generic.",
        ".shared::cluster": "An address in the cluster's window of shared memory.",
        ".type": "The width of the address.",
    },
)
