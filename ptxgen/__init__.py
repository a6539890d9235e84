"""ptxgen: a direct PTX assembler for Python.

>>> import ptxgen as px
>>> from ptxgen import S, f32, laneid, warpid
"""

from __future__ import annotations

from ptxgen import tile
from ptxgen.instructions.types import *  # noqa: F403
from ptxgen.kernel.annotations import Tensor, cdiv, constexpr, dim
from ptxgen.kernel.kernel import kernel
from ptxgen.layouts import Layout, R, S, Swizzle
from ptxgen.layouts.axes import laneid, warpid
from ptxgen.tracing.storage import local, shared
