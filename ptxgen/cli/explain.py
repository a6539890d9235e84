"""``ptxgen explain``."""

from __future__ import annotations

from ptxgen.cli.output import print_json
from ptxgen.explain import Overview, described, described_register, explain, explain_register

__all__ = ["explain_opcode"]


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
