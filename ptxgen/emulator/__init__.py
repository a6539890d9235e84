"""The emulator: runs PTX on the CPU, many threads at once, bit for bit.

============= ====================================================================================================================
emulate       the door: a launch on NumPy arrays
program       variables placed, functions found
code          one function: flattened, every instruction compiled to a closure once
lowering      from an instruction to its closure: form, operands, guard
operands      what reads a register or constant for a set of threads, and what writes a destination
scopes        what names mean
variables     sizes, layouts, initialisers
machine       a wave of blocks: register files and the loop that runs groups of threads
schedule      groups by program counter, the seeded, fair choice among them
barriers      barriers of a block and of a warp; `clusters` those of a cluster
mbarrier      barriers that are objects in shared memory: phases, who sleeps on them, who is stuck
asynchronous  copies in flight and when they land; `asynchronous_bulk` what bulk copies move, `tensormap` which boxes
hazards       races in shared memory and missing proxy fences, by the vector clocks of `hazards_clocks`
rendezvous    instructions that a warp or warpgroup executes together; `collectives` those that exchange values
inflight      registers that asynchronous instructions use, poison until their wait
descriptors   matrices in shared memory, as the tensor cores address them
warpgroup     groups and fences of wgmma
tensor_memory cells of tensor memory; `tensor_operands`, `tensor_products` what one thread issues to the tensor cores
calls         arguments, results and returns
memory        state spaces, regions, vectorised accesses, shadow state
threads       thread indices and special registers
reports       what is found, and the result
semantics     what each instruction does, one module a family of the ISA
numerics      the arithmetic itself
============= ====================================================================================================================
"""

from ptxgen.emulator.emulate import emulate
from ptxgen.emulator.reports import EmulationError, EmulationResult, Report

__all__ = ["EmulationError", "EmulationResult", "Report", "emulate"]
