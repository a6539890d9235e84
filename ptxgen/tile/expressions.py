"""Runtime integer expressions as registers: the arithmetic of addresses, widened before it multiplies."""

from __future__ import annotations

from math import gcd

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import Type, s64, u32
from ptxgen.layouts.expr import Expr, Monomial
from ptxgen.tracing.builder import Builder, Value

__all__ = ["compute", "convert", "integer", "materialize", "operand"]


def integer(constant: int) -> tuple[ir.Operand, Given]:
    return ir.Int(constant), Given("int", str(constant), value=constant)


def operand(value: Value) -> tuple[ir.Operand, Given]:
    return value.described()


def compute(
    builder: Builder, opcode: str, type: Type, *operands: tuple[ir.Operand, Given], into: list[ir.Statement] | None = None
) -> Value:
    """Emit one instruction of our own address code into a fresh register."""
    target = builder.register(type)
    builder.emit(opcode, [(target, Given.numbered(target.name, type)), *operands], into=into)
    builder.droppable.add(target.name)
    return Value(builder, type, target, builder.root if into is not None else builder.region, None)


def materialize(builder: Builder, expr: Expr, bits: int) -> Value:
    """A register (or constant) that holds an integer expression, widened before it is multiplied where `bits` is 64."""
    type = s64 if bits == 64 else u32

    def make() -> Value:
        total: Value | None = None
        terms = _in_known_values(builder, expr).terms
        for monomial, coefficient in sorted(terms.items(), key=lambda term: (not term[0], [s.name for s in term[0]])):
            total = _add_term(builder, total, monomial, coefficient, bits)
        return total if total is not None else Value(builder, type, ir.Int(0), None, None)

    found: Value = builder.numbered(("expr", expr, bits), make)
    return found


def _in_known_values(builder: Builder, expr: Expr) -> Expr:
    """The expression in terms of one visible register that already holds its runtime part up to a factor, where there is one."""
    part, _, content = _primitive(expr)
    if len(part.terms) < 2:
        return expr
    for value in builder.holders.get(part, ()):
        if value.region is None or not builder.region.inside(value.region) or value.expr is None:
            continue
        _, offset, held = _primitive(value.expr)
        if content % held == 0:
            symbol = builder.alias(value)
            factor = content // held
            return Expr({(symbol,): factor, (): expr.terms.get((), 0) - offset * factor})
    return expr


def _primitive(expr: Expr) -> tuple[Expr, int, int]:
    """An expression as ``part * content + constant``, the coefficients of `part` without a common factor."""
    constant = expr.terms.get((), 0)
    content = gcd(*(coefficient for mono, coefficient in expr.terms.items() if mono)) or 1
    return Expr({mono: coefficient // content for mono, coefficient in expr.terms.items() if mono}), constant, content


def _add_term(builder: Builder, total: Value | None, monomial: Monomial, coefficient: int, bits: int) -> Value:
    type = s64 if bits == 64 else u32
    suffix = f"{'s' if bits == 64 else 'u'}{bits}"
    if not monomial:
        if total is None:
            return Value(builder, type, ir.Int(coefficient), None, None)
        return compute(builder, f"add.{suffix}", type, operand(total), integer(coefficient))
    factors = [builder.value_of(symbol) for symbol in monomial]
    if len(factors) == 1 and bits == 64 and factors[0].type.bits == 32 and coefficient != 1 and _wide_enough(factors[0], coefficient):
        sign = "s" if factors[0].type.signed or coefficient < 0 else "u"
        if total is None:
            return compute(builder, f"mul.wide.{sign}32", type, operand(factors[0]), integer(coefficient))
        return compute(builder, f"mad.wide.{sign}32", type, operand(factors[0]), integer(coefficient), operand(total))
    product = convert(builder, factors[0], bits)
    for factor in factors[1:]:
        product = compute(builder, f"mul.lo.{suffix}", type, operand(product), operand(convert(builder, factor, bits)))
    if coefficient != 1 and total is not None:
        return compute(builder, f"mad.lo.{suffix}", type, operand(product), integer(coefficient), operand(total))
    if coefficient != 1:
        return compute(builder, f"mul.lo.{suffix}", type, operand(product), integer(coefficient))
    return product if total is None else compute(builder, f"add.{suffix}", type, operand(total), operand(product))


def _wide_enough(factor: Value, coefficient: int) -> bool:
    """Whether one 32x32->64 multiplication gives the exact product: signed forms need both factors to fit s32."""
    if factor.type.signed:
        return -(1 << 31) <= coefficient < 1 << 31
    if coefficient < 0:
        hi = None if factor.expr is None else factor.expr.range()[1]
        return hi is not None and hi < 1 << 31 and coefficient >= -(1 << 31)
    return coefficient < 1 << 32


def convert(builder: Builder, value: Value, bits: int) -> Value:
    if value.type.bits == bits or not isinstance(value.operand, ir.Reg):
        return value
    sign = "s" if value.type.signed else "u"
    type = s64 if bits == 64 else u32
    to = f"{sign if bits == 64 else 'u'}{bits}"
    key = ("convert", value.operand, bits)
    made: Value = builder.numbered(key, lambda: compute(builder, f"cvt.{to}.{sign}{value.type.bits}", type, operand(value)))
    return made
