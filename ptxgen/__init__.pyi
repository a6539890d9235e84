# Made by `python -m ptxgen.reference` from ptxgen/__init__.py; not to be edited.
# ruff: noqa
from ptxgen import costs as costs
from ptxgen import solve as solve
from ptxgen import testing as testing
from ptxgen import tile as tile
from ptxgen.emulator import EmulationError as EmulationError
from ptxgen.emulator.images import Surface as Surface
from ptxgen.emulator.images import Texture as Texture
from ptxgen.errors import Impossible as Impossible
from ptxgen.errors import InstructionError as InstructionError
from ptxgen.errors import LayoutError as LayoutError
from ptxgen.errors import PtxgenError as PtxgenError
from ptxgen.errors import TraceError as TraceError
from ptxgen.instructions.hardware import hardware_layout as hardware_layout
from ptxgen.instructions.hardware import hardware_layouts as hardware_layouts
from ptxgen.instructions.hardware import hardware_operands as hardware_operands
from ptxgen.instructions.types import Type
from ptxgen.kernels.annotations import Tensor as Tensor
from ptxgen.kernels.annotations import cdiv as cdiv
from ptxgen.kernels.annotations import constexpr as constexpr
from ptxgen.kernels.annotations import dim as dim
from ptxgen.kernels.foreign import load_ptx as load_ptx
from ptxgen.kernels.function import func as func
from ptxgen.kernels.kernel import Kernel as Kernel
from ptxgen.kernels.kernel import kernel as kernel
from ptxgen.layouts import Expr as Expr
from ptxgen.layouts import Layout as Layout
from ptxgen.layouts import R as R
from ptxgen.layouts import S as S
from ptxgen.layouts import Swizzle as Swizzle
from ptxgen.layouts import Symbol as Symbol
from ptxgen.layouts import TCol as TCol
from ptxgen.layouts import TLane as TLane
from ptxgen.layouts import bx as bx
from ptxgen.layouts import by as by
from ptxgen.layouts import bz as bz
from ptxgen.layouts import cbx as cbx
from ptxgen.layouts import cby as cby
from ptxgen.layouts import cbz as cbz
from ptxgen.layouts import laneid as laneid
from ptxgen.layouts import m as m
from ptxgen.layouts import tid_in_wg as tid_in_wg
from ptxgen.layouts import tx as tx
from ptxgen.layouts import warpid as warpid
from ptxgen.layouts import wgid as wgid
from ptxgen.layouts import wid_in_wg as wid_in_wg
from ptxgen.lint.switch import LintError as LintError
from ptxgen.lint.switch import allow as allow
from ptxgen.runtime import ArgumentError as ArgumentError
from ptxgen.tracing.control import break_ as break_
from ptxgen.tracing.control import continue_ as continue_
from ptxgen.tracing.control import elif_ as elif_
from ptxgen.tracing.control import else_ as else_
from ptxgen.tracing.control import exit_ as exit_
from ptxgen.tracing.control import if_ as if_
from ptxgen.tracing.control import range_ as range
from ptxgen.tracing.control import return_ as return_
from ptxgen.tracing.control import while_ as while_
from ptxgen.tracing.debugging import assert_ as assert_
from ptxgen.tracing.debugging import printf as printf
from ptxgen.tracing.functions import absolute as abs
from ptxgen.tracing.functions import div as div
from ptxgen.tracing.functions import fma as fma
from ptxgen.tracing.functions import maximum as max
from ptxgen.tracing.functions import minimum as min
from ptxgen.tracing.functions import rcp as rcp
from ptxgen.tracing.functions import rem as rem
from ptxgen.tracing.functions import select as select
from ptxgen.tracing.functions import sqrt as sqrt
from ptxgen.tracing.functions import uniform as uniform
from ptxgen.tracing.handles.clusters import cluster_arrive as cluster_arrive
from ptxgen.tracing.handles.clusters import cluster_sync as cluster_sync
from ptxgen.tracing.handles.clusters import cluster_wait as cluster_wait
from ptxgen.tracing.handles.clusters import mapa as mapa
from ptxgen.tracing.handles.groups import elect as elect
from ptxgen.tracing.handles.groups import named_barrier as named_barrier
from ptxgen.tracing.handles.groups import setmaxnreg as setmaxnreg
from ptxgen.tracing.handles.groups import syncthreads as syncthreads
from ptxgen.tracing.handles.groups import warp_uniform as warp_uniform
from ptxgen.tracing.handles.groups import wgmma_commit as wgmma_commit
from ptxgen.tracing.handles.groups import wgmma_fence as wgmma_fence
from ptxgen.tracing.handles.groups import wgmma_wait as wgmma_wait
from ptxgen.tracing.handles.mbarriers import mbarrier as mbarrier
from ptxgen.tracing.handles.ordering import bulk_commit as bulk_commit
from ptxgen.tracing.handles.ordering import bulk_wait as bulk_wait
from ptxgen.tracing.handles.ordering import cp_async_commit as cp_async_commit
from ptxgen.tracing.handles.ordering import cp_async_wait as cp_async_wait
from ptxgen.tracing.handles.ordering import fence as fence
from ptxgen.tracing.handles.ordering import fence_mbarrier_init as fence_mbarrier_init
from ptxgen.tracing.handles.ordering import fence_proxy_async as fence_proxy_async
from ptxgen.tracing.handles.ordering import griddepcontrol as griddepcontrol
from ptxgen.tracing.handles.pipeline import pipeline_state as pipeline_state
from ptxgen.tracing.handles.tensor_memory import tcgen05_commit as tcgen05_commit
from ptxgen.tracing.handles.tensor_memory import tcgen05_fence as tcgen05_fence
from ptxgen.tracing.handles.tensor_memory import tcgen05_wait as tcgen05_wait
from ptxgen.tracing.handles.tensor_memory import tensor_memory as tensor_memory
from ptxgen.tracing.marks import negated as negated
from ptxgen.tracing.marks import part as part
from ptxgen.tracing.module_data import const as const
from ptxgen.tracing.module_data import global_ as global_
from ptxgen.tracing.raw import ptx as ptx
from ptxgen.tracing.raw import sink as sink
from ptxgen.tracing.registers import reg as reg
from ptxgen.tracing.specials import ctaid as ctaid
from ptxgen.tracing.specials import nctaid as nctaid
from ptxgen.tracing.specials import ntid as ntid
from ptxgen.tracing.specials import sreg as sreg
from ptxgen.tracing.specials import tid as tid
from ptxgen.tracing.storage import local as local
from ptxgen.tracing.storage import shared as shared

__version__: str
pred: Type
b8: Type
b16: Type
b32: Type
b64: Type
b128: Type
u8: Type
u16: Type
u32: Type
u64: Type
s8: Type
s16: Type
s32: Type
s64: Type
f16: Type
bf16: Type
tf32: Type
f32: Type
f64: Type
f16x2: Type
bf16x2: Type
f32x2: Type
u16x2: Type
s16x2: Type
u8x4: Type
s8x4: Type
e4m3x2: Type
e5m2x2: Type
ue8m0x2: Type
s2f6x2: Type
e3m2x2: Type
e2m3x2: Type
e2m1x2: Type
e4m3x4: Type
e5m2x4: Type
ue8m0x4: Type
e3m2x4: Type
e2m3x4: Type
e2m1x4: Type
texref: Type
samplerref: Type
surfref: Type
e4m3: Type
e5m2: Type
ue8m0: Type
s2f6: Type
e3m2: Type
e2m3: Type
e2m1: Type
s4: Type
u4: Type
b1: Type
b4: Type
b6: Type
