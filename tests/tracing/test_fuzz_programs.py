"""Random scalar programs against plain Python: their results bit for bit, and whatever ptxgen claims to know about integers."""

import itertools
import linecache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.tracing.builder import current
from tests.tracing import programs
from tests.tracing.kernels import load, store
from tests.tracing.programs import Program

THREADS = 8
NUMPY = {"u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "f32": np.float32, "f64": np.float64,
         "pred": np.uint32}  # fmt: skip
_serial = itertools.count()


class Known:
    """What the trace says about its integers, and what they are."""

    def __init__(self):
        self.claims, self.facts = {}, {}

    def log(self, name, value):
        self.claims[name] = value.expr, value.builder.over_threads(value.expr)

    def point(self, number, _):
        self.facts[number] = current("a test").facts()

    def symbols(self):
        """What a symbol stands for, where it has a name in the program."""
        found = {}
        for name, (expr, _) in self.claims.items():
            if len(expr.symbols) == 1 and expr == expr.symbols[0]:
                found.setdefault(expr.symbols[0], name)
        return found

    def check(self, thread, values, points):
        symbols, now = self.symbols(), {}
        for name, held in values:
            expr, over_threads = self.claims[name]
            now[name] = held
            if all(symbols.get(symbol) in now for symbol in expr.symbols):
                exact = expr.evaluate({symbol: now[symbols[symbol]] for symbol in expr.symbols})
                assert exact == held, f"{name} = {held}, and {expr} is {exact}"
            lo, hi = expr.range()
            assert (lo is None or lo <= held) and (hi is None or held <= hi), f"{name} = {held} is outside {lo}..{hi}"
            assert held % (expr.divisor() or held + 1) == 0, f"{name} = {held} is no multiple of {expr.divisor()}"
            assert over_threads is None or over_threads[thread] == held, f"{name} = {held}, and {over_threads[thread]} by its thread"
        for number, seen in points:
            for fact in self.facts[number]:
                names = {symbol: symbols.get(symbol) for symbol in fact.symbols}
                if all(name in seen for name in names.values()):
                    assert fact.evaluate({symbol: seen[name] for symbol, name in names.items()}) >= 0, f"{fact} < 0 at point {number}"


def function(source, environment):
    """The function `f` of a source text that tracebacks and ptxgen can read."""
    file = f"<program {next(_serial)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), environment)
    return environment["f"]


def inputs(rng):
    arrays = {}
    for name, type in Program(0, 0).inputs.items():
        if type in ("f32", "f64"):
            arrays[name] = np.array(
                [*rng.choice([0.0, -0.0, 1.5, -3.25, np.inf, np.nan, 1e30], 3), *rng.standard_normal(THREADS - 3)], NUMPY[type]
            )
            continue
        info = np.iinfo(NUMPY[type])
        arrays[name] = np.array(
            [info.min, info.max, 0, 1, 7, *rng.integers(info.min, info.max, THREADS - 5, NUMPY[type], True)], NUMPY[type]
        )
    return arrays


def run(seed, size):
    program, known = Program(seed, size), Known()
    rng = np.random.default_rng(seed)
    arrays = inputs(rng)
    outputs = {name: np.zeros(THREADS, NUMPY[type]) for name, type in program.registers.items()}
    given = ", ".join((*program.inputs, "tid_u32", "tid_s32"))
    results = ", ".join(program.registers)
    kernel_body = function(
        f"def f({given}):\n" + "\n".join(program.kernel) + f"\n    return {results}\n", {"px": px, "log": known.log, "point": known.point}
    )
    tensors = [
        px.Tensor((THREADS,), getattr(px, type))
        for type in (*program.inputs.values(), *("u32" if t == "pred" else t for t in program.registers.values()))
    ]
    names = [*arrays, *outputs]

    def kernel(*views):
        loaded = [load(view[px.tid.x], getattr(px, type)) for view, type in zip(views, program.inputs.values())]
        threads = [px.tid.x, px.tid.x.to(px.s32)]
        for name, value in zip((*program.inputs, "tid_u32", "tid_s32"), (*loaded, *threads)):
            if value.type.is_integer:
                known.log(name, value)
        for view, register in zip(views[len(loaded) :], kernel_body(*loaded, *threads)):
            store(view[px.tid.x], register)

    header = ", ".join(f"{name}: T[{place}]" for place, name in enumerate(names))
    entry = function(f"def f({header}):\n    kernel({', '.join(names)})\n", {"T": tensors, "kernel": kernel})
    px.kernel(grid=1, block=THREADS)(entry)(*arrays.values(), *outputs.values())
    for thread in range(THREADS):
        held = {name: (array[thread] if array.dtype.kind == "f" else int(array[thread])) for name, array in arrays.items()}
        held.update(tid_u32=thread, tid_s32=thread)
        values, points = [(name, one) for name, one in held.items() if isinstance(one, int)], []
        plain = function(
            f"def f({given}):\n" + "\n".join(program.plain) + f"\n    return {results}\n",
            {
                **vars(programs),
                "log": lambda name, value, to=values: to.append((name, value)),
                "point": lambda number, seen, to=points: to.append((number, seen)),
            },
        )
        for name, wanted in zip(outputs, plain(**held)):
            np.testing.assert_array_equal(
                outputs[name][thread], np.asarray(wanted).astype(outputs[name].dtype), err_msg=f"{name} of thread {thread}"
            )
        known.check(thread, values, points)


@given(st.integers(0, 1 << 32), st.integers(1, 14))
@settings(max_examples=25, deadline=None)
def test_programs(seed, size):
    run(seed, size)
