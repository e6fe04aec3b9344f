"""What is worth knowing of machine code: registers, memory, and some instructions."""

import re
from typing import Any

Facts = dict[str, Any]

RESOURCES = re.compile(
    r"Compiling entry function '(?P<entry>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stored>\d+) bytes spill stores, "
    r"(?P<loaded>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
SECTION = re.compile(r"^\s*\.section\s+\.text\.(\w+),.*$", re.MULTILINE)
ENTRY = re.compile(r"\.entry (\w+)")
ATOMIC = re.compile(r"\b(?:ATOMS|ATOMG?|REDG?)(?:\.[A-Z0-9]+)+")


def gather(
    texts: dict[str, dict[str, str]], assembled: dict[str, tuple[str, str]]
) -> dict[str, dict[str, Facts]]:
    """Facts by name of the case and architecture."""
    found: dict[str, dict[str, Facts]] = {}
    for architecture, ptx_of in texts.items():
        log, listing = assembled[architecture]
        resources, code = read_log(log), read_listing(listing)
        for name, ptx in ptx_of.items():
            [entry] = ENTRY.findall(ptx)
            facts = {**resources[entry], **read_code(code[entry]), "fuses": "fma.rn.f64" in ptx}
            found.setdefault(name, {})[architecture] = facts
    return found


def read_log(log: str) -> dict[str, Facts]:
    """Registers and memory of each entry, from what ptxas says."""
    return {
        found["entry"]: {
            "registers": int(found["registers"]),
            "shared": _bytes("smem", found["rest"]),
            "spilled": int(found["stored"]) + int(found["loaded"]),
            "stack": int(found["stack"]),
        }
        for found in RESOURCES.finditer(log)
    }


def _bytes(kind: str, text: str) -> int:
    found = re.search(rf"(\d+) bytes {kind}", text)
    return int(found[1]) if found else 0


def read_listing(listing: str) -> dict[str, str]:
    """The instructions of each entry."""
    parts = SECTION.split(listing)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read_code(code: str) -> Facts:
    """What occurs in the instructions of a kernel."""
    return {
        "atomics": sorted(set(ATOMIC.findall(code))),
        "loads 128 bits": "LDG.E.128" in code,
        "spins": "CAST.SPIN" in code,
        "uses local memory": re.search(r"\b(?:LDL|STL)\b", code) is not None,
    }
