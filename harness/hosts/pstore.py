"""
What a kernel left in the machine's persistent store when it died: the end of its log.

In:       a Connection, once before and once after the death.
Out:      look(): Seen, what was there before; left_since(): the lines of the kernel that died since, in their
          order; lines_since(): those of them that were said after a moment.
Not here: reaching the machine again (reach.py), when it is asked (guests/machine.py). The other records of
          pstore: console-ramoops, whose kernel need not have died, pmsg, ftrace, mce.

Nothing is deleted there, and nothing stays mounted. Debian mounts pstore, and systemd-pstore.service moves
what it finds there before sshd starts; a copy keeps the record's name, size and time (systemd's
src/shared/copy.c: copy_times()), and so it is known again.

A dump has parts, since a store has small records (fs/pstore/platform.c: pstore_dump()). Each begins with
"REASON#COUNT PartNUMBER", where COUNT numbers the dumps of one boot. Part 1 has the youngest lines, since
kmsg_dump_get_buffer() begins with those and gives older ones with each further call. Inside a part the lines
are in their order. An oops that becomes a panic makes two dumps, whose lines overlap.
"""

import base64
import re
import shlex
import zlib
from collections.abc import Iterable, Sequence

import msgspec

from harness.hosts.look import CLOCK_S
from harness.hosts.ssh import Connection

MOUNTS = "/proc/mounts"
STORE = "/sys/fs/pstore"
ARCHIVE = "/var/lib/systemd/pstore"
LAST_LINES = 5  # of a log, by which their place is known again
REASONS = ("Panic", "Oops", "Emergency")  # kernel/printk/printk.c: not "Shutdown", which is no death
# Where nobody has mounted pstore, it is mounted for the time of this script, in a mount namespace of its own.
# A second mount of one that is mounted would make that read-only, too (fs/super.c: mount_single()). The store
# is read before the archive: what is moved meanwhile is seen twice, and not missed.
LOOK = r"""
mounts=$1 store=$2 archive=$3 since=$4
export LC_ALL=C
printf 'boot\t%s\n' "$(cat /proc/sys/kernel/random/boot_id)"
printf 'clock\t%s\n' "$(date +%s)"
[ -n "$since" ] || dmesg -r 2>/dev/null | tail -n 50 | sed 's/^/line\t/'
mounted=$(sed -n 's/^[^ ]* \([^ ]*\) pstore .*/\1/p' "$mounts" | head -n 1)
inside=
if [ -z "$mounted" ] && [ -d "$store" ] && unshare -m true 2>/dev/null; then inside="unshare -m"; fi
$inside sh -s "${mounted:-$store}" "$archive" "$since" "$inside" <<'END'
[ -z "$4" ] || mount -t pstore -o ro pstore "$1" 2>/dev/null
for folder in "$1" "$2"; do
    [ -d "$folder" ] && find "$folder" -type f -name 'dmesg-*' -printf '%T@\t%s\t%f\t%p\n'
done | while IFS='	' read -r time size name path; do
    printf 'record\t%s\t%s\t%s\t' "${time%.*}" "$size" "$name"
    [ -n "$3" ] && [ "${time%.*}" -ge "$3" ] && base64 -w 0 "$path" 2>/dev/null
    echo
done
END
exit 0
"""

_HEADER = re.compile(r"^(\w+)#(\d+) Part(\d+)\n", re.MULTILINE)
_HEADER_CHARACTERS = 200  # pstore_blk puts a line of its own before it (fs/pstore/zone.c: psz_kmsg_read())
# kernel/printk/printk.c: print_syslog(), print_time(), print_caller().
_LINE = re.compile(r"<(\d+)>(?:(?:\[ *\d+\.\d+\]|(?=\[ *[TC]))(?:\[ *[TC]\d+\])? )?(.*)")


class Record(msgspec.Struct, frozen=True):
    """time_s: when it was written, by that machine's clock. content: b"" where it was not asked for."""

    name: str
    time_s: int
    size_bytes: int
    content: bytes = b""

    @property
    def identity(self) -> tuple[str, int, int]:
        """Also of a copy. The name is not enough: ramoops and pstore_blk use the same few again and again."""
        return self.name, self.time_s, self.size_bytes


class Seen(msgspec.Struct, frozen=True):
    """boot: another one after each boot. clock_s: that machine's. lines: the last ones of its kernel's
    log."""

    boot: str
    clock_s: int
    records: tuple[Record, ...]
    lines: tuple[str, ...]


class Part(msgspec.Struct, frozen=True):
    """Of the dump `count` of a boot. number: 1 is the end of the log."""

    time_s: int
    count: int
    number: int
    lines: tuple[str, ...]


def look(connection: Connection, since_s: int | None = None) -> Seen:
    """since_s: what was written from then on is read, too. Errors: RemoteFailed, Unreachable."""
    since = "" if since_s is None else str(since_s)
    words = shlex.join([MOUNTS, STORE, ARCHIVE, since])
    facts, records, log = {}, [], []
    for line in connection.run(f"set -- {words}\n{LOOK}").decode("latin-1").split("\n"):
        key, _, value = line.partition("\t")
        if key == "record":
            time, size, name, content = value.split("\t")
            records.append(Record(name, int(time), int(size), base64.b64decode(content)))
        elif key == "line":
            log.append(value)
        elif key:
            facts[key] = value
    lines = kernel_lines(log)[-LAST_LINES:]
    return Seen(facts["boot"], int(facts["clock"]), tuple(records), lines)


def left_since(connection: Connection, before: Seen) -> tuple[str, ...]:
    """Nothing where the machine did not boot again. Errors: RemoteFailed, Unreachable."""
    # Its clock may have been set meanwhile; a clock that is further off is refused (look.py).
    since_s = before.clock_s - int(CLOCK_S)
    now = look(connection, since_s)
    if now.boot == before.boot:
        return ()
    old = {record.identity for record in before.records}
    new = [record for record in now.records if record.identity not in old]
    return words_of(record for record in new if record.time_s >= since_s)


def words_of(records: Iterable[Record]) -> tuple[str, ...]:
    """The end of the log of the boot that ended first."""
    read = {record.identity: record for record in records if record.content}
    parts = sorted(
        (part for record in read.values() if (part := part_of(record))),
        key=lambda part: (part.time_s, part.count, part.number),
    )
    dumps: dict[int, dict[int, tuple[str, ...]]] = {}
    for part in parts:
        dump = dumps.setdefault(part.count, {})
        if part.number in dump or part.count < max(dumps):  # a later boot counts from 1 again
            break
        dump[part.number] = part.lines
    lines: tuple[str, ...] = ()
    for _, dump in sorted(dumps.items()):
        lines = joined(lines, [line for number in sorted(dump, reverse=True) for line in dump[number]])
    return lines


def part_of(record: Record) -> Part | None:
    """None where it is no part of a death, or cannot be read."""
    content = record.content
    if record.name.endswith(".enc.z"):
        # The kernel that runs now could not expand it: an older one, or one without PSTORE_COMPRESS. It is a
        # deflate stream without a head (fs/pstore/platform.c: pstore_compress()).
        try:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content)
        except zlib.error:
            return None
    text = content.decode("latin-1")
    header = _HEADER.search(text[:_HEADER_CHARACTERS])
    if header is None or header[1] not in REASONS:
        return None
    lines = kernel_lines(text[header.end() :].split("\n"))
    return Part(record.time_s, int(header[2]), int(header[3]), lines)


def kernel_lines(raw: Iterable[str]) -> tuple[str, ...]:
    """As the agent passes them (agent/text.c: kernel_record()): the text alone, and no line of a program."""
    found = (_LINE.fullmatch(line) for line in raw)
    return tuple(line[2] for line in found if line and int(line[1]) < 8)


def lines_since(before: Sequence[str], said: Sequence[str], left: Sequence[str]) -> tuple[str, ...]:
    """Those of `left` behind `before`; all where that cannot be found. said: those behind it that are known
    already, and may be older than what was left."""
    for known, length in (([*before, *said], len(before)), (said, 0), (before, len(before))):
        if known and (at := place(left, known)) >= 0:
            return tuple(left[at + length :])
    return joined(said, left)


def joined(earlier: Sequence[str], later: Sequence[str]) -> tuple[str, ...]:
    """Two windows of one log, whose lines may overlap; the later one ends last."""
    if place(later, earlier) >= 0:
        return tuple(later)
    both = min(len(earlier), len(later))
    overlap = next(
        (count for count in range(both, 0, -1) if list(earlier[-count:]) == list(later[:count])), 0
    )
    return (*earlier, *later[overlap:])


def place(lines: Sequence[str], part: Sequence[str]) -> int:
    """Where these lines stand last, one behind the other; -1 where they do not."""
    part = list(part)
    last = len(lines) - len(part)
    return next((at for at in range(last, -1, -1) if list(lines[at : at + len(part)]) == part), -1)
