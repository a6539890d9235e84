"""PTX text that cannot be read, and entries that are not there."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np

import ptxgen as px
from ptxgen import ArgumentError, TraceError
from ptxgen.kernels.foreign import EntryError
from ptxgen.text.errors import ReadError
from tests.errors.refusal import refused

GOOD = """\
.version 8.0
.target sm_80
.address_size 64

.visible .entry scale(
    .param .u64 x,
    .param .f32 a
)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [x];
    ret;
}
"""


def test_text_that_is_no_ptx():
    refused(ReadError, lambda: px.load_ptx("int main() {}"), """
<text>:1:1: expected '.version', found 'int'
    int main() {}
    ^
""")


def test_missing_semicolon():
    text = GOOD.replace("ld.param.u64 %rd0, [x];", "ld.param.u64 %rd0, [x]")
    refused(ReadError, lambda: px.load_ptx(text), """
<text>:11:27: expected ',' or ';' at the end of the line
        ld.param.u64 %rd0, [x]
                              ^
""")


def test_missing_brace():
    refused(ReadError, lambda: px.load_ptx(GOOD.rstrip().rstrip("}")), """
<text>:13:1: expected '}' to close the body, found the end of the text
""")


def test_address_without_bracket():
    text = GOOD.replace("[x]", "[x")
    refused(ReadError, lambda: px.load_ptx(text, filename="scale.ptx"), """
scale.ptx:11:26: expected '+', ',' or ']', found ';'
        ld.param.u64 %rd0, [x;
                             ^
""")


def test_unknown_directive():
    text = GOOD.replace(".address_size 64", ".adress_size 64")
    refused(ReadError, lambda: px.load_ptx(text, filename="scale.ptx"), """
scale.ptx:3:1: expected a declaration or a function, found '.adress_size'
    .adress_size 64
    ^
""")


def test_path_instead_of_a_text():
    def program():
        px.load_ptx("kernels/scale.ptx")  # <- here

    refused(TraceError, program, """
<here>: px.load_ptx takes the text of a module, not 'kernels/scale.ptx'
  line: <source>
  legal: px.load_ptx(pathlib.Path(path).read_text())
""")


def test_path_object_instead_of_a_text():
    def program():
        px.load_ptx(PurePosixPath("scale.ptx"))  # <- here

    refused(TraceError, program, """
<here>: px.load_ptx takes the text of a module, not PurePosixPath('scale.ptx')
  line: <source>
  legal: px.load_ptx(pathlib.Path(path).read_text())
""")


def test_missing_entry():
    module = px.load_ptx(GOOD)

    def program():
        module["scales"]  # <- here

    refused(EntryError, program, """
<here>: the module has no entry 'scales'
  line: <source>
  legal: scale
""")
    assert "scales" not in module


def test_wrong_number_of_arguments():
    entry = px.load_ptx(GOOD)["scale"]
    refused(ArgumentError, lambda: entry.emulate(np.zeros(4, np.float32), grid=1, block=32), """
scale(x, a) takes 2 arguments, 1 were given
""")


def test_array_for_a_scalar_parameter():
    entry = px.load_ptx(GOOD)["scale"]
    x = np.zeros(4, np.float32)
    refused(ArgumentError, lambda: entry.emulate(x, x, grid=1, block=32), """
scale: argument 'a' is an array (ndarray); this parameter is a number: pass value.item() (the signature says .f32)
""")
