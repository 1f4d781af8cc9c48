"""
The log of an exported shell script, replayed: one disk after the other is asked.

In:       a Reproducer whose way is the log.
Out:      the lines that come after its operations.
Not here: the lines before them (export_sh.py), what is asked (export.py).

The log is read with od and written to a disk with dd: a few hundred entries take seconds, and nothing has to
be compiled. Of model O each prefix is asked; of the others what stands in MOMENT and STEP.
"""

from oracles.faults.damage import NOTHING
from oracles.spec import BLOCK_BYTES, SECTOR_BYTES
from reports.programs.export import (
    TEARS,
    Reproducer,
    Shell,
    ask_lines,
    cut_sentence,
    damage_place,
    mount_line,
)

ASK = """\
# Ask the disk $W/state: {question}
ask() {{
\tD=$(losetup -f --show "$W/state") || cannot "no loop device"
\t{forget}# Always use the same name, because btrfs remembers devices.
\tmust dmsetup create $N --table "0 $S linear $D 0"
{recover}
\tumount "$M" 2>/dev/null
\tmust dmsetup remove $N
\tlosetup -d "$D"
\tD=
}}
state() {{ cp --sparse=always "$W/base" "$W/state"; }}

# The log (drivers/md/dm-log-writes.c): a sector with the number of entries at byte 16 and the size of a
# sector at byte 24; then of each entry a sector with place, length (in sectors), flags and length of its
# text, and the data behind it. Flags: 1 a flush, 2 FUA, 4 a discard, 8 a mark, whose text stands there.
number() {{ od -An -v -t u$2 -j $1 -N $2 "$3" | tr -d ' '; }}
unit=$(number 24 4 "$W/log")

# entries LOG COMMAND: COMMAND LOG PLACE LENGTH FLAGS DATA-AT TEXT for each entry, until one fails.
entries() {{
\tset -- "$1" $2 $unit
\tfor entry in $(seq $(number 16 8 "$1")); do
\t\tset -- "$1" $2 $3 $(od -An -v -t u8 -w32 -j $3 -N 32 "$1")
\t\ttext=
\t\t[ $(($6 & 8)) -eq 0 ] || text=$(dd if="$1" bs=1 skip=$(($3 + 32)) count=$7 2>/dev/null)
\t\tset -- "$1" $2 $(($3 + unit)) $4 $5 $6
\t\t$2 "$1" $4 $5 $6 $3 "$text" || return 0
\t\t[ $(($6 & 12)) -ne 0 ] || set -- "$1" $2 $(($3 + $5 * unit))
\tdone
}}

# put DISK LOG PLACE LENGTH FLAGS DATA-AT
put() {{
\t[ $(($5 & 8)) -eq 0 ] && [ $4 -ne 0 ] || return 0
\tif [ $(($5 & 4)) -ne 0 ]; then
\t\tdd if=/dev/zero of="$1" bs=$unit seek=$3 count=$4 conv=notrunc 2>/dev/null
\telse
\t\tdd if="$2" of="$1" bs=$unit skip=$(($6 / unit)) seek=$3 count=$4 conv=notrunc 2>/dev/null
\tfi
}}

{moment}
asking=no
step() {{
\tcase $6 in
\tbegin) {begin} ;;
\tdone) {done}return 1 ;;
\tesac
\t{step}
\t[ $asking = no ] || moment
\t[ $broken -eq 0 ]
}}
entries "$W/log" step
{after}"""

MOMENT = {
    "O": """\
moment() { state; ask; }
""",
    "R": """\
# The device may lose writes that no flush has followed: each of them alone, or all but one of them.
window= volatile=
moment() {
\tfor one in $volatile; do
\t\tfor lost in this others; do
\t\t\tstate
\t\t\tfor each in $window; do
\t\t\t\tcase "$lost $each" in
\t\t\t\t"this $one") continue ;;
\t\t\t\t"others $one") ;;
\t\t\t\tothers*) case " $volatile " in *" $each "*) continue ;; esac ;;
\t\t\t\tesac
\t\t\t\tput "$W/state" "$W/log" $(echo $each | tr : ' ')
\t\t\tdone
\t\t\task
\t\tdone
\tdone
}
keep() {
\tif [ $(($4 & 1)) -ne 0 ]; then
\t\tfor each in $window; do
\t\t\tput "$W/base" "$1" $(echo $each | tr : ' ')
\t\tdone
\t\twindow= volatile=
\tfi
\t[ $(($4 & 8)) -eq 0 ] && [ $3 -ne 0 ] || return 0
\twindow="$window $2:$3:$4:$5"
\t[ $(($4 & 2)) -ne 0 ] || volatile="$volatile $2:$3:$4:$5"
}
""",
    "T": """\
# The power may fail in the middle of a write, between two units that the device writes atomically. In a
# large write it is tried at {tears} places, spread evenly.
atomic=$(({atomic_bytes} / unit))
tear() {
\t[ $asking = yes ] && [ $(($4 & 12)) -eq 0 ] && [ $3 -ne 0 ] || return 0
\tfirst=$((atomic - $2 % atomic))
\tapart=$((atomic * (1 + ($3 - first) / atomic / {tears})))
\tfor count in $(seq $first $apart $(($3 - 1))); do
\t\tstate
\t\tput "$W/state" "$1" $2 $count $4 $5
\t\task
\t\t[ $broken -eq 0 ] || return 0
\tdone
}
moment() { :; }
""",
    "N": """\
# The power may fail again while the filesystem recovers. The recovery's writes are recorded in a second log.
moment() {
\tstate
\trm -f "$W/recovery"
\ttruncate -s 256M "$W/recovery"
\tD=$(losetup -f --show "$W/state") && L=$(losetup -f --show "$W/recovery") || cannot "no loop device"
\t{forget}must dmsetup create $N --table "0 $S log-writes $D $L"
\t{mount}
\tumount "$M" 2>/dev/null
\tmust dmsetup remove $N
\tlosetup -d "$D"
\tlosetup -d "$L"
\tD= L=
\tcp --sparse=always "$W/base" "$W/half"
\tentries "$W/recovery" again
}
again() {
\t[ $(($4 & 8)) -eq 0 ] && [ $3 -ne 0 ] || return 0
\tput "$W/half" "$@"
\tcp --sparse=always "$W/half" "$W/state"
\task
\t[ $broken -eq 0 ]
}
""",
}
MOMENT_DAMAGED = {
    "the disk alone": "moment() { state; damage; ask; }\n",
    "both": """\
moment() {
\tdisk=whole; state; ask
\tdisk=damaged; state; damage; ask
}
""",
}
DAMAGE = """\
# The damage to the disk at rest: {words}.
used={used}
damage() {{
\t[ "$(tail -c +{first} "$W/state" | head -c 4096 | tr -d '\\0' | wc -c)" -eq 0 ] || used=yes
\t{change}
}}
"""
FLIPPED = """\
byte=$(od -An -v -t u1 -j {at} -N 1 "$W/state")
\tprintf "\\\\$(printf %03o $((byte ^ {mask})))" | dd of="$W/state" bs=1 seek={at} conv=notrunc 2>/dev/null"""
ZEROED = 'dd if=/dev/zero of="$W/state" bs=512 seek={sector} count=1 conv=notrunc 2>/dev/null'
IN_USE = """\
[ $used = yes ] || cannot "block {block} is all zeros, so this filesystem has another layout"
"""
STEP = {
    "O": 'put "$W/base" "$@"',
    "R": 'keep "$@"',
    "T": 'tear "$@"; put "$W/base" "$@"',
    "N": 'put "$W/base" "$@"',
    "D": 'put "$W/base" "$@"',
}


def replay(one: Reproducer, shell: Shell) -> str:
    """W is a folder with the log and `base`, the disk before it; S its sectors."""
    forget = "btrfs device scan --forget >/dev/null 2>&1\n\t" if one.filesystem == "btrfs" else ""
    moment = damaged_moment(one) if one.model == "D" else MOMENT[one.model]
    for field, value in (
        ("atomic_bytes", str(one.atomic_bytes)),
        ("tears", str(TEARS)),
        ("forget", forget),
        ("mount", mount_line(one)),
    ):
        moment = moment.replace(f"{{{field}}}", value)
    return ASK.format(
        question=cut_sentence(one),
        forget=forget,
        recover="\n".join(f"\t{line}" for line in ask_lines(one, shell)),
        moment=moment,
        begin=":" if one.returned else "asking=yes",
        done="moment; " if one.returned else "",
        step=STEP[one.model],
        after=IN_USE.format(block=one.damage.block) if one.model == "D" else "",
    )


def damaged_moment(one: Reproducer) -> str:
    at, bit = damage_place(one)
    flipped = FLIPPED.format(at=at, mask=1 << max(bit, 0))
    damage = DAMAGE.format(
        words=f"{one.damage.words} ({one.block})",
        used="yes" if one.block == NOTHING else "no",
        first=one.damage.block * BLOCK_BYTES + 1,
        change=flipped if bit >= 0 else ZEROED.format(sector=at // SECTOR_BYTES),
    )
    return damage + MOMENT_DAMAGED["both" if one.asks("as before") else "the disk alone"]
