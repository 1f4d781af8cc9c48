"""
The log of an exported C program, replayed: one disk after the other is asked.

In:       a Reproducer whose way is the log.
Out:      the functions that do it; `replay()` is 1 when a promise was broken.
Not here: the program around them (export_c.py), the same in a shell (replay_sh.py).
"""

from oracles.faults.damage import NOTHING
from oracles.spec import BLOCK_BYTES, SECTOR_BYTES
from reports.programs.export import TEARS, Reproducer, c_text, damage_place, mount_line
from reports.programs.threads_c import reading

READING = """
/*
 * The format of the log: drivers/md/dm-log-writes.c. Place and length are in sectors of the log.
 */
struct super { uint64_t magic, version, entries; uint32_t sector_bytes; } __attribute__((packed));
struct entry { uint64_t sector, sectors, flags, text_bytes; };
struct record { struct entry entry; off_t data; char text[64]; };
enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8 };

static int broken, asking;
static size_t unit;

static int ask(void);

static int open_work(const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	int file = open(path, flags);

	check(file, name);
	return file;
}

/* Write the first sectors of an entry's data to a disk. */
static unused void put(const char *disk, int log, const struct record *record, uint64_t sectors)
{
	size_t bytes = sectors * unit;
	char *data = calloc(1, bytes + 1);
	int file = open_work(disk, O_WRONLY);

	if (record->entry.flags & MARK)
		bytes = 0;
	else if (!(record->entry.flags & DISCARD))
		check(pread(log, data, bytes, record->data) == (ssize_t)bytes ? 0 : -1, "the log");
	ssize_t done = pwrite(file, data, bytes, record->entry.sector * unit);

	check(done == (ssize_t)bytes ? 0 : -1, disk);
	close(file);
	free(data);
}

/* Call step for each entry of a log, until it returns nonzero. */
static void each(const char *name, int (*step)(int log, const struct record *record))
{
	struct super super;
	int log = open_work(name, O_RDONLY);

	check(pread(log, &super, sizeof(super), 0) == sizeof(super) ? 0 : -1, "the log");
	unit = super.sector_bytes;
	off_t at = unit;

	for (uint64_t i = 0; i < super.entries; i++) {
		struct record record = { .data = at + unit };
		struct entry *entry = &record.entry;

		check(pread(log, entry, sizeof(*entry), at) == sizeof(*entry) ? 0 : -1, "the log");
		size_t length = entry->text_bytes < 63 ? entry->text_bytes : 63;

		if (entry->flags & MARK)
			check(pread(log, record.text, length, at + sizeof(*entry)), "the log");
		at += unit;
		if (!(entry->flags & (DISCARD | MARK)))
			at += entry->sectors * unit;
		if (step(log, &record))
			break;
	}
	close(log);
}

#define STATE() must("cp --sparse=always \\"$W/base\\" \\"$W/state\\"")
"""

MOMENT = {
    "O": """
static void moment(int log unused)
{
	STATE();
	broken |= ask();
}
""",
    "R": """
/* The device may lose writes that no flush has followed: each of them alone, or all but one of them. */
static struct record window[4096];
static int count;

static int is_lost(int index, int one, int others)
{
	return index == one ? !others : others && !(window[index].entry.flags & FUA);
}

static void moment(int log)
{
	for (int one = 0; one < count; one++)
		for (int others = 0; others < 2 && !(window[one].entry.flags & FUA); others++) {
			STATE();
			for (int index = 0; index < count; index++)
				if (!is_lost(index, one, others))
					put("state", log, &window[index], window[index].entry.sectors);
			broken |= ask();
		}
}

static void keep(int log, const struct record *record)
{
	if (record->entry.flags & FLUSH) {
		for (int index = 0; index < count; index++)
			put("base", log, &window[index], window[index].entry.sectors);
		count = 0;
	}
	if (record->entry.flags & MARK || !record->entry.sectors)
		return;
	check(count < 4096 ? 0 : -1, "too many writes without a flush");
	window[count++] = *record;
}
""",
    "T": """
/* The power may fail in the middle of a write, between two units that the device writes atomically. In a
 * large write it is tried at TEARS places, spread evenly. */
static void tear(int log, const struct record *record)
{
	uint64_t atomic = ATOMIC / unit;
	uint64_t first = atomic - record->entry.sector % atomic;

	if (!asking || record->entry.flags & (DISCARD | MARK) || record->entry.sectors <= first)
		return;
	uint64_t apart = atomic * (1 + (record->entry.sectors - first) / atomic / TEARS);
	for (uint64_t n = first; n < record->entry.sectors && !broken; n += apart) {
		STATE();
		put("state", log, record, n);
		broken |= ask();
	}
}

static void moment(int log unused)
{
}
""",
    "N": """
/* The power may fail again while the filesystem recovers. The writes of recovery are in a second log. */
static int again(int log, const struct record *record)
{
	if (record->entry.flags & MARK || !record->entry.sectors)
		return 0;
	put("half", log, record, record->entry.sectors);
	must("cp --sparse=always \\"$W/half\\" \\"$W/state\\"");
	broken |= ask();
	return broken;
}

static void moment(int log unused)
{
	STATE();
	must(RECOVERY);
	must("cp --sparse=always \\"$W/base\\" \\"$W/half\\"");
	each("recovery", again);
}
""",
}
DAMAGE = """
/* The damage to the disk at rest: {words}. */
static int used = {used};

static void damage(void)
{{
	unsigned char block[4096];
	int file = open_work("state", O_RDWR);

	check(pread(file, block, sizeof(block), {start}LL) == sizeof(block) ? 0 : -1, "the disk");
	for (size_t i = 0; i < sizeof(block); i++)
		used |= block[i];
	{change}
	check(pwrite(file, block, sizeof(block), {start}LL) == sizeof(block) ? 0 : -1, "the disk");
	close(file);
}}

static void moment(int log unused)
{{
{asks}
}}
"""
ASK_DAMAGED = """\
	STATE();
	damage();
	broken |= ask();"""
ASK_BOTH = f"""\
	setenv("disk", "whole", 1);
	STATE();
	broken |= ask();
	setenv("disk", "damaged", 1);
{ASK_DAMAGED}"""
STEP = {
    "O": 'put("base", log, record, record->entry.sectors);',
    "R": "keep(log, record);",
    "T": 'tear(log, record);\n\tput("base", log, record, record->entry.sectors);',
    "N": 'put("base", log, record, record->entry.sectors);',
    "D": 'put("base", log, record, record->entry.sectors);',
}
IN_USE = """errno = 0;
	if (!used)
		cannot("block {block} is all zeros, so this filesystem has another layout");
	"""
REPLAY = """
static int step(int log, const struct record *record)
{{
	if (!strcmp(record->text, "begin"))
		asking = {within};
	if (!strcmp(record->text, "done")) {{
		if (!{within})
			moment(log);
		return 1;
	}}
	{step}
	if (asking)
		moment(log);
	return broken;
}}

static int replay(void)
{{
	each("log", step);
	{after}return broken;
}}
"""


def replay(one: Reproducer) -> str:
    """W is a folder with the log and `base`, the disk before it."""
    moment = damaged_moment(one) if one.model == "D" else MOMENT[one.model]
    moment = moment.replace("ATOMIC", f"{one.atomic_bytes}").replace("TEARS", f"{TEARS}")
    moment = moment.replace("RECOVERY", c_text("\n".join(recovery(one))))
    if one.parallel:
        return READING + moment + reading(one)
    after = IN_USE.format(block=one.damage.block) if one.model == "D" else ""
    step = REPLAY.format(within=int(not one.returned), step=STEP[one.model], after=after)
    return READING + moment + step


def damaged_moment(one: Reproducer) -> str:
    at, bit = damage_place(one)
    start = one.damage.block * BLOCK_BYTES
    flipped, zeroed = (
        f"block[{at - start}] ^= {1 << max(bit, 0)};",
        f"memset(block + {at - start}, 0, {SECTOR_BYTES});",
    )
    return DAMAGE.format(
        words=f"{one.damage.words} ({one.block})",
        used=int(one.block == NOTHING),
        start=start,
        change=flipped if bit >= 0 else zeroed,
        asks=ASK_BOTH if one.asks("as before") else ASK_DAMAGED,
    )


def recovery(one: Reproducer) -> list[str]:
    """Shell: the recovery of the disk `state`, recorded. What it is worth is asked later."""
    return [
        'rm -f "$W/recovery" && truncate -s 256M "$W/recovery" || exit 2',
        "btrfs device scan --forget >/dev/null 2>&1" if one.filesystem == "btrfs" else ":",
        'D=$(losetup -f --show "$W/state") && L=$(losetup -f --show "$W/recovery") || exit 2',
        'dmsetup create $N --table "0 $(blockdev --getsz $D) log-writes $D $L" || exit 2',
        f'{mount_line(one)} && umount "$M"',
        "dmsetup remove $N && losetup -d $D && losetup -d $L",
    ]
