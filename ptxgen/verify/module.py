"""Walks a module: every declaration, every name and every instruction, in the order of the text."""

from __future__ import annotations

from typing import Any

from ptxgen.instructions.checking import SETTINGS, Checked, Given, check
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.registry import Match, in_order
from ptxgen.instructions.special import SPECIAL
from ptxgen.instructions.targets import FIRST_VERSION, Version, spelled
from ptxgen.instructions.types import TYPES
from ptxgen.ir import Block, Call, Directive, Function, Instruction, Label, Loc, Module, Reg, RegDecl, Statement, Targets, Variable
from ptxgen.layouts.errors import PtxgenError
from ptxgen.verify.accesses import check_accesses
from ptxgen.verify.calls import check_call, given_operands
from ptxgen.verify.declarations import check_registers, check_signature, check_variable
from ptxgen.verify.functions import check_directives, check_module_directive
from ptxgen.verify.header import architecture, check_header
from ptxgen.verify.known import is_known, is_of_the_isa
from ptxgen.verify.names import Names
from ptxgen.verify.operands import OperandGiver
from ptxgen.verify.problems import Problem, explained

__all__ = ["verify"]


def verify(module: Module, *, target: str | None = None) -> list[Problem]:
    """Hold a module against the contracts of its instructions, and its names against its declarations.

    Parameters
    ----------
    module : Module
        As `ptxgen.text.read` gives it.
    target : str, optional
        Also say whether the module can be assembled for this target; its instructions are held against its own ``.target``, as an
        assembler does.

    Returns
    -------
    list of Problem
        Those about the whole module first, then in the order of the text; at the end one note for each mnemonic of the ISA that has no
        contract yet.

    Raises
    ------
    PtxgenError
        For an unknown `target`.
    """
    verifier = _Verifier(module)
    check_header(module, target, verifier.report)
    for item in module.items:
        verifier.item(item)
    verifier.note_unknown()
    return verifier.problems


_BY_CONTRACT = frozenset({"illegal-instruction", "illegal-operand", "unknown-instruction"})


class _Verifier:
    def __init__(self, module: Module) -> None:
        self.problems: list[Problem] = []
        self._module = module
        self._version = module.version
        self._target = architecture(module)
        self._setting = frozenset(module.target) & SETTINGS
        self._names = Names()
        self._giver = OperandGiver(self._names, self.report)
        self._position: Any = None
        self._unknown: dict[str, tuple[Any, int]] = {}
        self._functions: dict[str, Function] = {}

    def report(self, id: str, message: str, focus: str = "") -> None:
        """Take note of a problem; an id may carry its severity in front: ``"warning misaligned"``."""
        severity, _, name = id.rpartition(" ")
        if self._target is None and name in _BY_CONTRACT:
            severity = "note"  # older targets have forms that contracts do not know
        self.problems.append(Problem(severity or "error", name, message, self._position, focus))

    # ---- the module ---------------------------------------------------------------------------------------------------

    def item(self, item: Any) -> None:
        self._position = getattr(item, "where", None) or self._position
        if isinstance(item, Function):
            self._function(item)
        elif isinstance(item, (Variable, RegDecl)):
            self._declaration(item, in_function=False)
        elif isinstance(item, Directive):
            check_module_directive(item, self._functions, self._version, self.report)

    def _function(self, function: Function) -> None:
        earlier = self._functions.get(function.name)
        if earlier is None:
            self._declare(function.name, function)
        else:
            self._redeclare(function, earlier)
        check_signature(function, self._module, self.report)
        check_directives(function, self._version, self._target, self.report)
        if earlier is None or function.body is not None:
            self._functions[function.name] = function
        if function.body is None:
            return
        self._names.enter(function.body)
        self._names.inputs = function.params
        for formal in (*function.results, *function.params):
            if formal.name != "_":
                self._formal(formal)
        self._body(function.body)
        self._names.leave()

    def _redeclare(self, function: Function, earlier: Function) -> None:
        if function.body is not None and earlier.body is not None:
            self.report("duplicate", f"the function {function.name} is defined twice", function.name)
        elif _shape(function) != _shape(earlier):
            self.report("redeclared", f"{function.name} was declared with other parameters or results before", function.name)

    def _formal(self, formal: Variable) -> None:
        if formal.space == "reg":
            self._registers(RegDecl(formal.type, (formal.name,), vector=formal.vector))
        else:
            self._declare(formal.name, formal)

    # ---- bodies -------------------------------------------------------------------------------------------------------

    def _body(self, body: tuple[Statement, ...]) -> None:
        labels: set[str] = set()
        for statement in body:
            self._position = getattr(statement, "where", None) or self._position
            if isinstance(statement, Instruction):
                self._instruction(statement)
            elif isinstance(statement, Call):
                self._call(statement)
            elif isinstance(statement, Block):
                self._names.enter(statement.body)
                self._body(statement.body)
                self._names.leave()
            elif isinstance(statement, (Variable, RegDecl)):
                self._declaration(statement, in_function=True)
            elif isinstance(statement, Label):
                self._label(statement.name, labels)
            elif isinstance(statement, Loc) and statement.intermediate:
                self._require((9, 4), frozenset(FIRST_VERSION), ".loc_intermediate", "11.5.5")
            elif isinstance(statement, Targets):
                self._label(statement.label, labels)
                self._check_targets(statement)

    def _declaration(self, declaration: Variable | RegDecl, *, in_function: bool) -> None:
        if isinstance(declaration, RegDecl):
            check_registers(declaration, self._version, self.report, in_function=in_function)
            self._registers(declaration)
            return
        check_variable(declaration, self._names, self._module, self.report, in_function=in_function)
        earlier = self._names.find(declaration.name) if not in_function else None
        if isinstance(earlier, Variable) and earlier.linkage == "extern" and declaration.linkage is not None:
            self._names.declare(declaration.name, declaration)  # the definition of what was declared before
        else:
            self._declare(declaration.name, declaration)

    def _registers(self, declaration: RegDecl) -> None:
        for name in self._names.declare_registers(declaration):
            family = f"<{declaration.count}>" if declaration.count is not None else ""
            self._duplicate(f"{name}{family}", name)

    def _declare(self, name: str, meaning: Variable | Function) -> None:
        if not self._names.declare(name, meaning):
            self._duplicate(name, name)

    def _duplicate(self, shown: str, name: str) -> None:
        self.report(
            "duplicate", f"{shown} is declared twice in one scope (PTX ISA 5.4)\n  legal: another name, or braces around one of them", name
        )

    def _label(self, name: str, labels: set[str]) -> None:
        found = self._names.find(name)
        if name in labels or not isinstance(found, (Label, Targets)):
            self._duplicate(f"the label {name}", name)
        labels.add(name)

    def _check_targets(self, listed: Targets) -> None:
        for name in listed.names:
            found = self._names.find(name)
            if listed.kind == "branchtargets" and not isinstance(found, Label):
                self._no_label(name)
            elif listed.kind == "calltargets" and not isinstance(found, Function):
                self.report("undeclared-name", f"{name} is no function that is declared before", name)

    def _no_label(self, name: str, opcode: str = "") -> None:
        near = self._names.nearest(name, registers=False)
        message = explained(
            f"{name} is no label in sight",
            opcode=opcode,
            rule="a branch goes to a label of the same scope or of one around it",
            section="4.4",
            legal=f"nearest: {', '.join(near)}" if near else "",
        )
        self.report("undeclared-label", message, name)

    # ---- instructions -------------------------------------------------------------------------------------------------

    def _instruction(self, statement: Instruction) -> None:
        self._guard(statement)
        opcode = statement.opcode
        self._giver.opcode = opcode
        is_label = _labels_at(opcode, len(statement.operands))
        before = len(self.problems)
        given = [
            _label_given(operand) if place in is_label else self._giver.given(operand) for place, operand in enumerate(statement.operands)
        ]
        self._specials(statement.operands)
        if not is_known(opcode):
            self._unknown_opcode(opcode)
            return
        try:
            checked = self._checked(opcode, given)
        except InstructionError as error:
            if len(self.problems) == before:
                self.report("illegal-operand" if error.operand else "illegal-instruction", str(error), _focus(error, given, opcode))
            return
        self._available(checked.match)
        if is_label:
            self._branches(checked)
        check_accesses(checked, statement.operands, self._names, self.report)

    def _checked(self, opcode: str, given: list[Given]) -> Checked:
        """Hold operands against the contract; qualifiers in another order than the ISA's are noted, since assemblers take them."""
        try:
            return check(opcode, given, self._setting)
        except InstructionError as error:
            ordered = "" if error.operand else in_order(opcode)
            if not ordered:
                raise
            checked = check(ordered, given, self._setting)
            self.report("note qualifier-order", str(error), opcode)
            return checked

    def _call(self, statement: Call) -> None:
        self._guard(statement)
        self._giver.opcode = statement.opcode
        before = len(self.problems)
        given = given_operands(statement, self._giver)
        try:
            checked = check(statement.opcode, given)
        except InstructionError as error:
            if len(self.problems) == before:
                self.report(
                    "illegal-operand" if error.operand else "illegal-instruction", str(error), _focus(error, given, statement.opcode)
                )
            return
        self._available(checked.match)
        check_call(statement, self._names, self.report)

    def _guard(self, statement: Instruction | Call) -> None:
        if statement.guard is None:
            return
        name = statement.guard.reg.name
        given = self._giver.given(statement.guard.reg)
        if given.type is not None and given.type.kind != "pred":
            self.report(
                "guard", f"the guard @{name} is .{given.type.name}, not a predicate (PTX ISA 9.3)\n  legal: a register of .pred", name
            )

    def _specials(self, operands: tuple[Any, ...]) -> None:
        """Versions and targets that special registers need."""
        for operand in operands:
            if isinstance(operand, Reg) and operand.name in SPECIAL and self._names.register(operand.name) is None:
                special = SPECIAL[operand.name]
                self._require(special.version, special.targets, special.name, special.section)

    def _available(self, match: Match) -> None:
        self._require(match.version_on(self._target), match.targets, match.opcode, match.entry.section)

    def _require(self, version: Version, targets: frozenset[str], what: str, section: str) -> None:
        if version > self._version:
            needed, have = (f"{one[0]}.{one[1]}" for one in (version, self._version))
            message = explained(
                f"needs PTX {needed}; the module says .version {have}", opcode=what, section=section, legal=f".version {needed}"
            )
            self.report("version", message, what)
        if self._target is not None and self._target not in targets:
            message = explained(
                f"does not exist on {self._target}, the module's .target", opcode=what, section=section, legal=f"targets {spelled(targets)}"
            )
            self.report("target", message, what)

    def _branches(self, checked: Checked) -> None:
        for name, one in checked.operands:
            kind = checked.match.entry.operands[name].kind
            found = self._names.find(one.text)
            if kind == "label" and not isinstance(found, Label):
                self._no_label(one.text, checked.match.opcode)
            elif kind == "branch targets" and not isinstance(found, Targets):
                message = explained(
                    f"{one.text} is no .branchtargets list", opcode=checked.match.opcode, section=checked.match.entry.section
                )
                self.report("undeclared-label", message, one.text)

    # ---- instructions without a contract ------------------------------------------------------------------------------

    def _unknown_opcode(self, opcode: str) -> None:
        mnemonic = opcode.partition(".")[0]
        if not is_of_the_isa(mnemonic):
            try:
                check(opcode, [])
            except PtxgenError as error:
                self.report("unknown-instruction", str(error), opcode)
            return
        first, count = self._unknown.get(mnemonic, (self._position, 0))
        self._unknown[mnemonic] = first, count + 1

    def note_unknown(self) -> None:
        """One note for each mnemonic that has no contract yet, in the order of the text."""
        for mnemonic, (position, count) in self._unknown.items():
            times = f" ({count} times)" if count > 1 else ""
            self._position = position
            self.report("note not-yet-known", f"{mnemonic} is not yet known here, so it was not checked{times}", mnemonic)


def _label_given(operand: Any) -> Given:
    return Given("symbol", getattr(operand, "name", repr(operand)))


def _labels_at(opcode: str, count: int) -> range:
    """Which operands are labels: they are looked up apart, since they may stand later in the text."""
    head = opcode.partition(".")[0]
    return range(count - 1, count) if head in ("bra", "brx") else range(0)


def _focus(error: InstructionError, given: list[Given], opcode: str) -> str:
    """The operand that a message speaks of, as it stands in the text; else the opcode."""
    texts = [one.text for operand in given for one in (*operand.items, operand)]
    words = error.problem.replace(":", " ").replace(",", " ").split()
    return next((text for text in texts if text in words or error.problem.startswith(text)), opcode)


def _shape(function: Function) -> tuple[Any, ...]:
    """What a declaration and a definition must agree in."""
    formals = (*function.results, None, *function.params)
    return function.kind, *((one.space, TYPES[one.type].bits, one.dims, one.align) if one is not None else None for one in formals)
