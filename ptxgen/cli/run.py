"""``ptxgen run``: executes an entry of a foreign text on arguments from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen import ir
from ptxgen.cli.device import DeviceArray, device_name, synchronize
from ptxgen.cli.output import UsageError
from ptxgen.cli.values import Given, parse_argument, parse_dims
from ptxgen.kernels.foreign import ForeignEntry, ForeignModule, load_ptx
from ptxgen.layouts.errors import PtxgenError
from ptxgen.runtime.driver import no_gpu_reason
from ptxgen.runtime.errors import NoGpuError
from ptxgen.runtime.signature import BytesParam, PointerParam

__all__ = ["RunOptions", "run_file"]


class RunOptions(NamedTuple):
    """The command's options as they were typed."""

    entry: str | None
    grid: str
    block: str | None
    shared: int
    arguments: Sequence[str]
    emulate: bool | None
    seed: int
    save: Sequence[str]


def run_file(file: Path, options: RunOptions) -> int:
    """Run, print a summary of every array, and save what was asked for; 1 where the emulator reports something."""
    module = load_ptx(file.read_text(encoding="utf-8", errors="replace"), filename=str(file))
    entry = _entry(module, options.entry, str(file))
    function = module.module.functions[entry.name]
    random = np.random.default_rng(options.seed)
    given = [parse_argument(text, random) for text in options.arguments]
    _check_count(entry, function, given, file, options.block)
    block = _block(function, options.block, file)
    arguments = [_argument(param, formal, one) for param, formal, one in zip(entry.signature.params, function.params, given)]
    saved = [_save_to(text, given) for text in options.save]
    grid = parse_dims(options.grid, "--grid")
    before = [None if one.array is None else one.array.copy() for one in given]
    images = any(one.image is not None for one in given)
    status = _execute(entry, arguments, grid, block, options, images)
    for place, (formal, one, old) in enumerate(zip(function.params, given, before)):
        if one.array is not None and old is not None:
            print(_summary(place, formal.name, one, getattr(arguments[place], "array", arguments[place]), old))
    for place, path in saved:
        array, like = getattr(arguments[place], "array", arguments[place]), given[place].array
        assert like is not None
        np.save(path, array.view(like.dtype))
    return status


def _execute(entry: ForeignEntry, arguments: list[Any], grid: Any, block: Any, options: RunOptions, images: bool) -> int:
    """Run in the emulator or on the GPU; arrays among `arguments` are changed in place. `images` are the emulator's alone."""
    reason = "as asked for" if options.emulate else "textures and surfaces are its own" if images else no_gpu_reason()
    if options.emulate is False and reason is not None:
        because = reason.replace("its own", "the emulator's")
        raise NoGpuError(f"no GPU can be used: {because}; leave out --gpu to run in the emulator")
    if reason is not None:
        result = entry.emulate(*arguments, grid=grid, block=block, shared=options.shared, seed=options.seed)
        print(f"ran {entry.name} in the emulator ({reason}): {result.threads} threads, {result.instructions} instructions")
        for report in result.reports:
            print(f"  {report}")
        return 0 if result.ok else 1
    placed = [DeviceArray(one) if isinstance(one, np.ndarray) else one for one in arguments]
    entry.launch(*placed, grid=grid, block=block, shared=options.shared)
    synchronize()
    for one, host in zip(placed, arguments):
        if isinstance(one, DeviceArray):
            host[...] = one.numpy()
    print(f"ran {entry.name} on {device_name()}")
    return 0


# ---- what to run ------------------------------------------------------------------------------------------------------


def _entry(module: ForeignModule, name: str | None, file: str) -> ForeignEntry:
    if name is not None:
        return module[name]
    if len(module) == 1:
        return next(iter(module.values()))
    if not module:
        raise UsageError(f"{file} has no entry to run")
    raise UsageError(f"{file} has several entries; name one with --entry: {', '.join(module)}")


def _block(function: ir.Function, given: str | None, file: Path) -> tuple[int, ...]:
    if given is not None:
        return parse_dims(given, "--block")
    fixed = _fixed_block(function)
    if fixed:
        return fixed
    raise UsageError(f"{function.name} in {file} does not say how many threads a block has; name them, e.g. --block 128")


def _fixed_block(function: ir.Function) -> tuple[int, ...]:
    """What ``.reqntid`` says; empty where it does not stand."""
    for directive in function.directives:
        if isinstance(directive, ir.Directive) and directive.name == "reqntid":
            return tuple(int(size) for size in directive.arguments)
    return ()


# ---- arguments --------------------------------------------------------------------------------------------------------


def _check_count(entry: ForeignEntry, function: ir.Function, given: Sequence[Given], file: Path, block: str | None) -> None:
    params = entry.signature.params
    if len(given) == len(params):
        return
    lines = [f"{entry.name} has {len(params)} parameter{'' if len(params) == 1 else 's'}, {len(given)} --arg given:"]
    lines += [f"  {place}  {_declared(formal):40} {_takes(param)}" for place, (param, formal) in enumerate(zip(params, function.params))]
    example = " ".join(f"--arg '{_example(param, formal)}'" for param, formal in zip(params, function.params))
    shape = f"--block {block or 128} " if block or not _fixed_block(function) else ""
    lines.append(f"for example: ptxgen run {file} --entry {entry.name} --grid 1 {shape}{example}".rstrip())
    raise UsageError("\n".join(lines))


def _declared(formal: ir.Variable) -> str:
    dims = "".join(f"[{extent}]" for extent in formal.dims)
    align = f" .align {formal.align}" if formal.align else ""
    return f".param{align} .{formal.type} {formal.name}{dims}"


def _takes(param: Any) -> str:
    if isinstance(param, PointerParam):
        return "an array (f32[1024]=arange), or a 64-bit number (u64=1000)"
    if isinstance(param, BytesParam):
        return f"{param.size} bytes (bytes={'00' * min(param.size, 4)}...)"
    return f"a number ({param.dtype.name}={'1.5' if param.dtype.is_float else '1000'})"


def _example(param: Any, formal: ir.Variable) -> str:
    if isinstance(param, PointerParam):
        return "f32[1024]=arange" if formal.type in ("u64", "b64") else f"{formal.type}=1000"
    if isinstance(param, BytesParam):
        return f"bytes={'00' * param.size}"
    return f"{param.dtype.name}={'1.5' if param.dtype.is_float else '1000'}"


def _argument(param: Any, formal: ir.Variable, given: Given) -> Any:
    """What the entry takes: an array of plain bits, a number, or bytes."""
    if isinstance(param, BytesParam):
        if given.content is None:
            raise UsageError(f"--arg {given.text}: {formal.name} is a structure of {param.size} bytes; write bytes=...")
        return given.content
    if given.content is not None:
        raise UsageError(f"--arg {given.text}: {formal.name} is no structure; it takes {_takes(param)}")
    if given.array is not None:
        if not isinstance(param, PointerParam):
            raise UsageError(f"--arg {given.text}: {formal.name} is a .{formal.type}; it takes {_takes(param)}")
        if given.image is not None:
            return _image(given)
        return given.array.view(f"u{given.array.dtype.itemsize}").copy()
    return _scalar(param, formal, given)


def _image(given: Given) -> Any:
    from ptxgen.emulator.images import Surface, Texture

    assert given.array is not None and given.image is not None
    kind, words = given.image
    try:
        return (Texture if kind == "texture" else Surface)(given.array.copy(), **words)
    except PtxgenError as error:
        raise UsageError(f"--arg {given.text}: {error}") from None


def _scalar(param: Any, formal: ir.Variable, given: Given) -> Any:
    """A number whose type agrees with the parameter's, as a register's would; a float for untyped bits is given by its bits."""
    from ptxgen.instructions.checking import fits
    from ptxgen.instructions.types import TYPES

    assert given.type is not None
    wanted = TYPES[formal.type]
    if not fits(given.type, wanted):
        raise UsageError(f"--arg {given.text}: {formal.name} is a .{formal.type}; it takes {_takes(param)}")
    if given.type.is_float and not wanted.is_float:
        bits = np.array(given.number).astype(given.type.numpy).view(f"u{given.type.bits // 8}")
        return int(bits)
    if wanted.is_float and not given.type.is_float:
        return float(np.array(given.number, f"u{wanted.bits // 8}").view(wanted.numpy))
    low, high = (-(1 << wanted.bits - 1), (1 << wanted.bits) - 1) if not wanted.is_float else (0, 0)
    if not wanted.is_float and not low <= given.number <= high:
        raise UsageError(f"--arg {given.text}: {given.number} does not fit {wanted.bits} bits")
    if not wanted.is_float:
        unsigned = given.number & (1 << wanted.bits) - 1
        return unsigned - (1 << wanted.bits) if wanted.signed and unsigned >> (wanted.bits - 1) else unsigned
    return given.number


# ---- results ----------------------------------------------------------------------------------------------------------


def _save_to(text: str, given: Sequence[Given]) -> tuple[int, str]:
    place, _, path = text.partition("=")
    if not place.isdigit() or not path or int(place) >= len(given) or given[int(place)].array is None:
        arrays = ", ".join(str(number) for number, one in enumerate(given) if one.array is not None)
        raise UsageError(f"--save {text}: write N=FILE.npy, N the number of an array argument: {arrays or 'there is none'}")
    return int(place), path


def _summary(place: int, name: str, given: Given, bits: NDArray[Any], before: NDArray[Any]) -> str:
    """Two lines: what changed, and some values with their smallest, mean and largest."""
    values = bits.view(before.dtype)
    changed = int(np.count_nonzero(bits != before.view(bits.dtype)))
    what = f"changed {changed} of {values.size}" if changed else "unchanged"
    shape = ",".join(map(str, values.shape))
    return f"{place} {name}  {given.type}[{shape}]  {what}\n  {_values(values)}"


def _values(values: NDArray[Any]) -> str:
    if not values.size:
        return "[]"
    flat = values.reshape(-1)
    shown = [
        str(int(one)) if flat.dtype.kind in "iu" else f"{float(one):g}" for one in (flat if flat.size <= 8 else (*flat[:4], *flat[-4:]))
    ]
    if flat.size > 8:
        shown.insert(4, "...")
    text = ", ".join(shown)
    numbers = flat.astype(np.float64)
    nans = int(np.count_nonzero(np.isnan(numbers)))
    finite = numbers[~np.isnan(numbers)]
    if not finite.size:
        return f"[{text}]  all NaN"
    with np.errstate(all="ignore"):
        tail = f"min {finite.min():g}  mean {finite.mean():g}  max {finite.max():g}"
    return f"[{text}]  {tail}" + (f"  NaN {nans}" if nans else "")
