/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent: the only process of a guest, or a program of root on a machine (machine.c). It does what the host asks
 * and says what it saw; it decides nothing about right and wrong.
 *
 * Devices (see harness/guests/spec.py): four block devices, named below whatever the guest's own names
 * are; commands and answers are lines on LINE.
 */
#ifndef AGENT_H
#define AGENT_H

#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define MOUNT_POINT "/mnt"
#define RECORDED_DISK "/dev/disk"
#define RECORDED_LOG "/dev/log"
#define INBOX "/dev/inbox" /* host to guest */
#define OUTBOX "/dev/outbox" /* guest to host */
#define LINE "/dev/line"
#define RECORDED_DEVICE "/dev/recorded"
#define GATE_DEVICE "/dev/gate" /* above the recorded device, where a workload crashes */
#define DOWN_ALWAYS "0 1" /* flakey's up and down intervals, s */
#define UNDER_DEVICE "/dev/under" /* between the recorded device and its disk, where something is to be changed */
#define ORIGIN "/dev/ram0" /* the disk of a state */
#define CHANGES_0 "/dev/ram1" /* what its recovery wrote: dm-snapshot exception stores, in turn */
#define CHANGES_1 "/dev/ram2"
#define STATE_DEVICE "/dev/state"
#define BLOCK_BYTES 4096 /* chunk of the snapshot, unit of what is sent back */
#define SECTOR_BYTES 512
#define PATH_BYTES 4096
#define CLOCK_STARTS 1000000000 /* no guest's clock shows an earlier second; workloads/text.py: SECONDS_MAX */
#define THREADS_MAX 4 /* workloads/threads.py */

/* text.c: the report under construction, JSON in one buffer that is never freed. */
struct text {
	char *bytes;
	size_t length;
	size_t capacity;
};

extern struct text report;
void text_start(struct text *text, size_t capacity);
const char *at_page_end(const char *path, size_t length);
void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_bytes(struct text *text, const void *bytes, size_t length);
void put_escaped(struct text *text, const char *bytes, size_t length);
void put_string(struct text *text, const char *bytes, size_t length);
void put_hex(struct text *text, const unsigned char *bytes, size_t length);
size_t from_hex(char *text);
void put_kernel_log(struct text *text);
void clear_kernel_log(void);
int kernel_log_lines(void);
const char *kernel_record(int file, int *level);
enum { CONSOLE_QUIET = 4, CONSOLE_WARNINGS = 5 }; /* "quiet" of the command line; KERN_WARNING is 4 */
void console_level(int level);
const char *errno_name(int error);

/* device.c: device mapper, the disk of a state, what changed on it. */
extern const char *device_prefix;
void device_mapper_start(void);
void device_start(void);
bool device_try_remove(const char *name);
void log_writes_create(uint64_t sectors, bool with_under);
void under_table(uint64_t sectors, const char *type, const char *parameters);
void log_writes_mark(const char *mark);
void log_writes_flush(void);
void log_writes_detach(uint64_t sectors);
void log_writes_remove(void);
extern const char *log_writes_device;
void gate_create(uint64_t sectors);
void gate_drop(uint64_t sectors, bool drops);
void late_want(uint64_t seed);
void late_begin(uint64_t sectors);
void late_end(uint64_t sectors);
bool late_now(void);
void origin_clear(void);
void origin_copy(const char *path, uint64_t sectors);
void origin_write(const void *data, uint64_t offset, uint32_t length);
struct segment { /* sectors, and the target that serves them */
	uint64_t start, length;
	const char *type;
	char parameters[128];
};

void device_create(const char *name, const char *node);
bool device_table(const char *name, const struct segment *segments, size_t count);
bool device_message(const char *name, const char *text);
const char *device_asked(const char *name, const char *text);
void device_remove(const char *name);
bool device_has_target(const char *name);
int device_open_count(const char *name);
enum store { STORE_SMALL, STORE_WHOLE, STORE_TELLS };
const char *state_device(uint64_t sectors, enum store store);
void state_device_readahead(bool wanted);
const char *state_device_read(void);
const char *state_device_wrote(void);
enum written { WRITTEN_NOTHING, WRITTEN_SOMETHING, WRITTEN_TOO_MUCH };
enum written state_device_written(void);
bool state_device_failed(void);
#define CHANGED_SECTORS_SHIFT 56 /* of the number of a changed block: which of its sectors, 0 for all */
uint32_t changes_read(char *buffer, size_t capacity, uint64_t *numbers);

/* slices.c: a filesystem on several devices. */
int slices_mount(const char *device, const char *filesystem, unsigned long flags, const char *options);
void slices_remove(void);
bool slices_without(int slice, bool without);

/* scrub.c: of btrfs on several devices. */
void put_scrub(struct text *out);

/* quota.c */
void put_quota(struct text *out, const char *device);

/* layers.c: overlayfs above the filesystem. */
int disk_mount(const char *device, const char *filesystem, unsigned long flags, const char *options);
bool layers_wanted(const char *options);
void layers_add(const char *device, const char *filesystem, const char *options);

/* proofs.c: a state of which nothing differs that an earlier recovery read. */
void proofs_forget(void);
void proofs_written(const void *data, uint64_t offset, uint32_t length);
void proofs_zeros(void);
int64_t proofs_find(bool *first_probe);
void proofs_add(uint32_t sequence, bool first_probe);

/* walk.c: `walked` lists the last walk's names, parents before children, for the probe. */
#define WALKED_MAX 65536

struct walked {
	char paths[1 << 22];
	char *path[WALKED_MAX];
	bool directory[WALKED_MAX];
	bool locked[WALKED_MAX]; /* immutable or append only: the probe must open that first */
	size_t used;
	int count;
	bool truncated;
};

extern struct walked walked;
/* What the walk reports only when asked: inode flags, extents, times of files and of directories. */
extern struct walk_asks {
	bool flags, extents, times, directory_times;
	bool hashes; /* of a file's content its hash alone */
	bool attribute_hashes; /* and of a long attribute */
} walk_asks;
struct timespec;
long long nanoseconds(const struct timespec *time);
const char *kind_name(unsigned int mode);
void walk(struct text *out);
void put_left_file(struct text *out, const char *path);

/* counters.c: what a kernel of the config variant gcov counted while the run part of a workload ran. */
void counters_start(void);
void counters_reset(void);
void counters_keep(const char *filesystem); /* of its files */
const struct text *counters_kept(void);

/* calls.c */
struct operation {
	bool run;
	int index;
	int beside, thread; /* of a parallel block: how many operations it has, and whose this is, from 1 */
	char *word, *path, *path2, *target, *mode, *name, *value, *descriptor;
	size_t value_bytes;
	uint64_t offset, length, at;
	unsigned int major, minor;
};

#define NOT_MINE 1 /* no call has that result */
#define TREE_SHIFT 40 /* oracles/observation.py: an inode number in a subvolume, with the id of its tree */

struct inode_flag {
	char letter;
	int bit;
};

struct stat;
extern const struct inode_flag inode_flags[];
int do_call(const struct operation *operation);
/* Of a thread of a parallel block, its number; 0 of the agent itself. */
extern _Thread_local int thread_number;
/* There, the file that the last call opened or was given. */
extern _Thread_local struct called {
	bool known;
	uint64_t number;
} called;
void close_all_kept(void);
const char *file_left_by(const struct operation *operation, int result);
uint64_t tree_of(const char *path);
bool follows(const struct operation *operation);
bool object_status(const char *path, bool follow, struct stat *status, uint64_t *number);
int file_of(const char *path, int flags);
void release(const char *path, int file); /* leaves errno as it is */
void stamp(unsigned char *buffer, int index, uint64_t offset, size_t length);

/* requests.c */
int set_errortag(const char *tag, bool on);
int grow(void);
int relocate(void);
int trim(void);
int write_atomically(const struct operation *operation);
int defragment(const char *path);
int enable_verity(const char *path);

/* operations.c */
struct program {
	const char *filesystem, *options;
	uint64_t sectors;
	bool threads; /* it has parallel blocks */
	int block_ms; /* how long a write takes in them */
	const char *near; /* tell which functions of the kernel each operation enters, within these, too; NULL: no */
	char *rest; /* lines that are still to be done */
};

struct program program_start(char *text);
bool next_operation(struct program *program, struct operation *operation);
int enter(const char *device, const struct program *program);
int leave(void);
bool is_mounted(void); /* false after a remount that failed */
int do_operation(const struct operation *operation);
uint64_t root_inode(void);
void put_queue(const char *device);
/* What became of an operation. */
struct outcome {
	int result;
	uint64_t number, left;
	long long blocks, modified, changed;
};

struct outcome look(const struct operation *operation, int result);
void put_outcome(const struct operation *operation, const struct outcome *outcome);
void put_step(const struct operation *operation, int result, uint64_t left);
void mark_begin(const struct operation *operation);
void mark_done(const struct operation *operation);
void mark_between(int done, const struct operation *operation); /* done: of the operation before, -1 for none */
uint64_t left_by_rename(const struct operation *operation);
void record(char *program);
int record_recovery(uint64_t sectors, const char *filesystem, const char *options);

/* afterwards.c */
void record_afterwards(uint64_t sectors, const char *filesystem, const char *options);

/* threads.c */
void perform_block(struct program *program, const struct operation *first, bool first_of_all);
int await_writes(uint64_t count, uint64_t microseconds);

/* stops.c: tasks that stop where they enter or leave a function of the kernel. */
bool stops_of_kernel(const struct operation *operation);
int stops_ask(const struct operation *operation);
unsigned int stops_now(void);
unsigned int stops_hit(void);
void stops_forget(void);
void stops_go_on(void);
void stops_end(void);
bool stops_count(const char *near);
void stops_put_counts(struct text *out);

/* faults.c */
void fault_run(char *program);
bool failing_start(uint64_t all_sectors, uint64_t block, bool on_write);
void failing_over(void);
void failing_end(void);
#define FAULTY_DEVICE "/dev/faulty"
void drop_run(char *program);
void drop_walk(const char *filesystem, const char *options);

/* reads.c: which blocks of the state's disk are read. */
void reads_start(void);
void reads_end(struct text *out);
void reads_put_writes(struct text *out);

/* recover.c */
struct recovery {
	const char *device;
	const char *filesystem;
	const char *options;
	bool verbose; /* say each stage, to know where a guest died */
	bool first_probe; /* put the mount that replayed to use before it ends */
	bool reads; /* tell which blocks the mount read */
	bool plain; /* a device that stands alone: what was written to it is not known */
	bool read_only_first; /* a mount that must not recover, one that does and is read-only, then the others */
	bool empty_room; /* tell how much is free when the probe has removed everything */
	bool quota; /* after the walk */
	bool scrub; /* before the probe, and then a mount without the device `lost`; -1: with all that are there */
	int lost;
	bool counters; /* keep what mount, walk and unmount executed (counters.c) */
};

int mount_filesystem(const char *device, const char *filesystem, const char *options);
struct changed_blocks {
	uint32_t count;
	uint64_t *numbers;
	char *bytes;
	size_t capacity;
};

void await_balance(void);
bool recover(const struct recovery *recovery, struct changed_blocks *changed);
bool recover_failing(const struct recovery *recovery, uint64_t sectors, uint64_t block, bool on_write);
uint32_t crc_of(const char *device, uint64_t sectors);

/* loops.c */
void bare_loop(const char *device, const char *filesystem, const char *options, int count);
void restart_loop(const char *filesystem, const char *options, uint64_t first, int count);

/* programs.c: the host's programs, a script with a deadline. */
#define PROGRAM_FILES "/experiment" /* what comes with a script: harness/guests/uml.py, set_up.c */
void programs_mount_folders(void);
void programs_mount(void);
int programs_wait(pid_t child, double deadline_ms, const sigset_t *child_ended);
void programs_kill_all(void);
void programs_end_all(void);
void programs_enter(const char *filesystem, const char *options);
void programs_execute(const char *script, size_t bytes, double seconds);
void programs_leave(void);

/* start.c: a program beside the filesystem under test. */
#define WORDS_MAX 512
#define PROGRAM_SAID "/tmp/.said" /* its standard output */
#define BEGIN_OF_RUN "/powercut/run" /* mkdir of it: the setup that is a part of a program ends here */

struct start {
	struct program mount;
	double seconds;
	bool within; /* its setup is a part of it */
	bool untraced; /* to know what the tracer costs */
	bool hashes; /* of the walk_asks */
	char *setup[WORDS_MAX], *arguments[WORDS_MAX], *environment[WORDS_MAX];
	size_t setup_count, argument_count, environment_count;
};

void write_file(const char *path, int mode, const char *bytes, size_t length);
void program_root(void);
struct start program_parse(char *text);
void program_become(char **words, char **environment) __attribute__((noreturn));
int program_plain(char **words, char **environment, double seconds);
void program_put_output(struct text *out);

/* application.c: its script, asked about a recovered tree. */
void application(char *text);

/* tracer.c: one that is traced, while its writes are recorded. */
void trace_record(char *text);

/* machine.c: on a machine that is reached by ssh. */
int machine_main(void);
bool machine_in_use(void);
#define MACHINE_IN_USE "another powercut uses this machine"
extern bool on_machine;

/* claim.c: whether a device of a real machine may be written, as a claim says. */
#define CLAIM_EDGE_BYTES (1 << 20) /* at both ends: ours at the beginning, zeros at the end */

struct claim {
	char identity[64], machine[64], device[256], serial[256], role[8];
	uint64_t bytes;
	unsigned int part; /* 0: no partition */
	bool beside_mounted;
	dev_t number; /* 0 until it is known */
	int file; /* -1 until it is open */
};

bool claim_line(struct claim *claim, const char *line);
const char *claim_refusal(struct claim *claim, dev_t holder);
int claim_main(int argc, char **argv);

/* queue.c: the requests of a real disk while a workload is recorded. */
#define QUEUE_VARIABLE "POWERCUT_QUEUE"
void queue_of(dev_t device);
void queue_start(void);
void queue_end(void);
void queue_forget(void);

/* agent.c */
void agent_start(void);
void obey_lines(int line) __attribute__((noreturn));
void outbox_put(const void *bytes, size_t length, uint64_t offset);
void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *what) __attribute__((noreturn));
double now_ms(void);

#endif
