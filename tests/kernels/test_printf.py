"""`px.printf` and `px.assert_`: the text is what C's printf makes of the same values, in the emulator and on the GPU."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import EmulationError, TraceError
from ptxgen.assemble import assemble
from tests.errors.refusal import refused


def c_printf(format: str, *arguments) -> str:
    """What the C library makes of it."""
    library = ctypes.CDLL(None)
    buffer = ctypes.create_string_buffer(4096)
    library.snprintf(buffer, ctypes.c_size_t(len(buffer)), format.encode(), *arguments)
    return buffer.value.decode()


@px.kernel(grid=1, block=2)
def numbers(i: px.s32, u: px.u32, w: px.s64, x: px.u64, f: px.f32, d: px.f64, h: px.f16, b: px.u8):
    px.printf("%d|%5i|%-6u|%+d|%x|%#o\n", i, i, u, i, u, u)
    px.printf("%lld %llu %016llX %p|%#x|%#10x|%.3d|% d|%08d|%-+6i|\n", w, x, x, x, u, u, i, i, i, i)
    px.printf("%f %.3e %g %10.2f %a|%f %g\n", f, f, d, d, d, h, 0.5)
    px.printf("%*d %*d %.2f %.f %c%c %u %s 100%%\n", 7, i, -14, i, d, f, 65, b, b, "text")


@given(
    st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(2, 2**64 - 1),
    st.floats(width=32, allow_nan=False), st.floats(allow_nan=False), st.floats(width=16, allow_nan=False), st.integers(33, 126),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_text_is_cs(i, u, w, x, f, d, h, b):
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        numbers.emulate(i, u, w, x, f, d, h, b).raise_for_reports()
    ci, cu, cw, cx = ctypes.c_int32(i), ctypes.c_uint32(u), ctypes.c_int64(w), ctypes.c_uint64(x)
    cf, cd, ch = ctypes.c_double(f), ctypes.c_double(d), ctypes.c_double(h)
    wanted = c_printf("%d|%5i|%-6u|%+d|%x|%#o\n", ci, ci, cu, ci, cu, cu) * 2
    wanted += c_printf("%lld %llu %016llX %p|%#x|%#10x|%.3d|% d|%08d|%-+6i|\n", cw, cx, cx, cx, cu, cu, ci, ci, ci, ci) * 2
    wanted += c_printf("%f %.3e %g %10.2f %a|%f %g\n", cf, cf, cd, cd, cd, ch, ctypes.c_double(0.5)) * 2
    text = ctypes.c_char_p(b"text")
    wanted += c_printf("%*d %*d %.2f %.f %c%c %u %s 100%%\n", 7, ci, -14, ci, cd, cf, 65, b, b, text) * 2
    assert printed.getvalue() == wanted


def test_threads_print_what_they_hold(capsys):
    @px.kernel(grid=2, block=4)
    def kernel(x: px.Tensor((8,), px.bf16)):
        i = px.ctaid.x * 4 + px.tid.x
        with px.if_(i % 2 == 1):
            px.printf("%u: %g\n", i, px.ptx.ld.global_.b16(x[i]).bitcast(px.bf16))

    assemble(kernel.ptx())
    kernel(np.arange(8).astype(ml_dtypes.bfloat16))
    assert capsys.readouterr().out == "".join(f"{i}: {i}\n" for i in (1, 3, 5, 7))


def test_texts_are_declared_once_and_the_buffer_fits_the_longest():
    @px.kernel(grid=1, block=1)
    def kernel(i: px.u32):
        px.printf("%u\n", i)
        px.printf("%u\n", i)
        px.printf("%u %llu %u\n", i, 2**40, i)

    text = kernel.ptx(comments=False)
    assert text.count(".b8 format") == 2
    assert ".local .align 8 .b8 printf_arguments[20];" in text
    assemble(text)


def test_assertion_that_holds_is_known_to_hold_behind_it():
    @px.kernel(grid=1, block=64)
    def kernel(x: px.Tensor((40,), px.f32), n: px.u32):
        px.assert_(n < 40, "n is an index")
        px.ptx.st.global_.f32(x[n], 1.0)  # refused without the assertion

    assemble(kernel.ptx())
    x = np.zeros(40, np.float32)
    kernel(x, 39)
    assert x[39] == 1 and x[:39].sum() == 0


def test_assertion_that_fails_is_reported_with_its_line_and_the_rest_goes_on():
    @px.kernel(grid=1, block=8)
    def kernel(x: px.Tensor((8,), px.f32)):
        px.assert_(px.tid.x < 6)
        px.ptx.st.global_.f32(x[px.tid.x], 1.0)

    x = np.zeros(8, np.float32)
    with pytest.raises(EmulationError) as caught:
        kernel(x)
    line = kernel.function.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        "the emulator found 1 fault:\n"
        f"  test_printf.py:{line}: call: assertion: px.assert_(px.tid.x < 6) does not hold (test_printf.py:{line}, kernel)"
        " (block 0, thread 6 and 1 more)"
    )
    assert x.tolist() == [1] * 6 + [0] * 2


def test_assertions_that_python_knows():
    @px.kernel(grid=1, block=1)
    def kernel(*, BM: px.constexpr):
        px.assert_(BM % 16 == 0, "a multiple of 16")  # <- here

    assert "__assertfail" not in kernel.specialize(BM=32).ptx()
    refused(TraceError, lambda: kernel.specialize(BM=24), """
<here>: the assertion does not hold: a multiple of 16
  line: <source>
  why: it is False for every thread
  legal: a condition that holds for the constants of this kernel
""")


# ---- refused --------------------------------------------------------------------------------------------------------------


def test_unsigned_number_under_d():
    @px.kernel(grid=1, block=1)
    def kernel(n: px.u32):
        px.printf("%d\n", n)  # <- here

    refused(TraceError, kernel, """
<here>: px.printf: %d takes a signed integer of 32 bits, and the argument is a .u32
  line: <source>
  why: C would print other digits
  legal: %u for it
""")


def test_wide_number_under_a_narrow_conversion():
    @px.kernel(grid=1, block=1)
    def kernel(n: px.u64):
        px.printf("%u\n", n)  # <- here

    refused(TraceError, kernel, """
<here>: px.printf: %u takes an unsigned integer of 32 bits, and the argument is a .u64
  line: <source>
  why: C would print other digits
  legal: %llu for it
""")


def test_float_under_x():
    @px.kernel(grid=1, block=1)
    def kernel(x: px.f32):
        px.printf("%x\n", x)  # <- here

    refused(TraceError, kernel, """
<here>: px.printf: %x takes an unsigned integer of 32 bits, and the argument is a .f32
  line: <source>
  why: C would print other digits
  legal: %f for it
""")


def test_missing_argument():
    @px.kernel(grid=1, block=1)
    def kernel(n: px.u32):
        px.printf("%u %u\n", n)  # <- here

    refused(TraceError, kernel, """
<here>: px.printf: the format has 2 conversions, and 1 argument follows
  line: <source>
  legal: an argument for each conversion, and one more for each *
""")


def test_conversion_that_is_none():
    @px.kernel(grid=1, block=1)
    def kernel(n: px.u32):
        px.printf("%y\n", n)  # <- here

    refused(TraceError, kernel, """
<here>: px.printf: '%y' at 0 of the format is no conversion
  line: <source>
  legal: %d %i %u %o %x %X %c %f %e %g %a %p %s, l or ll before an integer's letter, %% for %; no * for a precision
""")


def test_tensor_as_an_argument():
    @px.kernel(grid=1, block=1)
    def kernel(x: px.Tensor((4,), px.f32)):
        px.printf("%f\n", x[0])  # <- here

    refused(TraceError, kernel, """
<here>: px.printf: x[] f32 in .global is no scalar
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


# ---- the GPU --------------------------------------------------------------------------------------------------------------

PROGRAM = """
    import sys
    import numpy as np
    import torch
    sys.path.insert(0, {root!r})
    from tests.kernels.test_printf import numbers
    values = (-7, 2**31 + 5, -2**40, 2**63 + 1, 0.1, -1.5e300, 0.25, 88)
    if sys.argv[1] == "gpu":
        numbers.launch(*values, stream=torch.cuda.current_stream())
        torch.cuda.synchronize()
    else:
        numbers.emulate(*values)
"""


@pytest.mark.gpu
def test_gpu_prints_what_the_emulator_prints():
    pytest.importorskip("torch")
    program = textwrap.dedent(PROGRAM.format(root=str(Path(__file__).resolve().parents[2])))
    runs = [subprocess.run([sys.executable, "-c", program, where], capture_output=True, text=True) for where in ("gpu", "here")]
    printed = [run.stdout for run in runs]
    assert not any(run.returncode for run in runs), runs[0].stderr
    assert sorted(printed[0].splitlines()) == sorted(printed[1].splitlines())
    assert printed[0].count("\n") == 8
