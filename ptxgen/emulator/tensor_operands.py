"""What one thread issues to the tensor cores: products, copies from shared memory, shifts; each pair of blocks with cta_group::2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.clusters import cluster_map
from ptxgen.emulator.descriptors import BLACKWELL, CHUNK, Fields, decode, matrix_addresses, read_chunks
from ptxgen.emulator.metadata import expanded, first_fault
from ptxgen.emulator.numerics.matrix import MatrixOp, matrix_product, scaled_product
from ptxgen.emulator.operands import Array, Get
from ptxgen.emulator.tensor_memory import LANES, Cells, Operation
from ptxgen.emulator.tensor_products import (
    Part,
    Product,
    decode_instruction,
    decode_scaled,
    first_column,
    lanes_of,
    unpack,
    zero_columns,
)
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.lowering import Lowering
    from ptxgen.emulator.machine import Wave

__all__ = ["ScaledTensorProduct", "TensorCopy", "TensorProduct", "TensorShift"]

_ROW = 32
"""Bytes of a row of A that an instruction takes; where A is sparse a row of B has twice as many."""

_NUMPY: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "s32": np.int32}


class _Issued:
    """What such instructions share: the blocks that take part, descriptors, reports."""

    def __init__(self, low: Lowering, group: int) -> None:
        assert isinstance(low.statement, Instruction)
        self.statement = low.statement
        self.group = group

    def blocks(self, wave: Wave, thread: int) -> list[int]:
        """The issuing thread's block alone, or its pair in the order of ranks."""
        own = int(wave.threads.block[thread])
        if self.group == 1:
            return [own]
        clusters = cluster_map(wave.threads)
        rank, ranks = int(clusters.rank[own]), clusters.blocks[clusters.cluster[own]]
        if rank | 1 >= len(ranks):
            self.report(wave, thread, "tensor memory", "cta_group::2 takes a cluster of at least two blocks, and this block has no partner")
            return []
        return [int(ranks[rank & ~1]), int(ranks[rank | 1])]

    def report(self, wave: Wave, thread: int, kind: str, message: str) -> None:
        wave.reports.add(kind, message, self.statement, wave.threads, np.array([thread]), subject=message[:24])

    def begin(self, wave: Wave, thread: int) -> Operation:
        wave.tensor_memory.same_group(self.group, self.statement, thread)
        return wave.tensor_memory.begin(self.statement, thread, self.group)

    def fields(self, wave: Wave, thread: int, word: int, name: str) -> Fields | None:
        found = decode(word, BLACKWELL)
        if isinstance(found, str):
            self.report(wave, thread, "descriptor", f"the descriptor of {name} is {word:#018x}: {found}")
            return None
        return found

    def chunks(self, wave: Wave, operation: Operation, block: int, address: Array, name: str) -> Array:
        """The bytes at shared addresses of one block, shape (*address.shape, 16)."""
        readers = np.array([operation.thread])
        reading = read_chunks(wave, self.statement, readers, np.array([block]), address, name)
        if wave.checks and reading.first.size:
            region, wait = wave.memory.spaces["shared"], "a wait for the mbarrier that its tcgen05.commit tells"
            wave.hazards.source_reading(self.statement, readers, region, reading.first, CHUNK, wait)
            operation.reads.append(reading.first)
        return reading.data[0]


def _place(word: int) -> tuple[int, int]:
    """Lane and column of an address of tensor memory."""
    return word >> 16 & 0xFFFF, word & 0xFFFF


class TensorProduct(_Issued):
    """``tcgen05.mma`` and ``tcgen05.mma.ws``, dense and ``.sp``, without scales."""

    def __init__(self, low: Lowering, group: int) -> None:
        super().__init__(low, group)
        named, u64, u32 = low.named, type_named("u64"), type_named("u32")
        self.kind = low.match.value(".kind").partition("::")[2]
        self.shifted = ".ashift" in low.match.bindings
        self.stationary, self.sparse = ".ws" in low.match.bindings, "sp_meta_tmem" in named
        self.metadata = low.address(named["sp_meta_tmem"], "tensor")[1] if self.sparse else None
        self.zeros = low.source(named["zero_column_mask_desc"], u64) if "zero_column_mask_desc" in named else None
        self.d = low.address(named["d_tmem"], "tensor")[1]
        self.a_in_tensor_memory = "a_tmem" in named
        self.a = low.address(named["a_tmem"], "tensor")[1] if self.a_in_tensor_memory else low.source(named["a_desc"], u64)
        self.b = low.source(named["b_desc"], u64)
        self.idesc = low.source(named["idesc"], u32)
        self.adds = low.source(named["enable_input_d"], type_named("pred"))
        lanes = named.get("disable_output_lane")
        self.off: list[Get] = [] if lanes is None else [low.source(item, u32) for item in low.elements(lanes)]
        scale = named.get("scale_input_d")
        self.scale = 1.0 if scale is None else 2.0**-scale.value

    def issue(self, wave: Wave, frame: Frame, thread: int) -> None:
        one = np.array([thread])
        d, a, b, idesc = (int(get(wave, frame, one)[0]) for get in (self.d, self.a, self.b, self.idesc))
        product = self._decode(wave, frame, one, idesc)
        if isinstance(product, str):
            self.report(wave, thread, "descriptor", f"the instruction descriptor is {idesc:#010x}: {product}")
            return
        blocks = self.blocks(wave, thread)
        if not blocks or not self._placed(wave, thread, d, product):
            return
        operation = self.begin(wave, thread)
        metadata = 0 if self.metadata is None else int(self.metadata(wave, frame, one)[0])
        zeros = 0 if self.zeros is None else int(self.zeros(wave, frame, one)[0])
        right = self._right(wave, operation, blocks, b, product, zeros)
        if right is None:
            return
        adds = bool(self.adds(wave, frame, one)[0])
        words = np.array([get(wave, frame, one)[0] for get in self.off], np.uint32)
        off = np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.bool_).reshape(-1, LANES)
        for number, block in enumerate(blocks):
            silent = off[number] if len(off) else None
            self._multiply(wave, operation, block, (d, a, metadata), right, product, adds, silent)

    def _decode(self, wave: Wave, frame: Frame, one: Array, idesc: int) -> Product | str:
        """What the instruction descriptor says, or what is wrong with it."""
        return decode_instruction(idesc, self.kind, self.group, self.stationary, self.sparse)

    def _placed(self, wave: Wave, thread: int, d: int, product: Product) -> bool:
        """Whether D begins at a lane that its layout may begin at."""
        lane, _ = _place(d)
        allowed = (0, 16) if product.m == 64 and not self.stationary else (0,)
        if lane not in allowed:
            told = " or ".join(map(str, allowed))
            self.report(wave, thread, "tensor memory", f"D begins at lane {lane}; with M = {product.m} it is {told}")
        return lane in allowed

    def _matrix(
        self,
        wave: Wave,
        operation: Operation,
        block: int,
        word: int,
        extent: tuple[int, int],
        k_major: bool,
        of: str,
        name: str,
        packed: bool = False,
    ) -> Array | None:
        """A matrix of so many rows of so many bytes in the shared memory of one block: shape (rows, K)."""
        rows, width = extent
        fields = self.fields(wave, operation.thread, word, name)
        if fields is None:
            return None
        element = {"f16": 2, "bf16": 2, "tf32": 4}.get(of, 1)
        address = matrix_addresses(fields, k_major=k_major, rows=rows, depth=width // element, element=element)
        elements = unpack(self.chunks(wave, operation, block, address, name), of, packed)
        return elements.reshape(rows, -1) if k_major else elements.transpose(0, 2, 1).reshape(-1, elements.shape[1])[:rows]

    def _right(self, wave: Wave, operation: Operation, blocks: list[int], word: int, product: Product, zeros: int) -> Array | None:
        """B: shape (N, K); each block of a pair holds half of its rows. `zeros` is a zero-column mask, where there is one."""
        first = first_column(zeros)
        extent = first + product.n // len(blocks), _ROW * (1 + self.sparse)
        parts = [self._matrix(wave, operation, block, word, extent, product.b_k_major, product.b, "B", product.packed) for block in blocks]
        if any(part is None for part in parts):
            return None
        matrix: Array = np.concatenate([part[first:] for part in parts])  # type: ignore[index]
        if zeros:
            matrix = np.where(zero_columns(zeros, product.m, product.n)[:, None], matrix.dtype.type(0), matrix)
        return product.signs(matrix, product.b) if product.negate_b else matrix

    def _left(self, wave: Wave, operation: Operation, block: int, word: int, product: Product, part: Part) -> Array | None:
        """The rows of A that a part of D takes, of a sparse one what is kept: shape (rows, elements)."""
        if not self.a_in_tensor_memory:
            extent = len(part.lane), _ROW
            matrix = self._matrix(wave, operation, block, word, extent, product.a_k_major, product.a, "A", product.packed)
        elif product.a in ("e2m3", "e3m2", "e2m1") and not product.packed:
            self.report(wave, operation.thread, "not emulated", f"A of {product.a} in tensor memory is not emulated")
            return None
        else:
            lane, column = _place(word)
            lanes = np.append(part.a_lane[1:], part.a_lane[-1]) if self.shifted else part.a_lane
            cells = Cells(block, (lane + lanes)[:, None], column + np.arange(8))
            words = np.ascontiguousarray(wave.tensor_memory.take(cells, self.statement, operation.thread))
            matrix = unpack(words.view(np.uint8).reshape(len(words), 2, 16), product.a, product.packed).reshape(len(words), -1)
        if matrix is None:
            return None
        return product.signs(matrix, product.a) if product.negate_a else matrix

    def _expanded(self, wave: Wave, operation: Operation, block: int, word: int, product: Product, part: Part, kept: Array) -> Array:
        """A sparse A with its zeros.

        Metadata of 16 rows lies from the lane of the first of them on. Of wide elements lane r has the first four chunks of rows r and
        r + 8, lane r + 8 the others; of narrower ones each lane has its own row's, in two columns.
        """
        lane, column = _place(word)
        first = lane + part.a_lane[:, None] - np.arange(len(part.a_lane))[:, None] % 16
        row, chunk = np.arange(len(kept))[:, None] % 16, np.arange(16)[None]
        if product.a in ("f16", "bf16", "tf32"):
            chunk = chunk[:, :8]
            lanes, columns, nibble = first + row % 8 + 8 * (chunk // 4), column + product.selector + 0 * chunk, row // 8 * 4 + chunk % 4
        else:
            lanes, columns, nibble = first + row + 0 * chunk, column + chunk // 8, chunk % 8 + 0 * row
        words = wave.tensor_memory.take(Cells(block, lanes, columns), self.statement, operation.thread)
        chunks = words >> (4 * nibble).astype(np.uint32) & 15
        dense, valid = expanded(kept[None], chunks[None], product.a, in_pairs=product.packed)
        if not valid.all():
            self.report(wave, operation.thread, "metadata", first_fault(chunks[None], valid)[1])
        return dense[0]

    def _multiplier(self, wave: Wave, operation: Operation, block: int, product: Product) -> MatrixOp:
        """The arithmetic of one block's product."""
        return matrix_product(product.a, product.b, product.d, unit="tcgen05", satfinite=product.saturates)

    def _multiply(
        self,
        wave: Wave,
        operation: Operation,
        block: int,
        words_of: tuple[int, int, int],
        right: Array,
        product: Product,
        adds: bool,
        silent: Array | None,
    ) -> None:
        """One block's part; `words_of` say where D, A and its metadata lie."""
        d, a, metadata = words_of
        multiply = self._multiplier(wave, operation, block, product)
        dtype = _NUMPY[product.d]
        lane, column = _place(d)
        for part in lanes_of(product.m, product.n, self.group, self.stationary, self.sparse):
            left = self._left(wave, operation, block, a, product, part)
            if left is None:
                return
            if self.sparse:
                left = self._expanded(wave, operation, block, metadata, product, part, left)
            count = part.columns.stop - part.columns.start
            cells = Cells(block, (lane + part.lane)[:, None], column + np.arange(count))
            before = np.zeros((len(left), count), dtype)
            if adds:
                words = np.ascontiguousarray(wave.tensor_memory.take(cells, self.statement, operation.thread))
                before = words.astype(np.uint16).view(dtype) if product.d == "f16" else words.view(dtype)
                if self.scale != 1.0:
                    before = (before * dtype(self.scale)).astype(dtype)
            total = multiply(left[None], right[part.columns][None], before[None])[0]
            words = total.view(np.uint16).astype(np.uint32) if product.d == "f16" else np.ascontiguousarray(total).view(np.uint32)
            keep = None if silent is None else silent[lane + part.lane][:, None]
            wave.tensor_memory.write(operation, cells, words, keep)


class ScaledTensorProduct(TensorProduct):
    """``tcgen05.mma`` with ``.block_scale``, dense and ``.sp``: elements of A and B are taken times the scales of their blocks along K."""

    def __init__(self, low: Lowering, group: int) -> None:
        super().__init__(low, group)
        four = low.match.value(".scale_vectorsize") in ("scale_vec::4X", "block16")
        self.vectors = 1 if self.kind == "mxf8f6f4" else 4 if four else 2
        self.places = [low.address(low.named[name], "tensor")[1] for name in ("scale_a_tmem", "scale_b_tmem")]

    def _decode(self, wave: Wave, frame: Frame, one: Array, idesc: int) -> Product | str:
        a, b = (int(get(wave, frame, one)[0]) for get in self.places)
        return decode_scaled(idesc, self.kind, self.vectors, a, b, self.group, self.sparse)

    def _multiplier(self, wave: Wave, operation: Operation, block: int, product: Product) -> MatrixOp:
        scales = product.scales
        assert scales is not None
        multiply = scaled_product(product.a, product.b, scales.type)
        of_a, of_b = (
            self._of_rows(wave, operation, block, word, first, rows, product.k)[None]
            for word, first, rows in ((scales.a, scales.a_byte, product.m // self.group), (scales.b, scales.b_byte, product.n))
        )
        return lambda left, right, before: multiply(left, right, before, of_a, of_b)

    def _of_rows(self, wave: Wave, operation: Operation, block: int, word: int, first: int, rows: int, depth: int) -> Array:
        """The scale of every element of `rows` rows; each warp's lanes have a copy of the scales."""
        lane, column = _place(word)
        row = np.arange(rows)
        cells = Cells(block, lane + 32 * np.arange(4)[:, None] + row % 32, column + row[None] // 32)
        words = np.ascontiguousarray(wave.tensor_memory.take(cells, self.statement, operation.thread))
        copies = words.view(np.uint8).reshape(4, rows, 4)[..., first : first + self.vectors]
        if (copies != copies[0]).any():
            at = int(np.argwhere((copies != copies[0]).any((0, 2)))[0, 0])
            message = f"the four copies of the scales of row {at} differ: lanes {lane + at % 32}, and 32, 64 and 96 more, hold the same"
            self.report(wave, operation.thread, "tensor memory", message)
        return np.repeat(copies[0], depth // self.vectors, axis=1)


_ROWS = {
    "128x256b": (128, 2), "128x128b": (128, 1), "4x256b": (4, 2), "64x128b": (64, 1), "32x128b": (32, 1),
}  # fmt: skip


def _targets(shape: str, multicast: str) -> list[Array]:
    """Lanes of each copy of the rows, from the address on."""
    if shape == "4x256b":
        return [np.arange(4) * 32]
    rows = np.arange(_ROWS[shape][0])
    if multicast == "warpx4":
        return [rows + 32 * warp for warp in range(4)]
    if multicast == "warpx2::02_13":
        return [rows, rows + 64]
    if multicast == "warpx2::01_23":
        return [rows // 32 * 64 + rows % 32 + 32 * warp for warp in range(2)]
    return [rows]


class TensorCopy(_Issued):
    """``tcgen05.cp``: rows that a descriptor names to lanes."""

    def __init__(self, low: Lowering, group: int) -> None:
        super().__init__(low, group)
        if ".dst_src_fmt" in low.match.bindings:
            raise low.refuse("the emulator does not unpack narrow elements", section=low.match.entry.section, legal="run it on a GPU")
        shape = low.match.value(".shape")
        self.rows, self.width = _ROWS[shape]
        self.lanes = _targets(shape, low.match.value(".multicast"))
        self.target = low.address(low.named["taddr"], "tensor")[1]
        self.source = low.source(low.named["s_desc"], type_named("u64"))

    def issue(self, wave: Wave, frame: Frame, thread: int) -> None:
        one = np.array([thread])
        word = int(self.source(wave, frame, one)[0])
        fields = self.fields(wave, thread, word, "the source")
        blocks = self.blocks(wave, thread)
        if fields is None or not blocks:
            return
        operation = self.begin(wave, thread)
        lane, column = _place(int(self.target(wave, frame, one)[0]))
        address = matrix_addresses(fields, k_major=True, rows=self.rows, depth=self.width * 16, element=1)
        for block in blocks:
            chunks = self.chunks(wave, operation, block, address, "the source")
            words = np.ascontiguousarray(chunks).view(np.uint32).reshape(self.rows, -1)
            for lanes in self.lanes:
                cells = Cells(block, (lane + lanes)[:, None], column + np.arange(words.shape[1]))
                wave.tensor_memory.write(operation, cells, words)


class TensorShift(_Issued):
    """``tcgen05.shift.down``: lane i of 32 takes 32 bytes of lane i + 1, the last one keeps its own."""

    def __init__(self, low: Lowering, group: int) -> None:
        super().__init__(low, group)
        self.target = low.address(low.named["taddr"], "tensor")[1]

    def issue(self, wave: Wave, frame: Frame, thread: int) -> None:
        lane, column = _place(int(self.target(wave, frame, np.array([thread]))[0]))
        if lane % 32:
            self.report(wave, thread, "tensor memory", f"the address names lane {lane}; a shift begins at a multiple of 32")
            return
        blocks = self.blocks(wave, thread)
        operation = self.begin(wave, thread)
        lanes, columns = lane + np.arange(31)[:, None], column + np.arange(8)
        for block in blocks:
            values = wave.tensor_memory.take(Cells(block, lanes + 1, columns), self.statement, thread)
            wave.tensor_memory.write(operation, Cells(block, lanes, columns), values)
