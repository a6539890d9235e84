"""Random scalar programs, each written twice: as a kernel, and as plain Python over exact integers and IEEE floats.

Both call `log` with every immutable integer (the kernel with what is known of it, plain Python with its value) and `point` where facts
are in force, so that what ptxgen claims to know is compared with what is.
"""

import math
import random

import numpy as np

INTEGERS = ("u16", "u32", "s32", "u64", "s64")
FLOATS = ("f32", "f64")
TYPES = (*INTEGERS, *FLOATS, "pred")


def bits_of(type):
    return int(type[1:])


def wrap(type, value):
    bits = bits_of(type)
    value &= (1 << bits) - 1
    return value - (1 << bits) if type[0] == "s" and value >> (bits - 1) else value


def shifted(type, op, a, by):
    """PTX clamps shift amounts at the width."""
    by = min(by, bits_of(type))
    return wrap(type, a << by) if op == "<<" else a >> by


def truncated(op, a, b):
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if op == "div" else a - quotient * b


def rounded(type, value):
    with np.errstate(all="ignore"):
        return (np.float32 if type == "f32" else np.float64)(value)


def floating(type, op, a, b):
    with np.errstate(all="ignore"):
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()


def extreme(op, a, b):
    """The other one where one is NaN, and -0 below +0."""
    if isinstance(a, (float, np.floating)):
        if math.isnan(a) or math.isnan(b):
            return b if math.isnan(a) else a
        first = (a, math.copysign(1, a)) < (b, math.copysign(1, b))
        return (a if first else b) if op == "min" else (b if first else a)
    return min(a, b) if op == "min" else max(a, b)


def reinterpreted(value, to):
    source = np.float32 if isinstance(value, np.float32) else np.float64
    if to in FLOATS:
        kind = {"f32": (np.uint32, np.float32), "f64": (np.uint64, np.float64)}[to]
        return np.array([value & ((1 << bits_of(to)) - 1)], kind[0]).view(kind[1])[0]
    if isinstance(value, (float, np.floating)):
        return wrap(to, int(np.array([value], source).view({np.float32: np.uint32, np.float64: np.uint64}[source])[0]))
    return wrap(to, value)


class Program:
    """One program; `kernel` and `plain` are the sources of two functions' bodies.

    Attributes
    ----------
    inputs, registers : dict of str to str
        The type of each.
    """

    def __init__(self, seed, size=12):
        self.random = random.Random(seed)
        self.kernel, self.plain = [], []
        self.depth, self.loops, self.count = 1, 0, 0
        self.inputs = {f"in_{type}": type for type in TYPES if type != "pred"}
        self.registers = {f"r_{type}": type for type in TYPES}
        self.scopes = [dict(self.inputs)]
        self.declared = []
        for name, type in self.registers.items():
            one, other = self.expression(type, 1)
            self.write(f"{name} = px.reg(px.{type}, {one})", f"{name} = {other}")
            self.declared.append(name)
        self.block(size)

    def write(self, kernel, plain=None):
        self.kernel.append("    " * self.depth + kernel)
        self.plain.append("    " * self.depth + (kernel if plain is None else plain))

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def names(self, type):
        return [name for scope in self.scopes for name, own in scope.items() if own == type]

    # ---- statements -----------------------------------------------------------------------------------------------------

    def block(self, size):
        self.scopes.append({})
        for _ in range(self.random.randint(1, max(1, size))):
            self.statement(size)
        self.scopes.pop()

    def statement(self, size):
        kinds = ["value"] * 4 + ["set"] * 2 + ["update"] * 3
        if size > 1 and self.depth < 6:
            kinds += ["if"] * 3 + ["for"] * 2 + ["while"]
        if self.loops:
            kinds += ["leave"]
        getattr(self, "_" + self.random.choice(kinds))(size)

    def _value(self, size):
        type, name = self.random.choice(TYPES), self.name()
        one, other = self.expression(type, 3, alone=True)
        self.write(f"{name} = {one}", f"{name} = {other}")
        self.scopes[-1][name] = type
        if type in INTEGERS:
            self.write(f"log({name!r}, {name})")
        if self.random.random() < 0.3:
            self.point()

    def point(self):
        self.count += 1
        seen = ", ".join(f"{name!r}: {name}" for scope in self.scopes for name, type in scope.items() if type in INTEGERS)
        self.write(f"point({self.count}, {{}})", f"point({self.count}, {{{seen}}})")

    def _set(self, size):
        name, type = self.random.choice(list(self.registers.items()))
        one, other = self.expression(type, 3)
        self.write(f"{name}.set({one})", f"{name} = {other}")

    def _update(self, size):
        name, type = self.random.choice([pair for pair in self.registers.items() if pair[1] != "pred"])
        one, other = self.expression(type, 2)
        if type in FLOATS:
            op = self.random.choice("+-*/")
            self.write(f"{name} {op}= {one}", f"{name} = floating({type!r}, {op!r}, {name}, {other})")
            return
        op = self.random.choice(["+", "-", "*", "&", "|", "^", "<<", ">>"])
        if op in ("<<", ">>"):
            one, other = self.amount()
            self.write(f"{name} {op}= {one}", f"{name} = shifted({type!r}, {op!r}, {name}, {other})")
        else:
            self.write(f"{name} {op}= {one}", f"{name} = wrap({type!r}, {name} {op} {other})")

    def _if(self, size):
        for place in range(self.random.randint(1, 3)):
            one, other = self.expression("pred", 3)
            if place and self.random.random() < 0.5:
                one = f"lambda: {one}"
            self.write(f"with px.{'elif_' if place else 'if_'}({one}):", f"{'elif' if place else 'if'} {other}:")
            self.nested(size)
        if self.random.random() < 0.5:
            self.write("with px.else_():", "else:")
            self.nested(size)
        if self.random.random() < 0.5:
            self.point()

    def nested(self, size, first=None):
        self.depth += 1
        if first:
            self.write(*first)
        if self.random.random() < 0.4:
            self.point()
        self.block(size // 3)
        self.depth -= 1

    def _for(self, size):
        type = self.random.choice(["u32", "s32", "u64", "s64"])
        name, step = self.name(), self.random.choice([1, 1, 2, 3, -1, -2])
        start, stop = (self.small(type) for _ in range(2))
        if step < 0:
            start = f"{start[0]} + 5", f"({start[1]}) + 5"
        by = step
        if step > 0 and self.random.random() < 0.3:
            traced, plain = self.small(type)
            by = f"({traced} | 1)", f"(({plain}) | 1)"
        else:
            by = str(step), str(step)
        self.write(f"for {name} in px.range({start[0]}, {stop[0]}, {by[0]}):", f"for {name} in range({start[1]}, {stop[1]}, {by[1]}):")
        self.loops += 1
        self.scopes.append({name: type})
        self.nested(size, (f"log({name!r}, {name})",))
        self.scopes.pop()
        self.loops -= 1

    def small(self, type):
        """0 to 7, from something visible."""
        one, other = self.expression(type, 1)
        mask = self.random.choice([3, 7])
        return f"({one} & {mask})", f"({other} & {mask})"

    def _while(self, size):
        counter = self.name()
        one, other = self.expression("pred", 2)
        self.write(f"{counter} = px.reg(px.u32, 0)", f"{counter} = 0")
        limit = self.random.randint(1, 5)
        self.write(f"with px.while_(lambda: ({counter} < {limit}) & {one}):", f"while ({counter} < {limit}) and {other}:")
        self.loops += 1
        self.nested(size, (f"{counter} += 1",))
        self.loops -= 1

    def _leave(self, size):
        one, other = self.expression("pred", 2)
        how = self.random.choice(["break", "continue"])
        self.write(f"with px.if_({one}):", f"if {other}:")
        self.depth += 1
        self.write(f"px.{how}_()", how)
        self.depth -= 1
        self.point()

    # ---- expressions ----------------------------------------------------------------------------------------------------

    def expression(self, type, depth, alone=False):
        """A pair of sources. A register `alone` is read now, since a name for it would follow its later values."""
        if depth == 0 or self.random.random() < 0.2:
            return self.leaf(type, alone)
        if type == "pred":
            return self.predicate(depth)
        return self.float(type, depth) if type in FLOATS else self.integer(type, depth)

    def leaf(self, type, alone=False):
        registers = [name for name in self.declared if self.registers[name] == type]
        names = self.names(type)
        if registers and self.random.random() < 0.4:
            name = self.random.choice(registers)
            return (f"{name}.get()" if alone else name), name
        if type in ("u32", "s32") and self.random.random() < 0.4:
            return (f"tid_{type}", f"tid_{type}")
        if type != "pred" and (not names or self.random.random() < 0.3):
            return self.constant(type)
        name = self.random.choice(names) if names else "(in_u32 < in_u32)"
        return name, name

    def constant(self, type):
        if type in FLOATS:
            value = self.random.choice([0.0, 1.0, -1.5, 0.25, 1e10, float("inf")])
            return f"px.{type}({_float(value)})", f"rounded({type!r}, {_float(value)})"
        lo, hi = (-(1 << (bits_of(type) - 1)), (1 << (bits_of(type) - 1)) - 1) if type[0] == "s" else (0, (1 << bits_of(type)) - 1)
        value = self.random.choice([0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 100, 4096, lo, hi, hi - 1, self.random.randint(lo, hi)])
        return f"px.{type}({value})", f"({value})"

    def integer(self, type, depth):
        kind = self.random.choice(
            ["arithmetic"] * 4 + ["bits"] * 3 + ["shift"] * 2 + ["divide", "extreme", "select", "convert", "unary", "float"]
        )
        if type != "u16" and self.random.random() < 0.4:
            return self.affine(type)
        (a, x), (b, y) = (self.expression(type, depth - 1) for _ in range(2))
        if kind in ("arithmetic", "bits"):
            op = self.random.choice("+-*" if kind == "arithmetic" else "&|^")
            if self.random.random() < 0.3:
                b = y = str(self.random.choice([1, 2, 3, 4, 7, 15, 16]))
                if self.random.random() < 0.3:
                    a, x, b, y = b, y, a, x
            return f"({a} {op} {b})", f"wrap({type!r}, {x} {op} {y})"
        if kind == "shift":
            op, (n, k) = self.random.choice(["<<", ">>"]), self.amount()
            return f"({a} {op} {n})", f"shifted({type!r}, {op!r}, {x}, {k})"
        if kind == "divide":
            op = self.random.choice(["div", "rem"])
            if self.random.random() < 0.5:
                b = y = str(self.random.choice([1, 2, 3, 4, 7, 8, 32]))
            else:
                b, y = f"({b} & 15 | 1)", f"({y} & 15 | 1)"
            if type[0] == "u" and self.random.random() < 0.5:
                sign = "//" if op == "div" else "%"
                return f"({a} {sign} {b})", f"({x} {sign} {y})"
            return f"px.{op}({a}, {b})", f"truncated({op!r}, {x}, {y})"
        if kind == "extreme":
            op = self.random.choice(["min", "max"])
            return f"px.{op}({a}, {b})", f"extreme({op!r}, {x}, {y})"
        if kind == "select":
            p, q = self.expression("pred", depth - 1)
            return f"px.select({p}, {a}, {b})", f"({x} if {q} else {y})"
        if kind == "convert":
            source = self.random.choice(INTEGERS)
            a, x = self.expression(source, depth - 1)
            return f"{a}.to(px.{type})", f"wrap({type!r}, {x})"
        if kind == "unary":
            op = self.random.choice("-~")
            return f"({op}{a})", f"wrap({type!r}, {op}{x})"
        return self.from_float(type, depth)

    def affine(self, type):
        """Of small integers with small factors, then divided or masked, as indices are: what is known of it is exact."""
        total, plain = self.few(type)
        for _ in range(self.random.randint(0, 2)):
            op, by, (one, other) = self.random.choice("++-*"), self.random.choice([1, 2, 4, 8, 12]), self.few(type)
            total, plain = f"({total} {op} {one} * {by})", f"wrap({type!r}, {plain} {op} {other} * {by})"
        how, by = self.random.choice(["", "", "", "div", "rem", "&", ">>"]), self.random.choice([2, 4, 6, 8])
        if how in ("div", "rem"):
            return f"px.{how}({total}, {by})", f"truncated({how!r}, {plain}, {by})"
        if how == "&":
            return f"({total} & {by - 1})", f"({plain} & {by - 1})"
        if how == ">>":
            return f"({total} >> {by})", f"({plain} >> {by})"
        return total, plain

    def few(self, type):
        source = self.random.choice(["tid_u32", "tid_s32", "in_u16", *self.names(type)[-2:]])
        if source.startswith("v"):
            return source, source
        return f"{source}.to(px.{type})", f"wrap({type!r}, {source})"

    def from_float(self, type, depth):
        same = [one for one in (*INTEGERS, *FLOATS) if bits_of(one) == bits_of(type)]
        source = self.random.choice(same)
        a, x = self.expression(source, depth - 1)
        if self.random.random() < 0.5 or type == "u16":
            if source in FLOATS:
                return self.constant(type)  # the bits of a NaN are the hardware's
            return f"{a}.bitcast(px.{type})", f"reinterpreted({x}, {type!r})"
        a, x = self.expression("f32", depth - 1)
        clamped = f"px.min(px.max({a}, 0.0), 1000.0)", f"extreme('min', extreme('max', {x}, np.float32(0)), np.float32(1000))"
        return f"{clamped[0]}.to(px.{type}, 'rzi')", f"int({clamped[1]})"

    def amount(self):
        if self.random.random() < 0.6:
            by = str(self.random.choice([0, 1, 2, 3, 5, 15, 16, 31, 32, 40, 63, 64, 70]))
            return by, by
        a, x = self.expression("u32", 1)
        mask = self.random.choice([7, 31, 127])
        return f"({a} & {mask})", f"({x} & {mask})"

    def float(self, type, depth):
        kind = self.random.choice(["arithmetic"] * 4 + ["extreme", "select", "convert", "unary"])
        (a, x), (b, y) = (self.expression(type, depth - 1) for _ in range(2))
        if kind == "arithmetic":
            op = self.random.choice("+-*/")
            return f"({a} {op} {b})", f"floating({type!r}, {op!r}, {x}, {y})"
        if kind == "extreme":
            op = self.random.choice(["min", "max"])
            return f"px.{op}({a}, {b})", f"extreme({op!r}, {x}, {y})"
        if kind == "select":
            p, q = self.expression("pred", depth - 1)
            return f"px.select({p}, {a}, {b})", f"({x} if {q} else {y})"
        if kind == "unary":
            return self.random.choice([(f"(-{a})", f"(-{x})"), (f"abs({a})", f"abs({x})")])
        source = self.random.choice(["u32", "s32", "f32", "f64", "u64" if type == "f64" else "u16"])
        a, x = self.expression(source, depth - 1)
        return f"{a}.to(px.{type})", f"rounded({type!r}, {x})"

    def predicate(self, depth):
        if self.random.random() < 0.35:
            (a, x), (b, y) = (self.expression("pred", depth - 1) for _ in range(2))
            op, plain = self.random.choice([("&", "and"), ("|", "or"), ("^", "!=")])
            return self.random.choice([(f"({a} {op} {b})", f"(({x}) {plain} ({y}))"), (f"(~{a})", f"(not {x})")])
        type = self.random.choice([*INTEGERS, *FLOATS])
        (a, x), (b, y) = (self.expression(type, depth - 1) for _ in range(2))
        op = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({a} {op} {b})", f"bool({x} {op} {y})"


def _float(value):
    return f"float({str(value)!r})"
