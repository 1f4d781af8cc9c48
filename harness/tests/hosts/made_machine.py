"""
Records as look.sh prints them.

In:       what a machine and its devices are said to be.
Out:      facts(), block(): records; machine(): the Machine of some.
Not here: the tests.
"""

from harness.hosts.hosts import Host
from harness.hosts.look import Machine, parse

NOW = 1_795_000_000
HOST = Host("nuc1", "root@nuc1")


def facts(dm: bool = True, **changed: object) -> str:
    usual = {
        "clock": NOW + 1,
        "kernel": "6.12.1",
        "architecture": "x86_64",
        "processors": 2,
        "page_kib": 4,
        "memory_kib": 2 << 20,
        "machine_id": "ab12",
    }
    lines = [f"{key}\t{value}" for key, value in {**usual, **changed}.items()]
    return "\n".join([*lines, "tool\twipefs", *(["module\tdm_mod"] if dm else ())]) + "\n"


def block(name: str, number: str, sectors: int, **of: object) -> str:
    values = {"number": number, "sectors": sectors, **of}
    return "\n".join(f"block\t{name}\t{key}\t{value}" for key, value in values.items())


def machine(*records: str) -> Machine:
    return parse(facts() + "\n".join(records) + "\n", (NOW, NOW + 2), HOST)
