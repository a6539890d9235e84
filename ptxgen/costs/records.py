"""What is counted: one record for every apply and raw instruction, one line in it for every place in memory that it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ptxgen.layouts.banks import Collision
from ptxgen.layouts.errors import PtxgenError

__all__ = ["Access", "Cost", "Costs"]

_COUNTS = ("requests", "bytes", "wavefronts", "ideal_wavefronts", "conflicts", "sectors", "ideal_sectors")
_SPACES = ("", "shared", "global")


class Access(NamedTuple):
    """What one operand of an apply does to memory, over all its repeats and all warps of a block.

    Attributes
    ----------
    operand : str
        Its name in the instruction's syntax line.
    space : str
        ``"shared"`` or ``"global"``.
    store : bool
        Whether it writes.
    requests : int
        Instructions of warps with an active lane; of copies that an engine makes, the copies.
    bytes : int or None
        Bytes that the active lanes ask for, each lane on its own.
    wavefronts, ideal_wavefronts : int or None
        Of shared memory: passes through the banks, and how many there would be without conflicts. None where the addresses are not
        known, or where another unit than the load-store unit moves the bytes.
    sectors, ideal_sectors : int or None
        Of global memory: 32-byte pieces touched, summed over requests, and how many the same bytes would fill side by side.
    collision : Collision or None
        The worst bank conflict.
    note : str
        Why something is not known, or rests on an example.
    """

    operand: str
    space: str
    store: bool
    requests: int
    bytes: int | None = None
    wavefronts: int | None = None
    ideal_wavefronts: int | None = None
    sectors: int | None = None
    ideal_sectors: int | None = None
    collision: Collision | None = None
    note: str = ""

    @property
    def conflicts(self) -> int | None:
        """Wavefronts beyond the ideal: bank conflicts."""
        if self.wavefronts is None or self.ideal_wavefronts is None:
            return None
        return self.wavefronts - self.ideal_wavefronts


class Cost(NamedTuple):
    """One `px.tile.apply`, or one instruction that a kernel's line writes; a loop's body counts once.

    Attributes
    ----------
    where : object or None
        The user's line; None for what the entry begins with.
    opcode : str
    instructions : int
        PTX instructions, one a repeat.
    issued : int
        Those times the warps of the block that execute them.
    registers : int
        32-bit registers a thread that its operands take; addresses are left out.
    accesses : tuple of Access
        One for each operand in shared or global memory.
    certain : bool
        Whether it is known which threads execute it; otherwise all that may are taken to.
    arithmetic : bool
        Whether it is one of those of which addresses, indices and branches are made, and not asked for by its opcode or a plan.
    """

    where: Any
    opcode: str
    instructions: int
    issued: int
    registers: int
    accesses: tuple[Access, ...]
    certain: bool
    arithmetic: bool


_HEADS = ("line", "opcode", "instr.", "issued", "regs", "operand", "requests", "bytes", "wavefronts", "ideal", "sectors", "ideal", "")
_LEFT = {0, 1, 5, 12}  # columns of words


class Costs:
    """The costs of one block of a kernel.

    Attributes
    ----------
    kernel : str
    block : tuple of int
        Threads of the block.
    records : tuple of Cost
        In the order of the text: what the user's lines wrote.
    overhead : int
        PTX instructions beside them: addresses, parameters, thread indices.
    values : dict of str to number
        The dims and scalars that were counted with; those in `examples` were not given.
    """

    def __init__(
        self,
        kernel: str,
        block: tuple[int, int, int],
        records: Sequence[Cost],
        overhead: int,
        values: dict[str, Any],
        examples: frozenset[str],
        resources: Callable[[], Any],
    ) -> None:
        self.kernel = kernel
        self.block = block
        self.records = tuple(records)
        self.overhead = overhead
        self.values = values
        self.examples = examples
        self._resources = resources

    def __iter__(self) -> Iterator[Cost]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def memory(self) -> tuple[Cost, ...]:
        """The records that reach shared or global memory."""
        return tuple(one for one in self.records if one.accesses)

    @property
    def registers(self) -> int:
        """Registers that ptxas gives a thread. Assembles the kernel.

        Raises
        ------
        PtxgenError
            Where no assembler is installed, or it refuses the kernel.
        """
        found: int = self._resources().registers
        return found

    def total(self, what: str, space: str = "", store: bool | None = None) -> int:
        """The sum of one count over all accesses, those left out for which it is not known.

        Parameters
        ----------
        what : {"requests", "bytes", "wavefronts", "ideal_wavefronts", "conflicts", "sectors", "ideal_sectors"}
        space : {"shared", "global"}, optional
        store : bool, optional
            Stores alone, or loads alone.

        Raises
        ------
        PtxgenError
            For a count or a space that there is not.
        """
        for given, known in ((what, _COUNTS), (space, _SPACES)):
            if given not in known:
                raise PtxgenError(f"{given!r} is not counted; there are {', '.join(one for one in known if one)}")
        accesses = (one for record in self.records for one in record.accesses)
        return sum(getattr(one, what) or 0 for one in accesses if space in ("", one.space) and store in (None, one.store))

    def __str__(self) -> str:
        """A table of what reaches memory and of what works on elements, and the totals."""
        rows = [row for record in _merged(self.records) if not record.arithmetic for row in _rows(record)]
        widths = [max(len(row[at]) for row in (_HEADS, *rows)) for at in range(len(_HEADS))]
        lines = [
            "  ".join(cell.ljust(width) if at in _LEFT else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in (_HEADS, *rows)
        ]
        return "\n".join([f"{self.kernel}, one block of {_extents(self.block)} threads{self._with()}", *lines, *self._totals()])

    def _with(self) -> str:
        """The dims and scalars, those marked that stand for others."""
        if not self.values:
            return ""
        shown = (f"{name} = {value}{' (an example)' if name in self.examples else ''}" for name, value in self.values.items())
        return ", " + ", ".join(shown)

    def _totals(self) -> list[str]:
        shown, hidden = ([one for one in self.records if one.arithmetic == kind] for kind in (False, True))
        lines = [
            f"instructions: {sum(one.instructions for one in shown)}, issued by warps {sum(one.issued for one in shown)} times; "
            f"beside them {self.overhead + sum(one.instructions for one in hidden)} of addresses, indices and branches"
        ]
        accesses = [one for record in self.records for one in record.accesses]
        for space, count in (("shared", "wavefronts"), ("global", "sectors")):
            for store in (False, True):
                known = [one for one in accesses if (one.space, one.store) == (space, store) and getattr(one, count) is not None]
                if known:
                    requests, found, ideal = (sum(getattr(one, name) for one in known) for name in ("requests", count, f"ideal_{count}"))
                    lines.append(f"{space} {'stores' if store else 'loads'}: {requests} requests, {found} {count}, ideally {ideal}")
        return lines


def _merged(records: Sequence[Cost]) -> list[Cost]:
    """Those that one place in the code wrote together, as a loop that Python unrolls does."""
    found: dict[Any, Cost] = {}
    for one in records:
        key = one.where, one.opcode, tuple((access.operand, access.space) for access in one.accesses)
        found[key] = one if key not in found else _sum(found[key], one)
    return list(found.values())


def _sum(one: Cost, other: Cost) -> Cost:
    accesses = tuple(map(_sum_of_accesses, one.accesses, other.accesses))
    counts = {name: getattr(one, name) + getattr(other, name) for name in ("instructions", "issued", "registers")}
    return one._replace(**counts, accesses=accesses, certain=one.certain and other.certain)


def _sum_of_accesses(one: Access, other: Access) -> Access:
    def both(name: str) -> Any:
        counts = getattr(one, name), getattr(other, name)
        return None if None in counts else sum(counts)

    worst = max((one.collision, other.collision), key=lambda each: 0 if each is None else len(each.words))
    sums = {name: both(name) for name in ("requests", "bytes", "wavefronts", "ideal_wavefronts", "sectors", "ideal_sectors")}
    return one._replace(**sums, collision=worst, note=one.note or other.note)


def _rows(record: Cost) -> list[tuple[str, ...]]:
    head = (str(record.where or ""), record.opcode, str(record.instructions), str(record.issued), str(record.registers))
    doubt = "" if record.certain else "at most"
    if not record.accesses:
        return [(*head, *("",) * 7, doubt)]
    rows: list[tuple[str, ...]] = []
    for number, one in enumerate(record.accesses):
        wavefronts, sectors = ("", ""), ("", "")
        if one.space == "shared":
            wavefronts = _cell(one.wavefronts), _cell(one.ideal_wavefronts)
        else:
            sectors = _cell(one.sectors), _cell(one.ideal_sectors)
        notes = ", ".join(note for note in (doubt, one.note, _shown(one.collision)) if note)
        rows.append((*(head if number == 0 else ("",) * 5), one.operand, str(one.requests), _cell(one.bytes), *wavefronts, *sectors, notes))
    return rows


def _cell(count: int | None) -> str:
    return "-" if count is None else str(count)


def _shown(collision: Collision | None) -> str:
    """Lanes 0, 8 and 16 want different words of bank 0."""
    if collision is None:
        return ""
    *most, last = map(str, collision.lanes[:4])
    more = "" if len(collision.lanes) <= 4 else f" and {len(collision.lanes) - 4} more"
    lanes = f"{', '.join([*most, last])}{more}" if more else f"{', '.join(most)} and {last}"
    return f"lanes {lanes} meet in bank {collision.bank}"


def _extents(block: tuple[int, int, int]) -> str:
    *most, last = block
    kept = [*most, last] if last > 1 else most if most[-1] > 1 else most[:1]
    return " x ".join(map(str, kept))
