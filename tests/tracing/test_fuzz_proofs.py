"""Random guards and indices: whatever view is accepted, running it over small sizes finds nothing out of bounds."""

import itertools
import linecache
import random
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.tracing import views

n, m = px.dim("n"), px.dim("m")
SIZES = [(1, 1), (2, 1), (3, 2), (4, 4), (5, 3), (7, 6), (9, 2)]
_serial = itertools.count()


class Source:
    """A kernel's body: nested guards and loops, and accesses through `access`, which records what is refused."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def kernel(A: A, C: C):", "    i, j, q = px.tid.x, px.ctaid.x, px.reg(px.u32, 0)"]
        self.names = ["i", "j", "n", "m", "j * 4 + i"]
        self.count = 0
        self.block(1)

    def write(self, depth, text):
        self.lines.append("    " * depth + text)

    def term(self):
        pick = self.random.choice
        a, b = pick(self.names), pick(self.names)
        return pick([
            f"({a})", f"({a})", f"({a} + {pick([1, 2, 3])})", f"({a} - {pick([1, 2])})", f"(({a}) * {pick([2, 3])})", f"(({a}) >> 1)",
            f"(({a}) // {pick([2, 3, 4])})", f"(({a}) % {pick([2, 4])})", f"px.min({a}, {b})", f"px.max({a}, {b})", f"({a} - ({b}))",
            f"(n - 1 - ({a}))", f"(({a}) % px.max({b}, 1))", f"(9 - ({a}))", f"(({a}) * ({b}))", f"(({a}) // px.max({b}, 1))",
            f"px.select({a} < {b}, {a}, {b})",
        ])  # fmt: skip

    def condition(self):
        pick = self.random.choice
        one = f"({self.term()} {pick(['<', '<=', '>', '>=', '==', '!='])} {self.term()})"
        return (
            pick([one, f"(~{one})", f"({one} & {self.condition()})", f"({one} | {self.condition()})"])
            if self.random.random() < 0.4
            else one
        )

    def access(self, depth, index):
        pick, count = self.random.choice, self.random.randint(1, 4)
        view = pick([f"A[{index}]", f"A[{index} : {index} + {count}]", f"A.sub(({index},), ({count},))", f"C[{index}, {self.term()}]",
                     f"C[{self.term()}, {index}]", f"A[0:{count}]"])  # fmt: skip
        self.write(depth, f"access(lambda: {view})")

    def block(self, depth):
        for _ in range(self.random.randint(1, 3)):
            kept, what = len(self.names), self.random.random()
            if what < 0.2 or depth > 4:
                self.access(depth, self.term())
            elif what < 0.35:
                self.write(depth, f"q.set({self.term()})")
                self.named(depth, "q.get()")
                continue
            elif what < 0.7:
                self.guard(depth)
            else:
                self.loop(depth)
            del self.names[kept:]

    def named(self, depth, text):
        self.count += 1
        self.write(depth, f"v{self.count} = {text}")
        self.names.append(f"v{self.count}")
        return f"v{self.count}"

    def guard(self, depth):
        pick, index = self.random.choice, self.term()
        if self.random.random() < 0.5:
            index = self.named(depth, index)
        end, more = pick(["n", "n", "m", "px.min(n, m)", "n - 1", "n // 2", "n * m"]), pick(["", "", f" & {self.condition()}"])
        self.write(depth, f"with px.if_(({index} + {pick([0, 0, 1, 3])} {pick(['<', '<', '<='])} {end}){more}):")
        for one in (index, pick([f"{index} + 1", f"{index} - 1", f"{index} // 2", f"n - 1 - {index}"])):
            self.access(depth + 1, one)
        self.block(depth + 1)
        if self.random.random() < 0.2:
            self.write(depth + 1, "px.return_()")
        elif self.random.random() < 0.4:
            self.write(depth, "with px.else_():")
            self.access(depth + 1, index)
        self.access(depth, index)

    def loop(self, depth):
        self.count += 1
        name = f"v{self.count}"
        self.write(
            depth,
            f"for {name} in px.range({self.random.choice(['0', self.term()])}, px.min({self.term()}, 12), {self.random.randint(1, 3)}):",
        )
        self.names.append(name)
        self.access(depth + 1, name)
        if self.random.random() < 0.4:
            self.write(depth + 1, f"with px.if_({self.condition()}):")
            self.write(depth + 2, f"px.{self.random.choice(['break', 'continue'])}_()")
        self.block(depth + 1)


@given(st.integers(0, 1 << 32))
@settings(max_examples=15, deadline=None)
def test_what_is_accepted_stays_inside(seed):
    text = "\n".join(Source(seed).lines) + "\n"
    accepted = []

    def access(select):
        try:
            view = select()
        except (px.TraceError, px.LayoutError):
            return
        accepted.append(view)
        for place in range(view.shape[0]) if view.ndim else (...,):
            px.ptx.ld.global_.u32(view[place])

    file = f"<kernel {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"px": px, "n": n, "m": m, "A": px.Tensor((n,), px.u32), "C": px.Tensor((n, m), px.u32), "access": access}
    exec(compile(text, file, "exec"), scope)
    kernel = px.kernel(grid=3, block=4)(scope["kernel"])
    try:
        # What makes messages takes its time.
        with mock.patch.object(views, "refuted", lambda *_: {}), mock.patch.object(views, "counterexample", lambda *_: None):
            kernel.ptx()
    except px.TraceError as error:  # guards that no thread passes
        assert "no thread is active" in str(error) or "type" in str(error), text
        return
    for rows, columns in SIZES if accepted else ():
        kernel(np.zeros(rows, np.uint32), np.zeros((rows, columns), np.uint32))
