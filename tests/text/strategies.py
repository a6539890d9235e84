"""Hypothesis strategies for whole PTX modules: every node, in every shape that PTX can spell.

Names keep to the rule that the reader goes by: what begins with ``%`` is a register, everything else is not, unless declared.
"""

from __future__ import annotations

from hypothesis import strategies as st

from ptxgen import ir
from ptxgen.instructions.types import TYPES

_FOLLOW = "abcXYZ019_$"
_RESERVED = {"WARP_SZ", "generic", "call"}
plain_names = (
    st.builds(
        str.__add__, st.sampled_from(["a", "Z", "_1", "$L", "$_", "__", "_Z3fooPi"]), st.text(_FOLLOW, max_size=5)
    ).filter(lambda name: name not in _RESERVED)
)  # fmt: skip
register_names = st.builds(str.__add__, st.sampled_from(["%r", "%rd", "%1", "%$", "%_a"]), st.text(_FOLLOW, max_size=3))
special = st.sampled_from([("%tid", "x"), ("%clock64", None), ("%ctaid", "z"), ("%envreg3", None), ("%r5", "b0"), ("%v", "w")])
types = st.sampled_from([name for name in TYPES if name != "pred"])
bits64 = st.integers(0, 2**64 - 1)

registers = st.one_of(register_names.map(ir.Reg), special.map(lambda pair: ir.Reg(*pair)))
whole_registers = register_names.map(ir.Reg)
symbols = plain_names.map(ir.Sym)
integers = st.one_of(
    st.builds(ir.Int, st.integers(-(2**63), 2**64 - 1), radix=st.sampled_from([2, 8, 10, 16])),
    st.builds(ir.Int, bits64, st.just(True), st.sampled_from([2, 8, 10, 16])),
    st.builds(ir.Int, st.integers(-9, 300)),
)
floats = st.one_of(st.builds(ir.Float, st.integers(0, 2**32 - 1), st.just(32)), st.builds(ir.Float, bits64, st.just(64)))
offsets = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-64, 64))
references = st.builds(ir.SymbolRef, plain_names, offsets.filter(bool))
scalars = st.one_of(registers, symbols, integers, floats, st.just(ir.Sink()))
vectors = st.lists(st.one_of(scalars, scalars, references), min_size=1, max_size=8).map(lambda items: ir.Vec(tuple(items)))
indices = st.one_of(st.integers(-4, 400), whole_registers, st.builds(ir.RegOffset, whole_registers, offsets.filter(bool)))
elements = st.builds(ir.Element, plain_names, indices)
addresses = st.one_of(
    st.builds(ir.Address, st.one_of(whole_registers, symbols), offsets),
    st.builds(ir.Address, integers),
    st.builds(ir.Address, whole_registers, offsets, unified=st.just(True)),
    st.builds(ir.Address, st.one_of(whole_registers, symbols), unified=st.booleans(), plus_zero=st.just(True)),
    st.builds(
        ir.Address,
        st.one_of(whole_registers, symbols),
        st.sampled_from([0, 0, 16, -8]),
        st.lists(st.one_of(scalars, vectors), min_size=1, max_size=3).map(tuple),
    ),
)
sums = st.builds(ir.RegOffset, registers, offsets.filter(bool))
pairs = st.builds(ir.Pair, st.one_of(registers, vectors, st.just(ir.Sink())), st.one_of(whole_registers, st.just(ir.Sink())))
operands = st.one_of(
    registers, registers, sums, scalars, addresses, vectors, references, pairs, elements, registers.map(ir.Not), registers.map(ir.Neg)
)

opcodes = st.sampled_from([
    "add.s32", "mov.b64", "ld.global.nc.L2::128B.v4.f32", "bra",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
    "bra.uni", "ret", "tcgen05.mma.cta_group::1.kind::f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "callx", "a.b2b",
])  # fmt: skip
guards = st.one_of(st.none(), st.builds(ir.Guard, whole_registers, st.booleans()))
some_operands = st.lists(operands, max_size=5).map(tuple)
instructions = st.builds(ir.Instruction, opcodes, some_operands, guards)
call_lists = st.lists(st.one_of(scalars, references), max_size=3).map(tuple)
calls = st.builds(
    ir.Call,
    st.sampled_from(["call", "call.uni"]),
    st.one_of(symbols, whole_registers),
    call_lists,
    call_lists,
    st.one_of(st.none(), symbols),
    guards,
)

comments = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")).map(
    lambda text: ir.Comment(text.strip())
)
strings = st.text("abc .:/-\\{};'@#é", max_size=8)
pragmas = st.lists(strings, min_size=1, max_size=2).map(lambda items: ir.Pragma(tuple(items)))
small = st.integers(0, 10**6)
locs = st.one_of(
    st.builds(ir.Loc, small, small, small),
    st.builds(
        ir.Loc,
        small,
        small,
        small,
        st.builds(str.__add__, plain_names, st.sampled_from(["", "+16"])),
        st.tuples(small, small, small),
    ),
    st.builds(ir.Loc, small, small, small, intermediate=st.just(True)),
)
attributes = st.lists(st.sampled_from([".managed", ".unified(1, 2)", ".unified(0xAB, 3)"]), max_size=2).map(tuple)
directives = st.one_of(
    st.builds(
        ir.Directive,
        st.sampled_from(["maxntid", "reqntid", "reqnctapercluster"]),
        st.lists(small, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(
        ir.Directive,
        st.sampled_from([
            "minnctapersm", "maxnctapersm", "maxnreg", "maxclusterrank", "abi_preserve", "abi_preserve_control", "minperctamemory",
        ]),
        st.tuples(small),
    ),
    st.builds(ir.Directive, st.sampled_from(["explicitcluster", "blocksareclusters", "noreturn"])),
    pragmas,
)
some_directives = st.lists(directives, max_size=3).map(tuple)

aligns = st.one_of(st.none(), st.sampled_from([1, 2, 4, 8, 16, 128]))
lanes = st.sampled_from([None, None, 2, 4])
dims = st.lists(st.one_of(st.none(), st.integers(0, 4096)), max_size=3).map(tuple)
leaves = st.one_of(
    integers,
    floats,
    st.builds(ir.SymbolRef, plain_names, offsets, st.booleans(), st.one_of(st.none(), st.sampled_from([0xFF, 0xFF00]))),
)
initializers = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
fields = st.lists(
    st.builds(ir.Field, st.sampled_from(["addr_mode_0", "width"]), st.one_of(st.sampled_from(["clamp", "nearest"]), small)),
    min_size=1,
    max_size=3,
).map(tuple)
variables = st.builds(
    ir.Variable,
    st.sampled_from(["global", "shared", "const", "local", "param", "tex", "surf", "sampler", "const[2]"]),
    types,
    plain_names,
    dims,
    aligns,
    lanes,
    st.sampled_from([None, None, "extern", "visible", "weak", "common"]),
    st.one_of(st.none(), initializers, fields),
    st.none(),
    attributes,
)
pointers = st.one_of(st.none(), st.tuples(st.sampled_from([None, "global", "const", "local", "shared", "texref", "surfref"]), aligns))


def parameters(names: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[ir.Variable, ...]]:
    """Parameter lists whose names come from `names`."""
    one = st.builds(ir.Variable, st.just("param"), types, names, dims, aligns, lanes, st.none(), st.none(), pointers)
    return st.lists(one, max_size=3).map(tuple)


register_params = st.lists(
    st.builds(lambda type, name, vector: ir.Variable("reg", type, name, vector=vector), types, register_names, lanes), max_size=2
).map(tuple)  # fmt: skip
register_decls = st.one_of(
    st.builds(ir.RegDecl, types, st.lists(register_names, min_size=1, max_size=3).map(tuple), st.none(), lanes),
    st.builds(ir.RegDecl, types, st.tuples(register_names), st.integers(0, 10**6), lanes),
)
prototypes = st.builds(
    ir.Prototype, plain_names, parameters(st.just("_")), parameters(st.one_of(st.just("_"), plain_names)), some_directives
)
targets = st.builds(
    ir.Targets,
    plain_names,
    st.sampled_from(["branchtargets", "calltargets"]),
    st.lists(plain_names, min_size=1, max_size=4).map(tuple),
)
flat_statements = st.one_of(
    instructions, instructions, instructions, calls, plain_names.map(ir.Label), register_decls, variables, comments, locs, pragmas,
    prototypes, targets,
)  # fmt: skip
statements = st.recursive(flat_statements, lambda inner: st.lists(inner, max_size=4).map(lambda body: ir.Block(tuple(body))), max_leaves=8)
bodies = st.lists(statements, max_size=6).map(tuple)

linkages = st.sampled_from([None, "visible", "extern", "weak"])
functions = st.one_of(
    st.builds(
        ir.Function,
        st.just("entry"),
        plain_names,
        parameters(plain_names),
        st.one_of(st.none(), bodies),
        st.just(()),
        some_directives,
        linkages,
        st.none(),
        attributes,
    ),
    st.builds(
        ir.Function,
        st.just("func"),
        plain_names,
        st.one_of(parameters(plain_names), register_params),
        st.one_of(st.none(), bodies),
        st.one_of(parameters(plain_names), register_params),
        some_directives,
        linkages,
        st.none(),
        attributes,
    ),
)
section_lines = st.lists(
    st.sampled_from(
        [
            ".b8 1", ".b8 1, 2, 255", "$L__info:", ".b32 $L__info", ".b64 $L__info+4", ".b32 $a-$b", ".b32 .debug_abbrev", ".b64 -1",
            ".b16 0x1F, 0b1", ".b64 .debug_abbrev+8",
        ]
    ),
    max_size=4,
).map(tuple)
sections = st.builds(ir.Section, st.sampled_from([".debug_str", ".debug_info", "mine"]), section_lines)
source_lines = st.lists(st.text("ab {};\"/*.\\t%", max_size=9), max_size=3).map(tuple)
source_blocks = st.builds(ir.SourceBlock, st.text("abc ", max_size=4), small, source_lines)
source_sections = st.lists(source_blocks, max_size=2).map(lambda blocks: ir.SourceSection(tuple(blocks)))
files = st.one_of(
    st.builds(ir.FileDirective, small, strings),
    st.builds(ir.FileDirective, small, strings, small, st.one_of(st.none(), small)),
)
items = st.one_of(
    functions, functions, variables, register_decls, files, comments, pragmas, sections, source_sections,
    st.tuples(plain_names, plain_names).map(lambda names: ir.Directive("alias", names)),
    st.just(ir.Directive("@@DWARF", ('.section .debug_info, "",@progbits',))),
    st.just(ir.Directive("target", ("sm_90", "debug"))),
)  # fmt: skip
modules = st.builds(
    ir.Module,
    st.tuples(st.integers(1, 12), st.integers(0, 9)),
    st.sampled_from([("sm_75",), ("sm_100a",), ("sm_20", "texmode_independent", "debug")]),
    st.lists(items, max_size=4).map(tuple),
    st.sampled_from([None, 32, 64]),
)
