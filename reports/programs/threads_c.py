"""
Parallel blocks in an exported C program: threads that take turns as those of a recording do.

In:       a Reproducer whose run has blocks.
Out:      functions of C: what runs beside each other, the marks of each operation in the log, and the reading
          of these marks when the log is replayed.
Not here: the operations' own calls and the program around them (export_c.py), the log's replay (replay_c.py),
          ours in a guest (harness/guests/agent/threads.c).

While a block runs the disk is slow, so that a thread meets the others in the middle of their calls, and
`await` counts the device's writes. When the log is replayed, nobody knows in which order the calls of a block
came: a disk is asked where all had returned on which the promise rests, and nothing had begun that the
finding had not seen begin. Threads that do the same may change places. Where none of that comes about the
program says so.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from reports.programs.export import NotInThisForm, Reproducer, c_text
from workloads.text import format_operation
from workloads.workload import Operation

INCLUDES = "#include <linux/dm-ioctl.h>\n#include <pthread.h>\n#include <stdatomic.h>\n"
SLOW = "delay $D 0 10 $D 0 20"  # dm-delay: ms of a read and of a write (harness/guests/agent/threads.c)
FAST = "linear $D 0"
BELOW_LOG = "$N-slow"
CALLS_MAX = 64  # bits

HELPERS = """
/* Shared by the threads. A mark is written with an ioctl, because starting dmsetup takes too long. */
static int control;
static int statistics = -1;
static unsigned long long writes_before;
static atomic_int turn, running, awaiting;

static void mark(const char *what, int index)
{
	union {
		struct dm_ioctl header;
		char bytes[sizeof(struct dm_ioctl) + sizeof(struct dm_target_msg) + 64];
	} own = { .bytes = "" };
	struct dm_target_msg *message = (void *)(own.bytes + sizeof(own.header));

	own.header.version[0] = 4;
	own.header.data_size = sizeof(own);
	own.header.data_start = sizeof(own.header);
	strcpy(own.header.name, getenv("N"));
	snprintf(message->message, 64, "mark %s-%d", what, index);
	check(ioctl(control, DM_TARGET_MSG, &own), "mark");
}

/* The number of completed writes: the fifth field of Documentation/block/stat.rst. */
static unsigned long long writes_done(void)
{
	unsigned long long writes = 0;
	char text[256];
	ssize_t length = pread(statistics, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = 0;
	check(sscanf(text, "%*u %*u %*u %*u %llu", &writes) == 1 ? 0 : -1, "the device's statistics");
	return writes;
}

static void let_others(void)
{
	usleep(100);
}

/* Wait until the device has completed this many writes, or no other thread can make more; then for a time. */
static void unused await_writes(unsigned long long count, unsigned long microseconds)
{
	awaiting++;
	while (writes_done() - writes_before < count && awaiting < running)
		let_others();
	awaiting--;
	usleep(microseconds);
}

static void my_turn(int number)
{
	while (turn != number)
		let_others();
	turn++;
}

static void beside(int count, void *(*const doing[])(void *))
{
	pthread_t threads[8];
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/dev/mapper/%s", getenv("N"));
	check(stat(path, &status), path);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(status.st_rdev), minor(status.st_rdev));
	statistics = open(path, O_RDONLY);
	check(statistics, path);
	writes_before = writes_done();
	turn = 0;
	running = count;
	for (int i = 0; i < count; i++)
		check(-pthread_create(&threads[i], NULL, doing[i], NULL), "pthread_create");
	turn = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	close(statistics);
}
"""

NOTE = """
/*
 * Bit masks of calls, counted from the first call of the run: the calls that the promise needs, and the calls
 * that may have begun. Threads that do the same are interchangeable.
 */
static const struct {{
	uint64_t returned, begun;
}} moments[] = {{ {moments} }};
static uint64_t have_returned, have_begun;
static int came_about;

static void note(const char *text)
{{
	int index;

	if (sscanf(text, "begin-%d", &index) == 1)
		have_begun |= 1ULL << (index - {first});
	if (sscanf(text, "done-%d", &index) == 1)
		have_returned |= 1ULL << (index - {first});
	asking = 0;
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
		asking |= !(moments[i].returned & ~have_returned) && !(have_begun & ~moments[i].begun);
	came_about |= asking;
}}
"""
STEP = """
static int step(int log, const struct record *record)
{
	int before = asking;

	note(record->text);
	put("base", log, record, record->entry.sectors);
	if (asking && (!before || !(record->entry.flags & MARK)))
		moment(log);
	return broken || !strcmp(record->text, "end");
}

static int replay(void)
{
	each("log", step);
	errno = 0;
	if (!came_about)
		cannot("the calls did not happen in that order this time");
	return broken;
}
"""

Lines = Callable[[Operation, int], list[str]]


def blocks_of(one: Reproducer) -> dict[int, list[tuple[int, Operation]]]:
    """By number the operations of each block, with their indexes."""
    found: dict[int, list[tuple[int, Operation]]] = {}
    for index, operation in enumerate(one.run, len(one.setup)):
        if operation.parallel:
            found.setdefault(operation.parallel, []).append((index, operation))
    return found


def functions(one: Reproducer, call: Lines) -> str:
    """One a thread. call: the lines of an operation."""
    parts = [HELPERS]
    for number, block in blocks_of(one).items():
        for thread in _threads(block):
            doing = [each for each in block if each[1].thread == thread]
            parts.append(_function(number, thread, doing, call))
    return "".join(parts)


def _threads(block: Sequence[tuple[int, Operation]]) -> list[int]:
    return list(dict.fromkeys(operation.thread for _, operation in block))


def _function(number: int, thread: int, doing: Sequence[tuple[int, Operation]], call: Lines) -> str:
    lines = [f"\tmy_turn({thread});"]
    for index, operation in doing:
        lines.append(f"\t/* {format_operation(operation).replace('*/', '* /')} */")
        if operation.word == "await":
            lines.append(f"\tawait_writes({operation.length}, {operation.offset});")
            continue
        lines += marked(index, [f"\t{line}" for line in call(operation, index)])
        lines.append("\tlet_others();")
    lines += ["\trunning--;", "\treturn NULL;"]
    return "\n".join(
        ["", f"static void *{_name(number, thread)}(void *nothing unused)", "{", *lines, "}", ""]
    )


def _name(number: int, thread: int) -> str:
    return f"block_{number}_thread_{thread}"


def marked(index: int, lines: list[str]) -> list[str]:
    return [f'\tmark("begin", {index});', *lines, f'\tmark("done", {index});']


def block_lines(one: Reproducer, number: int, below: str) -> list[str]:
    """In main(). below: shell that finds D and S."""
    names = [_name(number, thread) for thread in _threads(blocks_of(one)[number])]
    return [
        "\t/* In parallel, on a slow disk. */",
        f"\tmust({c_text(_table(below, SLOW))});",
        f"\tbeside({len(names)}, (void *(*const[])(void *)){{{', '.join(names)}}});",
        f"\tmust({c_text(_table(below, FAST))});",
    ]


def _table(below: str, target: str) -> str:
    load = f'dmsetup load {BELOW_LOG} --table "0 $S {target}"'
    return f"{below} && dmsetup suspend --nolockfs {BELOW_LOG} && {load} && dmsetup resume {BELOW_LOG}"


def reading(one: Reproducer) -> str:
    """In place of the replay of a program without threads. Errors: NotInThisForm."""
    if len(one.run) > CALLS_MAX:
        raise NotInThisForm(f"a program with threads can record at most {CALLS_MAX} calls")
    first = len(one.setup)

    def mask(indexes: Sequence[int], places: Mapping[int, int]) -> int:
        return sum(1 << (places.get(index, index) - first) for index in indexes)

    masks = dict.fromkeys((mask(one.ended, at), mask(one.begun, at)) for at in exchanges(one))
    return NOTE.format(first=first, moments=", ".join(f"{{ {a:#x}, {b:#x} }}" for a, b in masks)) + STEP


def exchanges(one: Reproducer) -> Iterator[dict[int, int]]:
    """Every way in which threads that do the same may change places, by index of the calls."""
    of_blocks = [list(_exchanges(block)) for block in blocks_of(one).values()]
    for chosen in itertools.product(*of_blocks):
        yield {index: place for places in chosen for index, place in places.items()}


def _exchanges(block: Sequence[tuple[int, Operation]]) -> Iterator[dict[int, int]]:
    calls = [
        [(index, format_operation(op)) for index, op in block if op.thread == thread and op.word != "await"]
        for thread in _threads(block)
    ]
    for order in itertools.permutations(calls):
        pairs = list(zip(calls, order, strict=True))
        if all([text for _, text in a] == [text for _, text in b] for a, b in pairs):
            yield {i: j for a, b in pairs for (i, _), (j, _) in zip(a, b, strict=True)}
