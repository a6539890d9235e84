"""Reads of textures, and questions about them (ISA "tex", "tld4", "txq", "istypep"). Handles are those of `ptxgen.emulator.images`.

A texture has one level of detail, which all levels and gradients stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.images import Image, Surface, Texture, image_at
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array, Get, Put
from ptxgen.emulator.sampling import gathered, sampled
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Sym

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

__all__ = ["answered", "images_of", "place_of"]

_FILTERS = ("nearest", "linear")
_MODES = {"wrap": 0, "mirror": 1, "clamp": 3, "border": 4}


def images_of(low: Lowering, of: type[Image]) -> Callable[[Wave, Frame, Any], list[tuple[Any, Array]]]:
    """Each image that threads name, and which of the threads; what is no image, or of another geometry, is reported and left out."""
    statement, operand = low.statement, low.named["a"]
    assert isinstance(statement, Instruction)
    if isinstance(operand.base, Sym):
        what = f"{operand.base.name} is bound by a driver"
        raise low.refuse(what, section=low.match.entry.section, legal=f"a register with the handle of a px.{of.__name__}")
    geometry = low.match.value(".geom") or low.match.value(".sgeom")
    _, get = low.address(operand, "")

    def find(wave: Wave, frame: Frame, index: Any) -> list[tuple[Any, Array]]:
        threads = wave.indices(index)
        handles = np.broadcast_to(get(wave, frame, index), len(threads))
        found = []
        for handle in np.unique(handles).tolist():
            chosen = np.flatnonzero(handles == handle)
            image = image_at(handle, of)
            if isinstance(image, Image) and geometry and not _fits(image, geometry, low):
                image = f"{image!r} is taken for .{geometry}"
            if isinstance(image, str):
                wave.reports.add("image", image, statement, wave.threads, threads[chosen], subject=image)
            else:
                found.append((image, chosen))
        return found

    return find


def _fits(image: Image, geometry: str, low: Lowering) -> bool:
    if image.geometry == "buffer":
        return geometry == "1d" and low.match.value(".ctype") == "s32"
    return image.geometry == geometry


def place_of(low: Lowering, name: str, geometry: str, of: str) -> Callable[[Wave, Frame, Any], tuple[Array, list[Array]]]:
    """The layer, and the coordinates along x, y and z, of each thread."""
    items = low.elements(low.named[name])
    layered = geometry.startswith("a")
    axes = int(geometry[-2]) if geometry[-1] == "d" else 0
    layer = low.source(items[0], type_named("u32")) if layered else None
    gets = [low.source(item, type_named(of)) for item in items[layered : layered + axes]]

    def place(wave: Wave, frame: Frame, index: Any) -> tuple[Array, list[Array]]:
        count = wave.count(index)
        layers = np.zeros(count, np.int64) if layer is None else np.broadcast_to(layer(wave, frame, index), count).astype(np.int64)
        return layers, [np.broadcast_to(get(wave, frame, index), count) for get in gets]

    return place


def _offsets(low: Lowering) -> list[Get]:
    return low.sources(low.named["e"], type_named("s32")) if "e" in low.named else []


@execution("texture", "tex")
def lower_fetch(low: Lowering) -> Run:
    return _read(low, low.match.value(".ctype"), lambda texture, place, layers, offsets: sampled(texture, place, layers, offsets))


@execution("texture", "tld4")
def lower_gather(low: Lowering) -> Run:
    component = "rgba".index(low.match.value(".comp"))
    return _read(low, "f32", lambda texture, place, layers, offsets: gathered(texture, place, layers, offsets, component))


def _read(low: Lowering, coordinates: str, fetch: Callable[[Texture, list[Array], Array, list[Array]], Array]) -> Run:
    match, statement = low.match, low.statement
    assert isinstance(statement, Instruction)
    geometry = match.value(".geom")
    for problem, found in (("a sampler of its own", "b"), ("a comparison of depths", "f")):
        if found in low.named:
            raise low.refuse(f"the emulator has no textures with {problem}", section=match.entry.section, legal="run it on a GPU")
    if geometry not in ("1d", "2d", "3d", "a1d", "a2d"):
        raise low.refuse(f"the emulator has no textures of .{geometry}", section=match.entry.section, legal=".1d, .2d, .3d, .a1d or .a2d")
    images, place, offsets = images_of(low, Texture), place_of(low, "c", geometry, coordinates), _offsets(low)
    of = low.operand_type("d")
    puts: list[Put] = [low.target(item, of) for item in low.elements(low.named["d"])]
    resident = low.target(low.named["p"], type_named("pred")) if "p" in low.named else None

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        count = wave.count(index)
        layers, where = place(wave, frame, index)
        more = [np.broadcast_to(get(wave, frame, index), count).astype(np.int64) for get in offsets]
        more += [np.zeros(count, np.int64)] * (len(where) - len(more))
        result = np.zeros((count, 4))
        for texture, chosen in images(wave, frame, index):
            if texture.floats != of.element.is_float:
                message = f"components of {texture!r} are {'floats' if texture.floats else 'integers'}, and are read as .{of.name}"
                wave.reports.add("image", message, statement, wave.threads, wave.indices(index)[chosen], subject=message)
                continue
            result[chosen] = fetch(texture, [one[chosen] for one in where], layers[chosen], [one[chosen] for one in more])
        for put, value in zip(puts, _components(result, of.name)):
            put(wave, frame, index, value)
        if resident is not None:
            resident(wave, frame, index, np.ones(count, np.bool_))

    return run


def _components(result: Array, of: str) -> list[Array]:
    """Four components, shape (threads, 4), as the values of the destination's registers."""
    if of == "f16x2":
        return list(np.ascontiguousarray(result.astype(np.float16)).view(np.uint32).T)
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32, "u32": np.uint32}[of]
    whole = result if of.startswith("f") else result.astype(np.int64)
    return list(whole.astype(dtype).T)


# ---- questions --------------------------------------------------------------------------------------------------------

_ANSWERS: dict[str, Callable[[Any], int]] = {
    "width": lambda image: image.extents[0],
    "height": lambda image: image.extents[1],
    "depth": lambda image: image.layers or image.extents[2],  # as an H200 answers
    "array_size": lambda image: image.layers,
    "num_mipmap_levels": lambda image: 0,
    "num_samples": lambda image: 0,
    "memory_layout": lambda image: 1,
    "normalized_coords": lambda image: int(image.normalized),
    "filter_mode": lambda image: _FILTERS.index(image.filter),
    **{f"addr_mode_{axis}": lambda image, axis=axis: _MODES[image.modes[axis]] for axis in range(3)},  # type: ignore[misc]
}


def answered(low: Lowering, of: type[Image]) -> Run:
    """A question about an image: one number for each thread."""
    asked = next(filter(None, (low.match.value(name) for name in (".tquery", ".tlquery", ".squery", ".isquery", ".query"))))
    answer = _ANSWERS.get(asked)
    if answer is None or ".isquery" in low.match.bindings:
        raise low.refuse(f"a driver numbers what .{asked} asks for", section=low.match.entry.section, legal="run it on a GPU")
    images, put = images_of(low, of), low.target(low.named["d"], type_named("b32"))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        found = np.zeros(wave.count(index), np.uint32)
        for image, chosen in images(wave, frame, index):
            found[chosen] = answer(image)
        put(wave, frame, index, found)

    return run


@execution("texture", "txq")
def lower_question(low: Lowering) -> Run:
    return answered(low, Texture)


@execution("texture", "istypep")
def lower_type(low: Lowering) -> Run:
    wanted = {"texref": Texture, "surfref": Surface}.get(low.match.value(".type"))
    get, put = low.source(low.named["a"], type_named("u64")), low.target(low.named["p"], type_named("pred"))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        handles = np.broadcast_to(get(wave, frame, index), wave.count(index))
        put(wave, frame, index, np.array([wanted is not None and not isinstance(image_at(one, wanted), str) for one in handles.tolist()]))

    return run
