"""Each dense product, with operands laid out as its atoms say, multiplies matrices: in the emulator, and on a GPU bit for bit.

The matrices hold small integers drawn at random, so that every product is exact and any two elements in each other's place show.
"""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION, lowest_target
from ptxgen.instructions.types import Type, type_named
from ptxgen.text import read
from tests.instructions.test_fragments import PRODUCTS, QUARTERS, owners

DEVICE = "sm_90"
INTEGERS = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2), "s32": (-1000, 1000)}


def draw(of: Type, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Integers that a type holds exactly, and whose sums an accumulator does."""
    return rng.integers(*INTEGERS.get(of.name, (-3, 4)), size=shape)


def bits_of(values: np.ndarray, of: Type) -> np.ndarray:
    """The bits of numbers in a type."""
    if of.name == "tf32":
        of = type_named("f32")
    if of.is_float:
        return values.astype(of.numpy).view(f"u{values.astype(of.numpy).itemsize}").astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) & np.uint64((1 << of.bits) - 1)


def numbers_of(bits: np.ndarray, of: Type) -> np.ndarray:
    return bits.astype(f"u{of.bits // 8}").view(of.numpy).astype(np.float64)


class Fragment:
    """The registers of one operand in all lanes: an element's bits lie where the atom says."""

    def __init__(self, match: Match, name: str) -> None:
        contract = match.entry.operands[name]
        self.element = type_named(match.value({"a": ".atype", "b": ".btype", "c": ".ctype", "d": ".dtype"}[name]))
        self.count = match.count(contract.vector)
        self.width = max(32, match.type(contract.type).bits)
        self.lanes, slots = owners(match, name)
        bytewise = ".kind" in match.bindings and name in "ab"
        places = slots * (8 if bytewise else self.element.bits)
        middle = 2 if bytewise and self.element.bits == 4 else 0  # four bits lie in bits 2 to 5 of their byte
        self.registers, self.shifts = places // self.width, (places % self.width + middle).astype(np.uint64)

    def pack(self, values: np.ndarray) -> np.ndarray:
        """(32, registers) of the registers' bits."""
        packed = np.zeros((32, self.count), f"u{self.width // 8}")
        bits = (bits_of(values, self.element) << self.shifts).astype(packed.dtype)
        np.bitwise_or.at(packed, (self.lanes, self.registers), bits)
        return packed

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        mask = np.uint64((1 << self.element.bits) - 1)
        return numbers_of((packed[self.lanes, self.registers].astype(np.uint64) >> self.shifts) & mask, self.element)


def module_text(match: Match, target: str) -> str:
    """An entry that loads each lane's registers, multiplies, and stores the result's."""
    parts = {name: Fragment(match, name) for name in "dabc"}
    loads = []
    for name, part in parts.items():
        loads.append(f"ld.param.u64 %rd{name}, [{name}]; mad.wide.u32 %rd{name}, %lane, {part.count * part.width // 8}, %rd{name};")
        if name != "d":
            loads += [f"ld.global.b{part.width} %{name}{i}, [%rd{name}+{i * part.width // 8}];" for i in range(part.count)]
    vectors = ["{" + ", ".join(f"%{name}{i}" for i in range(part.count)) + "}" for name, part in parts.items()]
    stores = [f"st.global.b{parts['d'].width} [%rdd+{i * parts['d'].width // 8}], %d{i};" for i in range(parts["d"].count)]
    registers = " ".join(f".reg .b{part.width} %{name}<{part.count}>; .reg .b64 %rd{name};" for name, part in parts.items())
    version = max(match.version, FIRST_VERSION[target])
    return "\n".join([
        f".version {version[0]}.{version[1]}", f".target {target}", ".address_size 64",
        f".visible .entry k({', '.join(f'.param .u64 {name}' for name in 'dabc')})", "{", registers, ".reg .b32 %lane;",
        "mov.u32 %lane, %laneid;", *loads, f"{match.opcode} {', '.join(vectors)};", *stores, "ret;", "}", "",
    ])  # fmt: skip


class Problem:
    """Random matrices for one product, what registers they lie in, and the result that NumPy gives."""

    def __init__(self, match: Match) -> None:
        rng = np.random.default_rng(len(match.opcode))
        self.result = Fragment(match, "d")
        drawn = {}
        self.arrays = [np.zeros((32, self.result.count), f"u{self.result.width // 8}")]
        for name in "abc":
            part = Fragment(match, name)
            drawn[name] = draw(part.element, part.lanes.shape, rng)
            self.arrays.append(part.pack(drawn[name]))
        a, b = drawn["a"][..., :, None, :], drawn["b"][..., None, :, :]
        product = (a ^ b if ".xor" in match.opcode else a & b) if self.bitwise(match) else a * b
        self.expected = product.sum(-1) + drawn["c"]

    @staticmethod
    def bitwise(match: Match) -> bool:
        return match.value(".atype") == "b1"


EVERY = [*PRODUCTS, *QUARTERS]


@pytest.mark.parametrize("match", EVERY, ids=lambda match: match.opcode)
def test_products_multiply_in_the_emulator(match: Match) -> None:
    problem = Problem(match)
    text = module_text(match, lowest_target(match.targets))
    emulate(read(text), "k", grid=1, block=32, arguments=problem.arrays).raise_for_reports()
    np.testing.assert_array_equal(problem.result.unpack(problem.arrays[0]), problem.expected)


@pytest.mark.gpu
@pytest.mark.parametrize("match", [one for one in EVERY if DEVICE in one.targets], ids=lambda match: match.opcode)
def test_products_multiply_on_the_gpu(match: Match) -> None:
    from tests.instructions.device import launch

    problem = Problem(match)
    launch(module_text(match, DEVICE), "k", problem.arrays)
    np.testing.assert_array_equal(problem.result.unpack(problem.arrays[0]), problem.expected)
