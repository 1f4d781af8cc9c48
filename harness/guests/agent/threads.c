// SPDX-License-Identifier: GPL-2.0-only
/*
 * A parallel block: its threads begin together, the first one first, and it ends when all of them have ended.
 *
 * A guest with one processor has a kernel that is not preempted, so threads take turns where one of them waits:
 * for a write of the device, a lock, a commit. With several (--cpus) they meet anywhere in the kernel. A thread
 * also yields after each of its operations, and `await` lets it begin when the others are in the middle of theirs: it counts the writes of
 * the device, which the others are waiting for one by one.
 *
 * `stop` lets a call stop in the middle of the kernel (stops.c); an `await` ends there, too.
 *
 * For that the disk is slow while a block runs, unless the program says 0 milliseconds: a write to memory is done
 * before the other thread has looked.
 * "fsync A/foo" on btrfs beside "await 1; fsync A/foo", with a bug that shows when the second returns while the
 * first one waits for its log: seen in 1 of 5 recordings on the disk as it is.
 */
#include "agent.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct doing {
	struct operation operation;
	struct outcome outcome;
};

static struct doing *block;
static bool stopping; /* the block has a `stop` */
static bool slow;
static int block_count;
static atomic_int turn, running, awaiting;
static int statistics = -1;
static uint64_t writes_before;

/* Writes that the recorded device has done: Documentation/block/stat.rst, the fifth number. */
static uint64_t writes_done(void)
{
	unsigned long long writes = 0;
	char text[256];
	ssize_t length = pread(statistics, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = 0;
	if (sscanf(text, "%*u %*u %*u %*u %llu", &writes) != 1)
		die("the statistics of the recorded device");
	return writes;
}

static void count_from_here(void)
{
	struct stat status;
	char path[64];

	if (stat(log_writes_device, &status))
		die("stat the recorded device");
	snprintf(path, sizeof(path), "/sys/block/dm-%d/stat", (int)minor(status.st_rdev));
	statistics = open(path, O_RDONLY);
	writes_before = writes_done();
}

/* Not sched_yield(2): after that the scheduler lets whoever polls, as dm-delay's thread does, have its whole
 * turn, in which a commit is done. */
static void let_others(void)
{
	usleep(100);
}

/* Until they are done, or no other thread is left that could do them; and then a time in which the threads that
 * waited for a write, too, are under way. */
int await_writes(uint64_t count, uint64_t microseconds)
{
	awaiting++;
	while (writes_done() - writes_before < count && awaiting < running && !(stopping && stops_hit()))
		let_others();
	awaiting--;
	if (microseconds)
		usleep(microseconds);
	return 0;
}

static bool makes(const struct operation *operation)
{
	static const char *const words[] = { "creat", "mkdir", "mknod", "mkfifo", "symlink", "open", "tmpfile" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(operation->word, words[i]))
			return true;
	return false;
}

/* Whom it was about: what the call opened, else what is there before and after it; 0 where nobody knows.
 * done: the operation whose end the first mark tells, too, -1 for none; told: whether a mark of our own tells ours. */
static void perform_beside(struct doing *doing, int done, bool told)
{
	const struct operation *operation = &doing->operation;
	uint64_t before = 0;
	struct stat status;

	if (operation->path[0])
		object_status(operation->path, follows(operation), &status, &before);
	called.known = false;
	mark_between(done, operation);
	int result = do_operation(operation) ? -errno : 0;

	doing->outcome = look(operation, result);
	doing->outcome.left = left_by_rename(operation);
	if (told)
		mark_done(operation);
	if (called.known && operation->path[0])
		doing->outcome.number = called.number;
	else if (!makes(operation) && doing->outcome.number != before)
		doing->outcome.number = 0;
}

/* Each on a processor of its own, where there are several: or the scheduler leaves them beside each other. */
static void take_processor(int number)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t mine;

	if (count < 2)
		return;
	CPU_ZERO(&mine);
	CPU_SET(number % count, &mine);
	sched_setaffinity(0, sizeof(mine), &mine); /* of a machine it may be one that we are not let on */
}

static bool is_word(int i, const char *word)
{
	return !strcmp(block[i].operation.word, word);
}

static bool waits(int i)
{
	return is_word(i, "await") || is_word(i, "stop");
}

/* Of the thread whose call was to stop: whether it did is told as the blocks of its `stop`. */
static void end_stop(int *asked, unsigned int before)
{
	if (*asked < 0)
		return;
	if (!stops_of_kernel(&block[*asked].operation))
		stops_forget();
	block[*asked].outcome.blocks = stops_hit() > before;
	*asked = -1;
}

/* Where writes take no time a mark is a large part of a call, so one stands for an end and the next begin. */
static void *run_thread(void *number)
{
	thread_number = (int)(intptr_t)number;
	take_processor(thread_number);
	while (turn != thread_number)
		sched_yield();
	turn++;
	int done = -1, asked = -1;
	unsigned int before = 0;
	for (int i = 0; i < block_count; i++) {
		if (block[i].operation.thread != thread_number)
			continue;
		bool told = slow || waits(i) || i + 1 == block_count || waits(i + 1) ||
			    block[i + 1].operation.thread != thread_number;

		perform_beside(&block[i], done, told);
		if (is_word(i, "stop")) {
			before = stops_hit();
			asked = i;
		} else if (!is_word(i, "await")) {
			end_stop(&asked, before);
		}
		done = told ? -1 : block[i].operation.index;
		if (slow && !waits(i))
			let_others();
	}
	end_stop(&asked, before);
	running--;
	if (stopping && running && awaiting + (int)stops_now() >= running)
		stops_go_on();
	return NULL;
}

static int thread_count(void)
{
	return block[block_count - 1].operation.thread; /* thread by thread, counted from 1 */
}

/* dm-delay, where a write takes so many milliseconds, and a read half of them. */
static void slow_down(const struct program *program)
{
	char table[128];

	snprintf(table, sizeof(table), "%s 0 %d %s 0 %d", RECORDED_DISK, (program->block_ms + 1) / 2, RECORDED_DISK,
		 program->block_ms);
	under_table(program->sectors, "delay", table);
}

void perform_block(struct program *program, const struct operation *first, bool first_of_all)
{
	pthread_t threads[THREADS_MAX];

	block_count = first->beside;
	block = calloc(block_count, sizeof(*block));
	if (!block)
		die("calloc");
	block[0].operation = *first;
	for (int i = 1; i < block_count; i++)
		if (!next_operation(program, &block[i].operation))
			die("program: a parallel block that is not whole");
	int count = thread_count();

	stopping = false;
	for (int i = 0; i < block_count; i++)
		stopping |= is_word(i, "stop");
	if (count > THREADS_MAX)
		die("program: too many threads");
	bool slowed = program->block_ms && !late_now();

	slow = program->block_ms;
	if (slowed)
		slow_down(program);
	count_from_here();
	running = count;
	turn = 0;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)(i + 1)))
			die("pthread_create");
	turn = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	close(statistics);
	if (stopping)
		stops_end();
	if (slowed)
		under_table(program->sectors, "linear", RECORDED_DISK " 0");
	for (int i = 0; i < block_count; i++) {
		put(&report, first_of_all && !i ? "" : ",");
		put_outcome(&block[i].operation, &block[i].outcome);
		put(&report, "}");
	}
	free(block);
}
