"""``ptxgen explain`` and ``ptxgen list``."""

from __future__ import annotations

from itertools import groupby

from ptxgen.cli.output import print_json
from ptxgen.explain import Overview, described, described_register, explain, explain_register, records

__all__ = ["explain_opcode", "list_forms"]


def explain_opcode(opcode: str, json: bool) -> None:
    """Print what is known of an opcode, a mnemonic or a special register, as text or as JSON."""
    if opcode.startswith("%"):
        facts = explain_register(opcode)
        print_json(facts) if json else print(described_register(facts))
        return
    answer = explain(opcode)
    if json:
        print_json(answer.json() if isinstance(answer, Overview) else [one.json() for one in answer])
    elif isinstance(answer, Overview):
        print(described(answer))
    else:
        print("\n\n".join(map(described, answer)))


def list_forms(prefix: str, json: bool) -> None:
    """Print every form whose mnemonic begins so: a record each as JSON, or a line each under its mnemonic."""
    found = records(prefix)
    if json:
        print_json([one.json() for one in found])
        return
    for mnemonic, group in groupby(found, key=lambda one: (one.mnemonic, one.section)):
        print(f"{mnemonic[0]}  (PTX ISA {mnemonic[1]})")
        for one in group:
            print(f"  {one.line()}{'' if one.emulated else '  not emulated'}")
