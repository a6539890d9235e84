"""What operands mean that many instructions share, by the names that the contracts give them; a contract's `meaning` may say more."""

from __future__ import annotations

__all__ = ["OPERANDS"]

_MATRIX_A = "The descriptor of matrix A in shared memory; behind what ordinary stores wrote there stands a fence.proxy.async."
_MATRIX_B = "The descriptor of matrix B in shared memory, written columns by k; as that of A."
_SIGN = "1, or -1 to negate {}."
_TRANSPOSED = "1 where {} lies along its rows or columns (MN-major) instead of along k; 16-bit types alone."
_SCALES = (
    "Scale factors of {}, bytes in tensor memory: row 32q + i (of B, a column of the product) has lane i of column q, a byte for each "
    "block of k; and the same in lanes 32 + i, 64 + i and 96 + i."
)

_METADATA = (
    "Four bits for each chunk of a row, in order: a chunk is four elements, of which the two that are kept stood where bits 0-1 and 2-3 "
    "say; of .tf32 two elements, 0b0100 for the first and 0b1110 for the second; of kinds of 4 bits alone, four pairs."
)

OPERANDS = {
    "cache_policy": "An L2 eviction policy that createpolicy made.",
    "membermask": "The lanes that take part, bit i for lane i: each waits for all of them, and the executing one must be among them.",
    "mask": "Lanes of the warp, bit i for lane i.",
    # wgmma and tcgen05
    "a_desc": _MATRIX_A,
    "b_desc": _MATRIX_B,
    "a_tmem": "The address of matrix A in tensor memory.",
    "d_tmem": "The address of the accumulators in tensor memory: lane in bits 16-31, column in bits 0-15; 128 rows are a lane each.",
    "taddr": "An address in tensor memory: lane in bits 16-31, column in bits 0-15.",
    "scale_d": "False to start from zero: D = A x B; true to add: D = A x B + D.",
    "enable_input_d": "False to start from zero: D = A x B; true to add: D = A x B + D.",
    "scale_input_d": "D is divided by 2 to this power before the product is added.",
    "imm_scale_a": _SIGN.format("A"),
    "imm_scale_b": _SIGN.format("B"),
    "imm_trans_a": _TRANSPOSED.format("A"),
    "imm_trans_b": _TRANSPOSED.format("B"),
    "sp_meta": f"Metadata of A. {_METADATA}",
    "sp_sel": "Which lanes of every four give the metadata.",
    "sp_meta_tmem": f"The metadata of A in tensor memory. {_METADATA}",
    "idesc": "The instruction descriptor: types, shape, majors and negations, packed into 32 bits.",
    "disable_output_lane": "Lanes of the accumulators that are not to be written, a bit each: 128 for one block, 256 for a pair.",
    "scale_a_tmem": _SCALES.format("A"),
    "scale_b_tmem": _SCALES.format("B"),
    "zero_column_mask_desc": "Which columns of B count as zero, in turns; bit 39: 0 for none; bits 40-47 columns that are zero at a time, "
    "less one; bits 48-55 columns that are used at a time, less one; bits 56-61 the first column of B that is taken. Part i of the columns "
    "(M = 128 has one, 64 two, 32 four) begins inside a turn: in byte i how many of its columns are left out, in bit 32 + i whether it is "
    "one of zeros.",
    "imm_half_split_off": "How many columns further on the second half of the lanes begins.",
    "redval": "The least or greatest of the values that the thread loads.",
    "s_desc": "The descriptor of a matrix in shared memory.",
    "n_cols": "Columns: a power of two from 32 to 512.",
    # mma
    "scale_a": "Scale factors of A, bytes of a register of the lanes that the selector names.",
    "scale_b": "Scale factors of B, bytes of a register of the lanes that the selector names.",
    "selector_a": "{byte, pair}: the scales of row g begin at that byte of lane 4g + 2 * pair, those of row g + 8 in the lane behind it.",
    "selector_b": "{byte, lane}: the scales of column g begin at that byte of lane 4g + lane.",
    "selector": "Which lanes of every four give the metadata.",
    "stride": "Elements from one row (or column) of the matrix in memory to the next.",
    # copies
    "mbar": "The mbarrier that is told of the bytes that arrived.",
    "dst_mem": "Where the copy goes.",
    "src_mem": "Where the copy comes from.",
    "dst": "Where it goes.",
    "src": "Where it comes from.",
    "size": "Bytes: a multiple of 16.",
    "cp_size": "Bytes that are written.",
    "src_size": "Bytes that are read; the rest of what is written is zeros.",
    "ignore_src": "True to read nothing and write zeros.",
    "byte_mask": "Which of every 16 bytes are copied, a bit each.",
    "cta_mask": "The blocks of the cluster that receive it, bit i for rank i; at the same place in each.",
    "wide_mask": "The blocks of the cluster that receive it, bit i for rank i.",
    "tensor_map": "The generic address of a tensor map of 128 bytes.",
    "tensor_coords": "Where the box begins, innermost coordinate first; outside the tensor zeros are read and nothing is written.",
    "im2col_info": "How far the box's pixels lie from where the filter begins: w, then h and d where the tensor has them; with .im2col::w "
    "the halo along w, then the offset.",
    "ignore_bytes_left": "Bytes at the beginning that are not copied.",
    "ignore_bytes_right": "Bytes at the end that are not copied.",
    "global_address": "Where the tensor begins in global memory, instead of where its map says.",
    "tensor_size": "The tensor's extents, a byte each, innermost first.",
    "lower_strides": "Bits 0 to 31 of each stride in 16 bytes, that of dimension 1 first.",
    "upper_strides": "Bits 32 to 35 of each stride, four bits each.",
    "endpoint": "The logical endpoint of the fabric.",
    "offset": "Bytes into what the endpoint stands for.",
    "counter": "A counter of the endpoint that is told.",
    # mbarriers
    "addr": "The object in memory.",
    "every": "An mbarrier; the one at the same offset in each block of the mask is meant.",
    "remote": "An mbarrier of any block of the cluster, whose address mapa gives.",
    "_": "No state is returned.",
    "report_predicate": "Whether a copy has reported anything.",
    "report_value": "What copies have reported.",
    "count": "Arrivals.",
    "tx_count": "Bytes that are to arrive before the phase completes.",
    "state": "The phase in which the thread arrived, as mbarrier.arrive gives it.",
    "phase_parity": "The parity of the phase that is waited for: 0 for the first.",
    "wait_complete": "Whether the phase has completed.",
    "suspend_time_hint": "Nanoseconds after which it may give up.",
    # atomics, selection, textures
    "immLut": "The truth table: the value of the function on a = 0xF0, b = 0xCC, c = 0xAA.",
    "lod": "The level of detail.",
    "dPdx": "The derivatives of the coordinates along x.",
    "dPdy": "The derivatives of the coordinates along y.",
    "rbits": "Random bits that decide how what is cut off rounds.",
    "targets": "The list or prototype of what may be reached.",
    "imm_reg_count": "Registers a thread: a multiple of 8 from 24 to 256.",
    "immAlign": "Bytes, a power of two, that divide the address.",
    "ballot": "Bit i is what lane i gave.",
}
"""By operand name."""
