"""
The token on a claimed device: the block at its beginning.

In:       a Claim; the lines that were found on a device.
Out:      block(): 4096 bytes; token_words(): one sentence about a token that was found.
Not here: who writes and verifies it, on the machine itself (harness/guests/agent/claim.c).

Lines of text, then zeros; the last line is the CRC-32 of the lines before it.
"""

import zlib

from harness.hosts.hosts import Claim

BLOCK_BYTES = 4096
EDGE_BYTES = 1 << 20  # at both ends of a claimed device; all of it but the token is zeros
FIRST = "powercut-claim 1"


def block(claim: Claim) -> bytes:
    lines = (
        FIRST,
        f"identity {claim.identity}",
        f"machine {claim.machine}",
        f"device {claim.device.rpartition('/')[2]}",
        f"serial {claim.serial}",
        f"bytes {claim.size_bytes}",
        f"role {claim.role}",
    )
    text = "".join(f"{line}\n" for line in lines).encode()
    return (text + f"crc32 {zlib.crc32(text):08x}\n".encode()).ljust(BLOCK_BYTES, b"\0")


def token_words(lines: str, machine_id: str) -> str:
    """lines: as look.sh gives them, with `|` between."""
    found = dict(line.partition(" ")[::2] for line in lines.split("|"))
    where = "this machine" if found.get("machine") == machine_id else f"the machine {found.get('machine')}"
    role, device, identity = (found.get(key, "?") for key in ("role", "device", "identity"))
    return f"a claim of Powercut, made on {where}: role {role}, {device}, identity {identity}"
