"""One function, flattened and compiled: every instruction becomes a closure once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from ptxgen.emulator.lowering import Lowering, Op, guard_source, guarded_control, guarded_run, lower_function
from ptxgen.emulator.memory import FIRST
from ptxgen.emulator.numerics import NumericsError
from ptxgen.emulator.scopes import Location, Register, Scope
from ptxgen.emulator.semantics.table import UNABLE, lookup_semantics
from ptxgen.emulator.variables import Layout
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.types import Type, type_named
from ptxgen.ir import Block, Call, Function, Instruction, Label, Prototype, RegDecl, Statement, Targets, Variable

if TYPE_CHECKING:
    from ptxgen.emulator.program import Program

__all__ = ["STACK_BYTES", "Code", "Formal"]

STACK_BYTES = 1 << 13
"""What a call of a function that allocates on the stack can allocate."""

_NOT_YET = "the emulator cannot execute this instruction yet"

Formal = Union[Location, Register]
"""A formal parameter or result: memory in the frame (or the launch's parameters), or a `.reg` parameter's register."""


class Code:
    """One function.

    Attributes
    ----------
    number : int
        Its place in the program.
    ops : list of Op
        The flat program; the last one returns from the function.
    registers : list of Register
    parameters, results : list of Formal
        In order.
    frame : Layout
        Its local variables, parameters and `.param` variables.
    watched : dict of slot to name
        Registers that asynchronous instructions read and write, for `ptxgen.emulator.inflight`.
    """

    def __init__(self, program: Program, function: Function, number: int) -> None:
        self.program = program
        self.function = function
        self.number = number
        self.ops: list[Op] = []
        self.registers: list[Register] = []
        self.frame = Layout(FIRST["local"])
        self._carry: Register | None = None
        self._stack: tuple[Register, int] | None = None
        self.watched: dict[int, str] = {}
        self.scope = Scope(program.scope, self.new_register)
        self.parameters = [one for formal in function.params for one in self._formals(formal)]
        self.results = [one for formal in function.results for one in self._formals(formal)]

    @property
    def name(self) -> str:
        return self.function.name

    def new_register(self, name: str, type: Type) -> Register:
        register = Register(name, type, len(self.registers))
        self.registers.append(register)
        return register

    def carry(self) -> Register:
        """CC.CF, which every function has once."""
        if self._carry is None:
            self._carry = self.new_register("CC.CF", type_named("pred"))
        return self._carry

    def stack(self) -> tuple[Register, int]:
        """The stack pointer, and where in the frame the room below it begins."""
        if self._stack is None:
            room = self.frame.add(Variable("local", "b8", "the stack", (STACK_BYTES,), align=16))
            self._stack = self.new_register("the stack pointer", type_named("u64")), room.offset
        return self._stack

    def _formals(self, formal: Variable) -> list[Formal]:
        """A parameter or result; a vector of registers is passed register by register."""
        if formal.space == "reg":
            self.scope.declare(RegDecl(formal.type, (formal.name,), vector=formal.vector))
            parts = "xyzw"[: formal.vector] if formal.vector else (None,)
            registers = [self.scope.register(formal.name, part) for part in parts]
            return [register for register in registers if register is not None]
        location = self.program.place_parameter(formal) if self.function.kind == "entry" else self._in_frame(formal)
        self.scope.variables[formal.name] = location
        return [location]

    def _in_frame(self, variable: Variable) -> Location:
        placed = self.frame.add(variable)
        return Location(variable, "local", placed.offset, placed.size, in_frame=True)

    def compile(self) -> None:
        """Flatten the body, then compile each instruction; labels are known by then."""
        flat: list[tuple[Instruction | Call, Scope]] = []
        leaders: set[int] = set()
        self._flatten(self.function.body or (), self.scope, flat, leaders)
        self.ops = [self._op(statement, scope, pc) for pc, (statement, scope) in enumerate(flat)]
        self.ops.append(self._op(Instruction("ret", where=self.function.where), self.scope, len(flat)))
        for leader in leaders:
            if leader > 0:
                self.ops[leader - 1].ends_block = True

    def _flatten(
        self, body: tuple[Statement, ...], scope: Scope, flat: list[tuple[Instruction | Call, Scope]], leaders: set[int]
    ) -> None:
        for statement in body:
            if isinstance(statement, (Instruction, Call)):
                flat.append((statement, scope))
            elif isinstance(statement, Label):
                scope.labels[statement.name] = len(flat)
                leaders.add(len(flat))
            elif isinstance(statement, Block):
                self._flatten(statement.body, scope.child(), flat, leaders)
            elif isinstance(statement, RegDecl):
                scope.declare(statement)
            elif isinstance(statement, Variable):
                scope.variables[statement.name] = self._place(statement)
            elif isinstance(statement, Targets):
                scope.targets[statement.label] = statement
            elif isinstance(statement, Prototype):
                scope.prototypes[statement.label] = statement

    def _place(self, variable: Variable) -> Location:
        return self._in_frame(variable) if variable.space in ("local", "param") else self.program.place(variable)

    def _op(self, statement: Instruction | Call, scope: Scope, pc: int) -> Op:
        low = Lowering(self, scope, statement, pc)
        op = _call_op(low) if isinstance(statement, Call) else _instruction_op(low)
        if statement.guard is not None:
            condition = guard_source(low, statement.guard)
            if op.control is not None:
                op.control = guarded_control(condition, op.control, statement)
            else:
                assert op.run is not None
                op.run = guarded_run(condition, op.run)
        return op


def _call_op(low: Lowering) -> Op:
    from ptxgen.emulator.calls import lower_call

    return Op(low.statement, control=lower_call(low))


def _instruction_op(low: Lowering) -> Op:
    low.choose_form()
    entry = low.match.entry
    found = lookup_semantics(entry)
    if found is None:
        problem = f"the emulator cannot execute this instruction: {UNABLE[entry.family]}" if entry.family in UNABLE else _NOT_YET
        raise low.refuse(problem, section=entry.section, legal="run it on a GPU")
    kind, make = found
    try:
        if kind == "control":
            return Op(low.statement, control=make(low))
        if kind == "execution":
            return Op(low.statement, run=make(low))
        return Op(low.statement, run=lower_function(low, make(low.match)))
    except NumericsError as error:
        raise low.refuse(f"the emulator cannot execute this form: {error}", section=entry.section, legal="run it on a GPU") from None
    except InstructionError as error:
        raise error.at(low.statement.where) from None
