// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks that stop at the entry of a function, once, while others go on.
 *
 * The compiler calls __cyg_profile_func_enter() at the entry of each function of a filesystem (gcc's
 * -finstrument-functions; kernel/stops.py says which folders). A task that was told to stops there, where a
 * preemptible kernel could have preempted it: no lock held that spins, interrupts on, RCU not held
 * (preemptible(), which CONFIG_PREEMPT_COUNT makes true to its name). So what comes of it is what may come of
 * that kernel on a machine with other work, and no new behaviour.
 *
 * /proc/powercut-stops takes one command a write:
 *
 *	count			count entries from here on, by task and function
 *	stop FUNCTION N MS	the writer stops at its Nth entry of the function, until go, or for so long
 *	workers FUNCTION N MS	the same of the kernel's own threads, all together
 *	mine			the writer is not to stop any more
 *	go			who has stopped goes on
 *	off			go, and nobody counts or stops any more
 *
 * and says, a line each: "stopped N" (how many have stopped and not gone on), "hit N" (how many have stopped since
 * the first command after "off"), and "TASK FUNCTION N" for what was counted, the task 0 for threads of the kernel.
 * A function whose name another one has is not counted, since it could not be named.
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

#define COUNTERS 8192 /* a power of two: some hundred functions in each call of some dozen */
#define STOPS 8
#define COMMAND_BYTES 160

struct counter {
	void *function;
	pid_t task;
	unsigned int entries;
};

struct stop {
	void *function;
	pid_t task;
	unsigned int left, milliseconds; /* left: entries until it stops, 0 for none */
};

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static DEFINE_SPINLOCK(lock);
static DEFINE_MUTEX(reading);
static DECLARE_WAIT_QUEUE_HEAD(gone_on);
static struct counter *counters;
static struct stop stops[STOPS];
static bool active, counting;
static unsigned int gone, hits;
static atomic_t stopped = ATOMIC_INIT(0);

/* Threads of the kernel are one task here: which of them does the work is chance. */
static pid_t this_task(void)
{
	return current->flags & PF_KTHREAD ? 0 : current->pid;
}

static void count(void *function, pid_t task)
{
	u32 place = hash_64((unsigned long)function ^ task, 13);

	for (int tries = 0; tries < COUNTERS; tries++, place = (place + 1) % COUNTERS) {
		struct counter *one = &counters[place];

		if (!one->function) {
			one->function = function;
			one->task = task;
		}
		if (one->function == function && one->task == task) {
			one->entries++;
			return;
		}
	}
}

/* For how long, 0 for no stop. */
static unsigned int to_stop(void *function, pid_t task)
{
	for (int i = 0; i < STOPS; i++) {
		struct stop *one = &stops[i];

		if (one->left && one->function == function && one->task == task && !--one->left)
			return one->milliseconds;
	}
	return 0;
}

static void look(void *function)
{
	unsigned int milliseconds, before;
	pid_t task = this_task();

	spin_lock(&lock);
	if (counting)
		count(function, task);
	milliseconds = to_stop(function, task);
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
void __cyg_profile_func_enter(void *function, void *caller)
{
	if (likely(!READ_ONCE(active)) || !preemptible() || READ_ONCE(current->__state) != TASK_RUNNING)
		return;
	look(function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
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

static int add_stop(pid_t task, const char *name, unsigned int entry, unsigned int milliseconds)
{
	void *function = (void *)kallsyms_lookup_name(name);

	if (!function)
		return -ENOENT;
	if (!entry || !milliseconds)
		return -EINVAL;
	for (int i = 0; i < STOPS; i++) {
		if (stops[i].left)
			continue;
		stops[i] = (struct stop){ function, task, entry, milliseconds };
		return 0;
	}
	return -ENOSPC;
}

static int command(char *text)
{
	char name[COMMAND_BYTES];
	unsigned int entry, milliseconds;
	int result = 0;

	spin_lock(&lock);
	if (!active)
		hits = 0;
	if (!strcmp(text, "count")) {
		memset(counters, 0, COUNTERS * sizeof(*counters));
		counting = active = true;
	} else if (sscanf(text, "stop %159s %u %u", name, &entry, &milliseconds) == 3) {
		result = add_stop(current->pid, name, entry, milliseconds);
		active = true;
	} else if (sscanf(text, "workers %159s %u %u", name, &entry, &milliseconds) == 3) {
		result = add_stop(0, name, entry, milliseconds);
		active = true;
	} else if (!strcmp(text, "mine")) {
		forget(current->pid);
	} else if (!strcmp(text, "go")) {
		go_on();
	} else if (!strcmp(text, "off")) {
		memset(stops, 0, sizeof(stops));
		counting = active = false;
		go_on();
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

static int stops_show(struct seq_file *out, void *unused)
{
	char name[KSYM_NAME_LEN];

	seq_printf(out, "stopped %d\nhit %u\n", atomic_read(&stopped), hits);
	mutex_lock(&reading);
	for (int i = 0; i < COUNTERS; i++) {
		struct counter one;

		spin_lock(&lock);
		one = counters[i];
		spin_unlock(&lock);
		if (!one.function)
			continue;
		snprintf(name, sizeof(name), "%ps", one.function);
		if ((void *)kallsyms_lookup_name(name) == one.function)
			seq_printf(out, "%d %s %u\n", one.task, name, one.entries);
	}
	mutex_unlock(&reading);
	return 0;
}

static int stops_open(struct inode *inode, struct file *file)
{
	return single_open(file, stops_show, NULL);
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
