"""What is known of a special register (ISA chapter 10)."""

from __future__ import annotations

from typing import Any

from ptxgen.instructions.special import SpecialRegister, special_register
from ptxgen.instructions.targets import spelled

__all__ = ["described_register", "explain_register"]

_SAME = {
    "": "each thread reads its own",
    "warp": "the same in all threads of a warp",
    "cta": "the same in all threads of a block",
    "cluster": "the same in all threads of a cluster",
    "grid": "the same in all threads of the grid",
    "never": "changes from one read to the next",
}


def explain_register(name: str) -> dict[str, Any]:
    """The facts about a special register or one of its components, as plain values.

    Raises
    ------
    PtxgenError
        For an unknown register; the message names the nearest.
    """
    register, component = special_register(name)
    part = component or register.components[:1]
    parts = [component] if component or not register.components else list("xyz")
    return {
        "register": register.name + (f".{component}" if component else ""),
        "meaning": register.meaning,
        "section": register.section,
        "type": register.type.name,
        "components": [f".{one}" for one in register.components],
        "same": _SAME[register.same],
        "largest": {f".{one}" if one else "": register.values(one)[-1] for one in parts},
        "below": register.below,
        "version": f"{register.version[0]}.{register.version[1]}",
        "targets": spelled(register.targets),
        "example": f"mov.{register.type.name} {_target(register)}, {register.name}{'.' + part if part else ''};",
    }


def _target(register: SpecialRegister) -> str:
    return {"pred": "%p0", "u64": "%rd0"}.get(register.type.name, "%r0")


def described_register(facts: dict[str, Any]) -> str:
    """The same as text."""
    kind = f"a vector of four .{facts['type']}" if facts["components"] and "." not in facts["register"] else f".{facts['type']}"
    below = f", and below {facts['below']}" if facts["below"] else ""
    largest = ", ".join(f"{part} {value}".strip() for part, value in facts["largest"].items())
    lines = [
        f"{facts['register']}  (PTX ISA {facts['section']})",
        f"  {facts['meaning']}",
        "",
        f"type: {kind}; {facts['same']}",
        f"largest value: {largest}{below}",
        f"available: PTX {facts['version']}, on {'all targets' if facts['targets'] == 'all' else facts['targets']}",
        "read by: mov, and cvt between integers",
        "",
        "example:",
        f"  {facts['example']}",
    ]
    return "\n".join(lines)
