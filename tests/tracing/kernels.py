"""Small kernels for the tests of this folder: a scalar function over arrays, run in the emulator; and a bare trace."""

import numpy as np

import ptxgen as px
from ptxgen import ir
from ptxgen.instructions.types import Type, type_named
from ptxgen.text import write
from ptxgen.tracing.builder import Builder


def type_of(array):
    names = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int": "s", "uint": "u"}
    name = array.dtype.name
    if name in names:
        return type_named(names[name])
    return type_named(("u" if name.startswith("uint") else "s") + name.lstrip("uint"))


def load(view, dtype: Type):
    word = f"b{dtype.bits}" if dtype.bits > 8 else dtype.name
    if dtype.bits == 8:
        return px.ptx[f"ld.global.{word}"](view)
    return px.ptx[f"ld.global.{word}"](view).bitcast(dtype)


def store(view, value):
    if value.type is px.pred:
        value = px.select(value, px.u32(1), px.u32(0))
    word = f"b{value.type.bits}" if value.type.bits > 8 else value.type.name
    px.ptx[f"st.global.{word}"](view, value)


def apply(function, *arrays, out):
    """The function of traced scalars, over arrays of at most 1024 elements; `out` is the NumPy dtype of the result."""
    count = arrays[0].size
    types = [type_of(one) for one in arrays]
    result = np.zeros(count, out)
    tensors = [px.Tensor((count,), one) for one in (*types, type_of(result))]
    padded = [*tensors[:-1], *[tensors[-1]] * (4 - len(tensors)), tensors[-1]]

    @px.kernel(grid=1, block=count)
    def kernel(a: padded[0], b: padded[1], c: padded[2], z: padded[-1]):
        given = [load(one[px.tid.x], dtype) for one, dtype in zip((a, b, c), types)]
        store(z[px.tid.x], function(*given))

    arguments = [*arrays, *[np.zeros_like(result)] * (3 - len(arrays))]
    kernel(*arguments, result)
    return result


def threads(function, count, out=np.uint32):
    """The function of the thread's index, traced with statements: it gets (tid, result register) and writes the register."""
    result = np.zeros(count, out)
    dtype = type_of(result)

    @px.kernel(grid=1, block=count)
    def kernel(z: px.Tensor((count,), dtype)):
        register = px.reg(dtype, 0)
        function(px.tid.x, register)
        store(z[px.tid.x], register)

    kernel(result)
    return result


def traced(function, block=(128, 1, 1), target=None):
    """What the function emits, as lines of PTX without declarations; the function gets the thread's index."""
    builder = Builder("k", block, target)
    with builder:
        function(px.tid.x)
        builder.finish()
    body = (*builder.prologue, *builder.body)
    version, lowest = builder.lowest()
    text = write(ir.Module(version, (lowest,), (ir.Function("entry", "k", (), body),)))
    text = text if isinstance(text, str) else text[0]
    inside = text[text.index("{") + 1 : text.rindex("}")]
    return [" ".join(line.split()) for line in inside.splitlines() if line.strip() and "//" not in line]
