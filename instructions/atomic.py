"""Read, combine, write in one step: atom and red (ISA 9.7.15.5 and 9.7.15.6)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, source

_SHARED = ".shared .shared::cta .shared::cluster"
_CHOICES = """
    .scope = { .cta, .cluster, .gpu, .sys };
    .space = { .global, .shared{::cta, ::cluster} };
    .level::cache_hint = { .L2::cache_hint };
"""
_OPERATIONS = ".op = { .and, .or, .xor, .add, .inc, .dec, .min, .max };"
_TYPES = ".type = { .b32, .b64, .u32, .u64, .s32, .s64, .f32, .f64 };"
_UNFLUSHED = ".type = { .f16, .f16x2, .bf16, .bf16x2, .f32 };"
_ATOM_ORDER = ".sem = { .relaxed, .acquire, .release, .acq_rel };"
_RED_ORDER = ".sem = { .relaxed, .release };"
_VECTORS = """
    .ss = { .global };
    .op = { .add, .min, .max };
    .vec = { .v2, .v4, .v8 };
    .type = { .f16, .bf16, .f16x2, .bf16x2 };
"""

_HINT_RULES = (
    Rule("an L2 cache policy is for global memory alone", when=".level::cache_hint", need=f"not .space in {_SHARED}"),
    Rule("a cache policy is given exactly where .L2::cache_hint is", when="cache_policy", need=".level::cache_hint"),
    Rule("a cache policy is given exactly where .L2::cache_hint is", when=".level::cache_hint", need="cache_policy"),
)
_TYPE_RULES = (
    Rule("untyped bits are combined by .and, .or or .xor", when=".type in .b32 .b64", need=".op in .and .or .xor"),
    Rule("integers are combined by .add, .inc, .dec, .min or .max", when=".type in .u32 .u64 .s32 .s64",
         need=".op in .add .inc .dec .min .max"),
    Rule("64-bit sums are of .u64; those of signed numbers are the same", when=".op in .add", need="not .type in .s64"),
    Rule(".inc and .dec are of .u32", when=".op in .inc .dec", need=".type in .u32"),
    Rule("floats are added; their smallest and largest are found in vectors", when=".type in .f32 .f64", need=".op in .add"),
)  # fmt: skip
_VECTOR_RULES = (*_HINT_RULES, Rule("a vector of eight holds elements of 16 bits", when=".vec in .v8", need=".type in .f16 .bf16"))

_SINCE = (
    Since("1.2"),
    Since("6.0", when=".sem"),
    Since("7.4", "sm_80+", when=".level::cache_hint"),
    Since("7.8", when=".space in .shared::cta"),
    Since("7.8", "sm_90+", when=".space in .shared::cluster"),
    Since("7.8", "sm_90+", when=".scope in .cluster"),
)
_UNFLUSHED_SINCE = (
    *_SINCE,
    Since("6.3"),
    Since("7.8", "sm_90+", when=".type in .bf16 .bf16x2"),
    Since("9.4", "sm_90+", when=".type in .f32"),
)
_VECTOR_SINCE = (*_SINCE, Since("8.1", "sm_90+"), Since("9.4", when=".noftz and .type in .f32"))

_MEMORY = address("inout", ".type", space=".space")
_VALUE = source(".type")
_POLICY = source("u64", immediate=False)
_OLD = out(".type", sink=True)

_MEANING = {
    ".sem": "How the access orders others; left out, .relaxed.",
    ".relaxed": "Orders nothing else.",
    ".acquire": "What the thread reads afterwards is at least as new as what the writer of the value had seen at its release.",
    ".release": "Whoever acquires the stored value sees all that this thread wrote before.",
    ".acq_rel": "Both.",
    ".scope": "The threads for which it is one step; left out, .gpu. Accesses are atomic to one another where each one's scope holds both.",
    ".cta": "The thread's own block.",
    ".cluster": "The blocks of the thread's cluster.",
    ".gpu": "All threads of the same device.",
    ".sys": "All threads of the machine, host and other devices included.",
    ".space": "The state space of the address; left out, the address is generic.",
    ".ss": "The state space of the address; left out, the address is generic and lies in global memory all the same.",
    ".global": "Global memory.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block, said explicitly.",
    ".shared::cluster": "Shared memory of any block in the cluster.",
    ".op": "How the values are combined.",
    ".and": "Bitwise and.",
    ".or": "Bitwise or.",
    ".xor": "Bitwise exclusive or.",
    ".add": "The sum; of floats rounded to nearest even. A sum of .f32 without .noftz flushes subnormal numbers in global memory.",
    ".inc": "One more than what is there, or 0 where that is not below b.",
    ".dec": "One less than what is there, or b where 0 or more than b is there.",
    ".min": "The smaller one; of floats as the instruction min has it.",
    ".max": "The larger one; of floats as the instruction max has it.",
    ".cas": "Writes c where b is there, and nothing otherwise.",
    ".exch": "Writes b, whatever is there.",
    ".noftz": "Subnormal inputs and results are kept.",
    ".level::cache_hint": "The operand cache_policy, made by createpolicy, governs L2.",
    ".vec": "How many consecutive values are combined; each is one step, all together are not.",
    ".type": "How the bits are read. A packed type is two values, each of them one step.",
}

# Lines behind the first have qualifiers in orders that compilers write, and ptxas takes.
atom = instruction(
    "atom",
    section="9.7.15.5",
    reordered=True,
    summary="Combines a value with what memory holds there and returns what was there before, in one step for all threads of its scope.",
    syntax="""
        atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type d, [a], b{, cache_policy};
        atom.space.scope.op.type d, [a], b;
        atom.op.sem.scope{.space}.type d, [a], b;
    """,
    choices=f"""
        {_ATOM_ORDER}
        {_CHOICES}
        {_OPERATIONS}
        {_TYPES}
    """,
    operands={"d": _OLD, "a": _MEMORY, "b": _VALUE, "cache_policy": _POLICY},
    rules=(*_TYPE_RULES, *_HINT_RULES),
    since=_SINCE,
    meaning=_MEANING,
)

atom_cas = instruction(
    "atom (compare and swap)",
    section="9.7.15.5",
    reordered=True,
    summary="Writes c if memory holds b there, and returns what it held, in one step for all threads of its scope.",
    syntax="""
        atom{.sem}{.scope}{.space}.cas.type d, [a], b, c;
        atom.space.scope.cas.type d, [a], b, c;
        atom.cas.sem.scope{.space}.type d, [a], b, c;
    """,
    choices=f"""
        {_ATOM_ORDER}
        {_CHOICES}
        .type = {{ .b16, .b32, .b64, .b128 }};
    """,
    # ptxas 13.0 and 13.5 crash on a constant c of 128 bits.
    operands={"d": _OLD, "a": _MEMORY, "b": _VALUE, "c": source(".type", immediate=".type not in .b128")},
    since=(
        *_SINCE,
        Since("6.3", when=".type in .b16"),
        Since("8.3", "sm_90+", when=".type in .b128"),
        Since("8.4", when=".type in .b128 and .scope in .sys"),
    ),
    meaning={
        **_MEANING,
        "d": "What was there before; it equals b where c was written.",
        "b": "What is looked for.",
        "c": "What is written where b is found.",
    },
)

atom_exch = instruction(
    "atom (exchange)",
    section="9.7.15.5",
    reordered=True,
    summary="Writes a value and returns what memory held there before, in one step for all threads of its scope.",
    syntax="""
        atom{.sem}{.scope}{.space}.exch{.level::cache_hint}.type d, [a], b{, cache_policy};
        atom.space.scope.exch.type d, [a], b;
        atom.exch.sem.scope{.space}.type d, [a], b;
    """,
    choices=f"""
        {_ATOM_ORDER}
        {_CHOICES}
        .type = {{ .b32, .b64, .b128 }};
    """,
    operands={"d": _OLD, "a": _MEMORY, "b": _VALUE, "cache_policy": _POLICY},
    rules=_HINT_RULES,
    since=(
        *_SINCE,
        Since("8.3", "sm_90+", when=".type in .b128"),
        Since("8.4", when=".type in .b128 and .scope in .sys"),
    ),
    meaning=_MEANING,
)

atom_noftz = instruction(
    "atom (sums that keep subnormals)",
    section="9.7.15.5",
    reordered=True,
    summary="Adds to a float in memory and returns what was there before, in one step for all threads of its scope.",
    syntax="""
        atom{.sem}{.scope}{.space}.add.noftz{.level::cache_hint}.type d, [a], b{, cache_policy};
        atom.add.noftz.sem.scope{.space}.type d, [a], b;
    """,
    choices=f"""
        {_ATOM_ORDER}
        {_CHOICES}
        {_UNFLUSHED}
    """,
    operands={"d": _OLD, "a": _MEMORY, "b": _VALUE, "cache_policy": _POLICY},
    rules=_HINT_RULES,
    since=_UNFLUSHED_SINCE,
    meaning=_MEANING,
)

atom_vector = instruction(
    "atom (vectors)",
    section="9.7.15.5",
    reordered=True,
    summary="Combines consecutive floats with those in global memory and returns what was there before; each of them in one step.",
    syntax="""
        atom{.sem}{.scope}{.ss}.add{.noftz}{.level::cache_hint}.vec.f32 d, [a], b{, cache_policy};
        atom{.sem}{.scope}{.ss}.op.noftz{.level::cache_hint}.vec.type d, [a], b{, cache_policy};
    """,
    choices=f"""
        {_ATOM_ORDER}
        {_CHOICES}
        {_VECTORS}
    """,
    operands={
        "d": out(".type", vector=".vec", sink=True),
        "a": address("inout", ".type", space=".ss", vector=".vec"),
        "b": source(".type", vector=".vec"),
        "cache_policy": _POLICY,
    },
    rules=_VECTOR_RULES,
    since=_VECTOR_SINCE,
    meaning=_MEANING,
)

red = instruction(
    "red",
    section="9.7.15.6",
    reordered=True,
    summary="Combines a value with what memory holds there, in one step for all threads of its scope; returns nothing.",
    syntax="""
        red{.sem}{.scope}{.space}.op{.level::cache_hint}.type [a], b{, cache_policy};
        red.space.scope.op.type [a], b;
        red.op.sem.scope{.space}.type [a], b;
    """,
    choices=f"""
        {_RED_ORDER}
        {_CHOICES}
        {_OPERATIONS}
        {_TYPES}
    """,
    operands={"a": _MEMORY, "b": _VALUE, "cache_policy": _POLICY},
    rules=(*_TYPE_RULES, *_HINT_RULES),
    since=_SINCE,
    meaning=_MEANING,
)

red_noftz = instruction(
    "red (sums that keep subnormals)",
    section="9.7.15.6",
    reordered=True,
    summary="Adds to a float in memory, in one step for all threads of its scope; returns nothing.",
    syntax="""
        red{.sem}{.scope}{.space}.add.noftz{.level::cache_hint}.type [a], b{, cache_policy};
        red.add.noftz.sem.scope{.space}.type [a], b;
    """,
    choices=f"""
        {_RED_ORDER}
        {_CHOICES}
        {_UNFLUSHED}
    """,
    operands={"a": _MEMORY, "b": _VALUE, "cache_policy": _POLICY},
    rules=_HINT_RULES,
    since=_UNFLUSHED_SINCE,
    meaning=_MEANING,
)

red_vector = instruction(
    "red (vectors)",
    section="9.7.15.6",
    reordered=True,
    summary="Combines consecutive floats with those in global memory, each of them in one step; returns nothing.",
    syntax="""
        red{.sem}{.scope}{.ss}.add{.noftz}{.level::cache_hint}.vec.f32 [a], b{, cache_policy};
        red{.sem}{.scope}{.ss}.op.noftz{.level::cache_hint}.vec.type [a], b{, cache_policy};
    """,
    choices=f"""
        {_RED_ORDER}
        {_CHOICES}
        {_VECTORS}
    """,
    operands={
        "a": address("inout", ".type", space=".ss", vector=".vec"),
        "b": source(".type", vector=".vec"),
        "cache_policy": _POLICY,
    },
    rules=_VECTOR_RULES,
    since=_VECTOR_SINCE,
    meaning=_MEANING,
)
