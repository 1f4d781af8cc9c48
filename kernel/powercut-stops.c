// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks that stop where they enter or leave a function, once, while others go on.
 *
 * The compiler calls __cyg_profile_func_enter() and __cyg_profile_func_exit() at the entry and at the end of each
 * function of a filesystem (gcc's -finstrument-functions; kernel/stops.py says which folders). A task that was told
 * to stops there, where a preemptible kernel could have preempted it: no lock held that spins, interrupts on, RCU
 * not held (preemptible(), which CONFIG_PREEMPT_COUNT makes true to its name). So what comes of it is what may come
 * of that kernel on a machine with other work, and no new behaviour.
 *
 * A moment is "FUNCTION", or "OUTER:FUNCTION" for that function while the same task is in OUTER, and "enter" or
 * "leave". /proc/powercut-stops takes one command a write:
 *
 *	near FUNCTION			what comes is counted within this function, too; until off
 *	count				count moments from here on, by task
 *	stop MOMENT enter|leave N MS	the writer stops at this moment the Nth time, until go, or for so long
 *	workers MOMENT enter|leave N MS	the same of the kernel's own threads, all together
 *	mine				the writer is not to stop any more
 *	go				who has stopped goes on
 *	off				go, and nobody counts or stops any more
 *
 * and says, a line each: "stopped N" (how many have stopped and not gone on), "hit N" (how many have stopped since
 * the first command after "off"), and "TASK MOMENT enter|leave N CALLED" for what was counted, the task 0 for threads
 * of the kernel; CALLED of these N times OUTER itself called the function. A function whose name another one has is not
 * counted, since it could not be named.
 */
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#define COUNTERS_BITS 15 /* some hundred functions in each call of some dozen, twice, and within others */
#define COUNTERS (1 << COUNTERS_BITS)
#define STOPS 8
#define OUTERS 64
#define WITHIN 64
#define COMMAND_BYTES 320
#define SHOWN_BYTES (1 << 20) /* or all is looked up again for each size that is too small */

struct moment {
	void *function, *outer; /* outer: NULL for anywhere */
	bool leaving;
};

struct counter {
	struct moment moment;
	pid_t task;
	unsigned int times, called; /* called: by the outer function itself */
};

struct stop {
	struct moment moment;
	pid_t task;
	unsigned int left, milliseconds; /* left: times until it stops, 0 for none */
};

/* How deep a task is in a function that somebody asks about. */
struct within {
	void *outer;
	pid_t pid;
	unsigned int depth; /* calls of it that have not returned; 0: this place is free */
	int level; /* calls of others from there on, kept while moments are counted */
};

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static DEFINE_SPINLOCK(lock);
static DEFINE_MUTEX(reading);
static DECLARE_WAIT_QUEUE_HEAD(gone_on);
static struct counter *counters;
static struct stop stops[STOPS];
static struct within withins[WITHIN];
static void *near[OUTERS]; /* for counting */
static void *outers[OUTERS]; /* of those and of stops, which is what depths are kept of */
static bool active, counting;
static unsigned int gone, hits;
static atomic_t stopped = ATOMIC_INIT(0);

/* Threads of the kernel are one task here: which of them does the work is chance. */
static pid_t this_task(void)
{
	return current->flags & PF_KTHREAD ? 0 : current->pid;
}

static void count(struct moment moment, pid_t task, bool called)
{
	unsigned long key = (unsigned long)moment.function * 3 ^ (unsigned long)moment.outer ^ moment.leaving;
	u32 place = hash_64(key ^ (u64)task << 32, COUNTERS_BITS);

	for (int tries = 0; tries < COUNTERS; tries++, place = (place + 1) % COUNTERS) {
		struct counter *one = &counters[place];

		if (!one->moment.function) {
			one->moment = moment;
			one->task = task;
		}
		if (one->moment.function == moment.function && one->moment.outer == moment.outer &&
		    one->moment.leaving == moment.leaving && one->task == task) {
			one->times++;
			one->called += called;
			return;
		}
	}
}

static struct within *within(void *outer)
{
	for (int i = 0; i < WITHIN; i++)
		if (withins[i].depth && withins[i].outer == outer && withins[i].pid == current->pid)
			return &withins[i];
	return NULL;
}

/* For how long, 0 for no stop. */
static unsigned int to_stop(struct moment moment, pid_t task)
{
	for (int i = 0; i < STOPS; i++) {
		struct stop *one = &stops[i];

		if (one->left && one->moment.function == moment.function && one->moment.leaving == moment.leaving &&
		    one->task == task && (!one->moment.outer || within(one->moment.outer)) && !--one->left)
			return one->milliseconds;
	}
	return 0;
}

static void look(struct moment moment)
{
	unsigned int milliseconds, before;
	pid_t task = this_task();

	spin_lock(&lock);
	if (counting) {
		count(moment, task, false);
		for (int i = 0; i < OUTERS && near[i]; i++) {
			struct within *one = within(near[i]);

			moment.outer = near[i];
			/* An entry comes before the level that it makes, and a return before that is taken back. */
			if (one)
				count(moment, task, one->level == moment.leaving);
		}
	}
	milliseconds = to_stop(moment, task);
	before = gone;
	hits += milliseconds ? 1 : 0;
	spin_unlock(&lock);
	if (!milliseconds)
		return;
	atomic_inc(&stopped);
	wait_event_timeout(gone_on, READ_ONCE(gone) != before, msecs_to_jiffies(milliseconds));
	atomic_dec(&stopped);
}

/* A task that is about to sleep has said so in its state, which sleeping here would change. */
static bool may_stop(void)
{
	return preemptible() && READ_ONCE(current->__state) == TASK_RUNNING;
}

static bool is_outer(void *function)
{
	for (int i = 0; i < OUTERS && READ_ONCE(outers[i]); i++)
		if (outers[i] == function)
			return true;
	return false;
}

/* Depths are kept where a task may not stop, too. Interrupts never come here, so the lock need not keep them off. */
static void go_in_or_out(void *function, bool leaving)
{
	struct within *mine = NULL, *unused = NULL;
	bool outer = is_outer(function);

	if (!in_task() || (!outer && !counting))
		return;
	spin_lock(&lock);
	for (int i = 0; counting && i < WITHIN; i++)
		if (withins[i].depth && withins[i].pid == current->pid && withins[i].outer != function)
			withins[i].level += leaving ? -1 : 1;
	for (int i = 0; outer && i < WITHIN; i++) {
		struct within *one = &withins[i];

		if (!one->depth)
			unused = unused ?: one;
		else if (one->outer == function && one->pid == current->pid)
			mine = one;
	}
	if (mine)
		mine->depth += leaving ? -1 : 1;
	else if (unused && !leaving)
		*unused = (struct within){ function, current->pid, 1, 0 };
	spin_unlock(&lock);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
	if (likely(!READ_ONCE(active)))
		return;
	if (may_stop())
		look((struct moment){ function, NULL, false });
	go_in_or_out(function, false);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	if (likely(!READ_ONCE(active)))
		return;
	if (may_stop())
		look((struct moment){ function, NULL, true });
	go_in_or_out(function, true);
}

static void go_on(void)
{
	WRITE_ONCE(gone, gone + 1);
	wake_up_all(&gone_on);
}

static void forget(pid_t task)
{
	for (int i = 0; i < STOPS; i++)
		if (stops[i].task == task)
			stops[i].left = 0;
}

/* Errors: as kept in result, an errno. */
static int add_outer(void *list[OUTERS], void *function)
{
	for (int i = 0; i < OUTERS; i++) {
		if (list[i] && list[i] != function)
			continue;
		WRITE_ONCE(list[i], function);
		return 0;
	}
	return -ENOSPC;
}

static int add_near(const char *name)
{
	void *function = (void *)kallsyms_lookup_name(name);

	if (!function)
		return -ENOENT;
	return add_outer(near, function) ?: add_outer(outers, function);
}

/* name: of a moment; its ':' is taken out. */
static int add_stop(pid_t task, char *name, const char *which, unsigned int times, unsigned int milliseconds)
{
	char *function = strchr(name, ':');
	struct moment moment = { .leaving = !strcmp(which, "leave") };

	if (!times || !milliseconds || (!moment.leaving && strcmp(which, "enter")))
		return -EINVAL;
	if (function) {
		*function++ = 0;
		moment.outer = (void *)kallsyms_lookup_name(name);
	}
	moment.function = (void *)kallsyms_lookup_name(function ?: name);
	if (!moment.function || (function && !moment.outer))
		return -ENOENT;
	if (moment.outer && add_outer(outers, moment.outer))
		return -ENOSPC;
	for (int i = 0; i < STOPS; i++) {
		if (stops[i].left)
			continue;
		stops[i] = (struct stop){ moment, task, times, milliseconds };
		return 0;
	}
	return -ENOSPC;
}

static void end_all(void)
{
	memset(stops, 0, sizeof(stops));
	memset(withins, 0, sizeof(withins));
	memset(near, 0, sizeof(near));
	memset(outers, 0, sizeof(outers));
	counting = active = false;
	go_on();
}

static int command(char *text)
{
	char name[COMMAND_BYTES], which[8];
	unsigned int times, milliseconds;
	int result = 0;

	spin_lock(&lock);
	if (!active)
		hits = 0;
	if (!strcmp(text, "count")) {
		memset(counters, 0, COUNTERS * sizeof(*counters));
		counting = active = true;
	} else if (sscanf(text, "near %319s", name) == 1) {
		result = add_near(name);
	} else if (sscanf(text, "stop %319s %7s %u %u", name, which, &times, &milliseconds) == 4) {
		result = add_stop(current->pid, name, which, times, milliseconds);
		active = true;
	} else if (sscanf(text, "workers %319s %7s %u %u", name, which, &times, &milliseconds) == 4) {
		result = add_stop(0, name, which, times, milliseconds);
		active = true;
	} else if (!strcmp(text, "mine")) {
		forget(current->pid);
	} else if (!strcmp(text, "go")) {
		go_on();
	} else if (!strcmp(text, "off")) {
		end_all();
	} else {
		result = -EINVAL;
	}
	spin_unlock(&lock);
	return result;
}

static ssize_t stops_write(struct file *file, const char __user *from, size_t length, loff_t *offset)
{
	char text[COMMAND_BYTES];
	int result;

	if (length >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, length))
		return -EFAULT;
	text[length] = 0;
	result = command(strim(text));
	return result ? result : length;
}

/* Whether no other function has this name. */
static bool named(void *function, char name[KSYM_NAME_LEN])
{
	snprintf(name, KSYM_NAME_LEN, "%ps", function);
	return (void *)kallsyms_lookup_name(name) == function;
}

static int stops_show(struct seq_file *out, void *unused)
{
	static char name[KSYM_NAME_LEN], outer[KSYM_NAME_LEN];

	seq_printf(out, "stopped %d\nhit %u\n", atomic_read(&stopped), hits);
	mutex_lock(&reading);
	for (int i = 0; counting && i < COUNTERS; i++) {
		struct counter one;

		spin_lock(&lock);
		one = counters[i];
		spin_unlock(&lock);
		if (!one.moment.function || !named(one.moment.function, name))
			continue;
		if (one.moment.outer && !named(one.moment.outer, outer))
			continue;
		seq_printf(out, "%d %s%s%s %s %u %u\n", one.task, one.moment.outer ? outer : "",
			   one.moment.outer ? ":" : "", name, one.moment.leaving ? "leave" : "enter", one.times,
			   one.called);
	}
	mutex_unlock(&reading);
	return 0;
}

static int stops_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, stops_show, NULL, READ_ONCE(counting) ? SHOWN_BYTES : PAGE_SIZE);
}

static const struct proc_ops operations = {
	.proc_open = stops_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_write = stops_write,
	.proc_release = single_release,
};

static int __init begin(void)
{
	counters = kcalloc(COUNTERS, sizeof(*counters), GFP_KERNEL);
	if (!counters || !proc_create("powercut-stops", 0600, NULL, &operations))
		return -ENOMEM;
	return 0;
}
fs_initcall(begin);
