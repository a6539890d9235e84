"""The arguments of the launch whose costs are counted: those that are given, and examples for the others."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxgen.errors import PtxgenError
from ptxgen.layouts.arguments import NATURAL
from ptxgen.runtime.errors import ArgumentError
from ptxgen.runtime.packing import Packer
from ptxgen.runtime.scalars import converter, format_code
from ptxgen.runtime.signature import BytesParam, DimParam, PointerParam, ScalarParam, Signature, TensorMapParam, TensorParam

__all__ = ["BASE", "Arguments", "arranged"]

BASE = 1 << 44
"""Where the first tensor lies: at a multiple of every alignment, as an allocation begins."""

_APART = 1 << 36
_EXAMPLE = 1000


class Arguments(NamedTuple):
    """Parameters of an entry as bytes.

    Attributes
    ----------
    packed : bytes
    values : dict of str to int or float
        Dims and scalars by name.
    examples : set of str
        Dims and scalars that were not given.
    dims : tuple of int
        Values of the named dims, in the signature's order.
    """

    packed: bytes
    values: dict[str, Any]
    examples: frozenset[str]
    dims: tuple[int, ...]


def arranged(signature: Signature, given: Mapping[str, Any]) -> Arguments:
    """Give every parameter a value.

    Parameters
    ----------
    signature : Signature
    given : mapping of str to number
        Dims and scalars by their values, tensors by how many bytes behind a 256-byte boundary they begin.

    Raises
    ------
    PtxgenError
        For a name that is no parameter, a tensor's offset against its alignment, a dim that is no multiple of what it declares.
    """
    tensors = {one.name: one for one in signature.params if isinstance(one, TensorParam)}
    scalars = {one.name: one for one in signature.params if isinstance(one, ScalarParam)}
    numbered = {one.name: one for one in signature.params if isinstance(one, (ScalarParam, DimParam))}
    for name, value in given.items():
        if name not in tensors and name not in scalars and name not in signature.dims:
            known = [*tensors, *scalars, *signature.dims]
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
            raise PtxgenError(f"{signature.kernel} has no tensor, scalar or dim {name!r}; {hint}")
        if name not in scalars and not NATURAL.holds(value):
            raise PtxgenError(f"{signature.kernel}: {NATURAL.words} is taken for {name}, not {value!r}")
        if name in numbered:
            _check_number(signature.kernel, numbered[name], value)
        if name in tensors and value % tensors[name].align:
            raise PtxgenError(f"{signature.kernel}: {name} begins {value} bytes behind a boundary; its alignment is {tensors[name].align}")
        if name in signature.dims and value % signature.multiples.get(name, 1):
            raise PtxgenError(f"{signature.kernel}: {name} = {value} is no multiple of {signature.multiples[name]}, as it is declared")
    dims = {name: int(given.get(name, _example(signature.multiples.get(name, 1)))) for name in signature.dims}
    numbers: dict[str, Any] = dict(dims)
    for name, one in scalars.items():
        numbers[name] = given.get(name, min(_EXAMPLE, (1 << (one.dtype.bits - 1)) - 1))
    values = [_value(one, numbers, given, place) for place, one in enumerate(signature.params)]
    packer = Packer(signature)
    packed = packer.layout.pack(*values)
    examples = frozenset(name for name in numbers if name not in given)
    return Arguments(packed, numbers, examples, tuple(dims.values()))


def _check_number(kernel: str, param: Any, value: Any) -> None:
    try:
        converter(param.dtype)(value)
    except ArgumentError as error:
        raise PtxgenError(f"{kernel}: {param.name} is {error}") from None


def _example(multiple: int) -> int:
    """A value of a dim that is as divisible as declared and no more, near a thousand."""
    return multiple * (max(_EXAMPLE // multiple, 1) | 1)


def _value(param: Any, numbers: Mapping[str, Any], given: Mapping[str, Any], place: int) -> Any:
    if isinstance(param, TensorParam):
        return BASE + place * _APART + int(given.get(param.name, 0))
    if isinstance(param, PointerParam):
        return BASE + place * _APART
    if isinstance(param, (ScalarParam, DimParam)):
        number = numbers[param.name]
        return float(number) if format_code(param.dtype) in "efd" else int(number)
    if isinstance(param, (BytesParam, TensorMapParam)):
        return bytes(param.size)
    raise PtxgenError(f"parameter {param.name!r} has no example")
