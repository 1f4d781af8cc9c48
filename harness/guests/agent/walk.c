// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is in the mounted filesystem: one JSON object a name, as oracles/observation.py describes.
 * A system call costs about 17 us under UML: no call is made twice for the same answer.
 */
#include "agent.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define READ_WHOLE_BYTES (4 << 20) /* a larger file is read where SEEK_DATA says it has data */
#define CELL_BYTES 8 /* workloads/history.py: stamped() */
#define CELL_MAGIC 0xC5B7

struct directory_entry { /* struct linux_dirent64, getdents64(2) */
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

const char *kind_name(unsigned int mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "dir";
	case S_IFLNK: return "symlink";
	case S_IFIFO: return "fifo";
	case S_IFCHR: return "chr";
	case S_IFBLK: return "blk";
	case S_IFSOCK: return "sock";
	}
	return "unknown";
}

struct errors {
	char text[512];
};

static void note(struct errors *errors, const char *call)
{
	size_t used = strlen(errors->text);

	if (used + 64 < sizeof(errors->text)) {
		strcat(errors->text, used ? ",\"" : "\"");
		strcat(errors->text, call);
		strcat(errors->text, ": ");
		strcat(errors->text, errno_name(errno));
		strcat(errors->text, "\"");
	}
}

/* --- descriptors: closed all at once --------------------------------------------------------- */

#define OPEN_MAX_COUNT 256 /* of the 1,024 that a process may have */

static int first_open = -1, open_count;

static void close_all(void)
{
	if (open_count && close_range(first_open, ~0U, 0))
		die("close_range");
	open_count = 0;
}

static void close_later(int file)
{
	if (!open_count++)
		first_open = file; /* the lowest: the kernel gives the lowest that is free */
	if (open_count == OPEN_MAX_COUNT)
		close_all();
}

/* --- inode flags: one more call an object, so only when they are asked for ----------------------- */

struct walk_asks walk_asks;
static bool locked; /* of the object last asked */

static void put_flags(struct text *out, int file)
{
	int flags = 0;

	if (!walk_asks.flags || ioctl(file, FS_IOC_GETFLAGS, &flags))
		return;
	locked = flags & (FS_IMMUTABLE_FL | FS_APPEND_FL);
	put(out, ",\"flags\":\"");
	for (const struct inode_flag *flag = inode_flags; flag->letter; flag++)
		if (flags & flag->bit)
			put(out, "%c", flag->letter);
	put(out, "\"");
}

/* --- content ----------------------------------------------------------------------------------- */

struct run {
	uint64_t offset;
	uint64_t length;
	char kind;
	unsigned int stamp;
};

struct content {
	struct text *out;
	struct run run;
	const unsigned char *bytes; /* of the run, while kind is 'x' */
	bool any;
};

static void run_end(struct content *content)
{
	struct run *run = &content->run;

	if (!run->length)
		return;
	put(content->out, "%s[%llu,%llu,\"%c\"", content->any ? "," : "", (unsigned long long)run->offset,
	    (unsigned long long)run->length, run->kind);
	if (run->kind == 'w')
		put(content->out, ",%u", run->stamp);
	if (run->kind == 'x') {
		put(content->out, ",0,");
		put_hex(content->out, content->bytes, run->length);
	}
	put(content->out, "]");
	content->any = true;
	run->length = 0;
}

static void run_add(struct content *content, char kind, unsigned int stamp, uint64_t offset, uint64_t length,
		    const unsigned char *bytes)
{
	struct run *run = &content->run;

	if (run->length && run->kind == kind && run->stamp == stamp && run->offset + run->length == offset) {
		run->length += length;
		return;
	}
	run_end(content);
	*run = (struct run){ offset, length, kind, stamp };
	content->bytes = bytes;
}

static void content_add(struct content *content, const unsigned char *bytes, uint64_t offset, size_t length)
{
	for (size_t at = 0; at < length; at += CELL_BYTES) {
		size_t cell_bytes = length - at < CELL_BYTES ? length - at : CELL_BYTES;
		uint64_t cell = 0;

		memcpy(&cell, bytes + at, cell_bytes);
		if (!cell)
			run_add(content, 'z', 0, offset + at, cell_bytes, NULL);
		else if (cell_bytes == CELL_BYTES && (cell >> 16 & 0xffff) == CELL_MAGIC &&
			 cell >> 32 == ((offset + at) / CELL_BYTES & 0xffffffff))
			run_add(content, 'w', cell & 0xffff, offset + at, cell_bytes, NULL);
		else
			run_add(content, 'x', 0, offset + at, cell_bytes, bytes + at);
	}
	/* The buffer is reused: a run of bytes must not outlive it. */
	if (content->run.kind == 'x')
		run_end(content);
}

#define HASH_OF_NOTHING 0xcbf29ce484222325 /* FNV's offset basis */

/* FNV-1a over the words of 64 bits that are not zero, each with its place: tells contents apart, and promises
 * nothing against malice. Zeros add nothing, so a hole needs no read: files of fsstress have up to 8 EiB. The
 * bytes are `length` from `start`, which is a multiple of 8; what follows them is overwritten, up to 7 bytes. */
static void hash_bytes(uint64_t *hash, unsigned char *bytes, size_t length, uint64_t start)
{
	memset(bytes + length, 0, -length & 7);
	for (size_t i = 0; i < length; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		if (!word)
			continue;
		*hash = (*hash ^ word ^ (start + i) << 16) * 0x100000001b3;
		*hash ^= *hash >> 32;
	}
}

/* Where reading ended, at most the end. */
static uint64_t hash_range(uint64_t *hash, int file, uint64_t start, uint64_t end, struct errors *errors)
{
	static unsigned char buffer[1 << 18];

	start &= ~7UL; /* words lie at multiples of 8, wherever data begins */
	while (start < end) {
		size_t want = end - start < sizeof(buffer) ? end - start : sizeof(buffer);
		ssize_t got = pread(file, buffer, want, start);

		if (got < 0)
			note(errors, "read");
		if (got <= 0)
			break;
		hash_bytes(hash, buffer, got, start);
		start += got;
	}
	return start < end ? start : end;
}

static void read_range(struct content *content, int file, uint64_t start, uint64_t end, struct errors *errors)
{
	static unsigned char buffer[1 << 18];

	while (start < end) {
		size_t want = end - start < sizeof(buffer) ? end - start : sizeof(buffer);
		ssize_t got = pread(file, buffer, want, start);

		if (got < 0)
			note(errors, "read");
		if (got <= 0)
			return;
		content_add(content, buffer, start, got);
		start += got;
	}
}

/* Blocks of the file, reserved ones (unwritten) told apart: one more call a file, so only when asked for. */
static void put_extents(struct text *out, int file, struct errors *errors)
{
	static union {
		struct fiemap head;
		char room[sizeof(struct fiemap) + 64 * sizeof(struct fiemap_extent)];
	} map;
	uint64_t at = 0, start = 0, end = 0;
	bool last = false, any = false, reserved = false;

	put(out, ",\"extents\":[");
	while (!last) {
		memset(&map, 0, sizeof(map.head));
		map.head.fm_start = at;
		map.head.fm_length = FIEMAP_MAX_OFFSET - at;
		map.head.fm_extent_count = 64;
		if (ioctl(file, FS_IOC_FIEMAP, &map)) {
			note(errors, "fiemap");
			break;
		}
		last = !map.head.fm_mapped_extents;
		for (uint32_t i = 0; i < map.head.fm_mapped_extents; i++) {
			const struct fiemap_extent *extent = &map.head.fm_extents[i];
			bool unwritten = extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN;

			if (extent->fe_logical != end || unwritten != reserved || start == end) {
				if (start != end)
					put(out, "%s[%llu,%llu,%d]", any ? "," : "", (unsigned long long)start,
					    (unsigned long long)end, reserved);
				any = any || start != end;
				start = extent->fe_logical;
				reserved = unwritten;
			}
			at = end = extent->fe_logical + extent->fe_length;
			last = last || extent->fe_flags & FIEMAP_EXTENT_LAST;
		}
	}
	if (start != end)
		put(out, "%s[%llu,%llu,%d]", any ? "," : "", (unsigned long long)start, (unsigned long long)end,
		    reserved);
	put(out, "]");
}

/* --- where a file has data ----------------------------------------------------------------------- */

static struct {
	uint64_t start, stop;
} *data;

/* How many ranges of data it has, in `data`. */
static size_t data_ranges(int file, uint64_t size, struct errors *errors)
{
	static size_t room;
	size_t count = 0;

	for (uint64_t at = 0; at < size; count++) {
		/* Where a hole begins tells both: only at a hole does where data begins have to be asked. */
		off_t start = at, hole = lseek(file, at, SEEK_HOLE);

		if (hole == start) {
			start = lseek(file, at, SEEK_DATA);
			hole = start < 0 ? -1 : lseek(file, start, SEEK_HOLE);
		}
		if (hole < 0) {
			if (errno != ENXIO)
				note(errors, "lseek");
			break;
		}
		if (count == room) {
			room = room ? 2 * room : 64;
			data = realloc(data, room * sizeof(*data));
			if (!data)
				die("realloc");
		}
		data[count].start = start;
		data[count].stop = hole;
		at = hole;
	}
	return count;
}

static void run_add_zeros(struct content *content, uint64_t start, uint64_t stop)
{
	if (start < stop)
		run_add(content, 'z', 0, start, stop - start, NULL);
}

static void put_file(struct text *out, const char *path, uint64_t size, struct errors *errors)
{
	int file = open(path, O_RDONLY | O_NOATIME);

	if (file < 0) {
		note(errors, "open");
		return;
	}
	static struct text ranges;

	if (!ranges.bytes)
		text_start(&ranges, 4096);
	ranges.length = 0;
	struct content content = { .out = out };
	bool whole = size <= READ_WHOLE_BYTES;
	uint64_t hash = HASH_OF_NOTHING, covered = size, end = 0;

	put(out, ",\"content\":[");
	if (whole && walk_asks.hashes)
		covered = hash_range(&hash, file, 0, size, errors);
	else if (whole)
		read_range(&content, file, 0, size, errors);
	size_t count = data_ranges(file, size, errors);

	/* All are known before the first is read: what reading ahead brings in of unwritten blocks counts as data. */
	for (size_t i = 0; i < count; i++) {
		uint64_t start = data[i].start, stop = data[i].stop < size ? data[i].stop : size;

		put(&ranges, "%s[%llu,%llu]", i ? "," : "", (unsigned long long)start, (unsigned long long)data[i].stop);
		if (whole)
			continue;
		if (walk_asks.hashes) {
			uint64_t reached = hash_range(&hash, file, start, stop, errors);

			covered = reached < stop && reached < covered ? reached : covered;
		} else {
			run_add_zeros(&content, end, start);
			read_range(&content, file, start, stop, errors);
		}
		end = stop;
	}
	if (!whole && !walk_asks.hashes)
		run_add_zeros(&content, end, size);
	run_end(&content);
	if (covered && walk_asks.hashes)
		put(out, "[0,%llu,\"h\",0,\"%016llx\"]", (unsigned long long)covered, (unsigned long long)hash);
	put(out, "],\"data\":[");
	put_bytes(out, ranges.bytes, ranges.length);
	put(out, "]");
	if (walk_asks.extents)
		put_extents(out, file, errors);
	put_flags(out, file);
	close_later(file);
}

/* The file that a path leads to, as it is now, for a history: its size and content. Nothing, where it is no
 * file. */
void put_left_file(struct text *out, const char *path)
{
	struct errors errors = { "" };
	struct stat status;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return;
	put(out, ",\"file\":{\"size\":%lld", (long long)status.st_size);
	put_file(out, path, status.st_size, &errors);
	put(out, ",\"errors\":[");
	put_bytes(out, errors.text, strlen(errors.text));
	put(out, "]}");
	/* This one alone: descriptors that the workload keeps may have higher numbers. */
	if (open_count && close(first_open))
		die("close");
	open_count = 0;
}

/* --- attributes -------------------------------------------------------------------------------- */

#define ATTRIBUTE_BYTES_WHOLE 64 /* a longer one is its hash, where that was asked for */

static void put_value(struct text *out, unsigned char *value, size_t length)
{
	uint64_t hash = HASH_OF_NOTHING;

	if (!walk_asks.attribute_hashes || length <= ATTRIBUTE_BYTES_WHOLE) {
		put_hex(out, value, length);
		return;
	}
	hash_bytes(&hash, value, length, 0);
	put(out, "\"h:%016llx:%zu\"", (unsigned long long)hash, length);
}

static void put_xattrs(struct text *out, const char *path, struct errors *errors)
{
	static char names[65536], value[65536];
	ssize_t length = llistxattr(path, names, sizeof(names));

	if (length < 0)
		note(errors, "listxattr");
	if (length <= 0)
		return;
	put(out, ",\"xattrs\":{");
	for (char *name = names; name < names + length; name += strlen(name) + 1) {
		ssize_t bytes = lgetxattr(path, name, value, sizeof(value));

		if (bytes < 0) {
			note(errors, "getxattr");
			bytes = 0;
		}
		put(out, name == names ? "" : ",");
		put_string(out, name, strlen(name));
		put(out, ":");
		put_value(out, (unsigned char *)value, bytes);
	}
	put(out, "}");
}

long long nanoseconds(const struct timespec *time)
{
	return time->tv_sec * 1000000000LL + time->tv_nsec;
}

static void put_target(struct text *out, const char *path, struct errors *errors)
{
	static char target[PATH_BYTES];
	ssize_t length = readlink(path, target, sizeof(target));

	if (length < 0) {
		note(errors, "readlink");
		return;
	}
	put(out, ",\"target\":");
	put_string(out, target, length);
}

/* --- the tree ---------------------------------------------------------------------------------- */

struct name {
	unsigned char type;
	char text[256];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static struct name *list_directory(struct text *out, const char *path, int *count, struct errors *errors)
{
	static char buffer[1 << 16];
	struct name *names = NULL;
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOATIME);

	*count = 0;
	if (directory < 0) {
		note(errors, "open");
		return NULL;
	}
	for (;;) {
		long length = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));

		if (length < 0)
			note(errors, "getdents64");
		if (length <= 0)
			break;
		for (long at = 0; at < length;) {
			struct directory_entry *entry = (void *)(buffer + at);

			at += entry->reclen;
			if (!strcmp(entry->name, ".") || !strcmp(entry->name, ".."))
				continue;
			if (*count % 64 == 0)
				names = realloc(names, (*count + 64) * sizeof(*names));
			names[*count].type = entry->type;
			strncpy(names[*count].text, entry->name, sizeof(names->text) - 1);
			names[*count].text[sizeof(names->text) - 1] = 0;
			++*count;
		}
	}
	put_flags(out, directory);
	close_later(directory);
	if (*count)
		qsort(names, *count, sizeof(*names), by_name);
	return names;
}

struct walked walked;

static void remember(const char *path, bool directory)
{
	size_t length = strlen(path) + 1;

	if (walked.count == WALKED_MAX || walked.used + length > sizeof(walked.paths)) {
		walked.truncated = true;
		return;
	}
	memcpy(walked.paths + walked.used, path, length);
	walked.path[walked.count] = walked.paths + walked.used;
	walked.locked[walked.count] = locked;
	walked.directory[walked.count++] = directory;
	walked.used += length;
}

/* The subvolume that a walk is in. tree: its id, 0 for that of the mount's root. */
struct subvolume {
	dev_t device;
	uint64_t tree;
};

/* A name without a character, which leads nowhere. Nobody told of it, so it is no error. */
static void put_nameless(struct text *out, const char *directory, unsigned char type)
{
	char path[PATH_BYTES + 1];
	int length = snprintf(path, sizeof(path), "%s/", directory);

	put(out, ",{\"path\":");
	put_string(out, path, length);
	put(out, ",\"kind\":\"unknown\",\"ino\":0,\"mode\":0,\"nlink\":0,\"size\":0,\"blocks\":0,"
		 "\"dtype\":\"%s\"}",
	    type ? kind_name(type << 12) : "");
}

static void walk_path(struct text *out, char *path, size_t length, unsigned char type, int depth,
		      struct subvolume in)
{
	static const size_t skip = sizeof(MOUNT_POINT); /* with its slash */
	const char *call_path = at_page_end(path, length);
	struct errors errors = { "" };
	struct stat status;
	struct name *names = NULL;
	int count = 0;
	bool root = length < skip;

	locked = false;

	put(out, root ? "{\"path\":" : ",{\"path\":");
	put_string(out, root ? "." : path + skip, root ? 1 : length - skip);
	if (lstat(call_path, &status)) {
		note(&errors, "stat");
		put(out, ",\"kind\":\"unknown\",\"ino\":0,\"mode\":0,\"nlink\":0,\"size\":0,\"blocks\":0,"
			 "\"dtype\":\"%s\",\"errors\":[", type ? kind_name(type << 12) : "");
		put_bytes(out, errors.text, strlen(errors.text));
		put(out, "]}");
		return;
	}
	if (root)
		in.device = status.st_dev;
	if (status.st_dev != in.device)
		in = (struct subvolume){ status.st_dev, tree_of(call_path) };
	put(out, ",\"kind\":\"%s\",\"ino\":%llu,\"mode\":%u,\"nlink\":%lu,\"size\":%lld,\"blocks\":%lld",
	    kind_name(status.st_mode), (unsigned long long)(status.st_ino | in.tree << TREE_SHIFT), status.st_mode & 07777,
	    (unsigned long)status.st_nlink, (long long)status.st_size, (long long)status.st_blocks);
	if (status.st_uid || status.st_gid)
		put(out, ",\"uid\":%u,\"gid\":%u", status.st_uid, status.st_gid);
	if (status.st_mtim.tv_sec >= 0 && status.st_mtim.tv_sec < CLOCK_STARTS)
		put(out, ",\"mtime\":%lld", (long long)status.st_mtim.tv_sec);
	if ((walk_asks.times && S_ISREG(status.st_mode)) || (walk_asks.directory_times && S_ISDIR(status.st_mode)))
		put(out, ",\"times\":[%lld,%lld]", nanoseconds(&status.st_mtim), nanoseconds(&status.st_ctim));
	if (type)
		put(out, ",\"dtype\":\"%s\"", kind_name(type << 12)); /* DTTOIF */
	put_xattrs(out, call_path, &errors);
	if (S_ISLNK(status.st_mode))
		put_target(out, call_path, &errors);
	if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
		put(out, ",\"device\":\"%u:%u\"", major(status.st_rdev), minor(status.st_rdev));
	if (S_ISREG(status.st_mode))
		put_file(out, call_path, status.st_size, &errors);
	if (S_ISDIR(status.st_mode))
		names = list_directory(out, call_path, &count, &errors);
	if (S_ISDIR(status.st_mode) && depth > 64) {
		errno = ELOOP; /* a directory below itself */
		note(&errors, "walk");
		count = 0;
	}
	if (errors.text[0]) {
		put(out, ",\"errors\":[");
		put_bytes(out, errors.text, strlen(errors.text));
		put(out, "]");
	}
	put(out, "}");
	remember(path, S_ISDIR(status.st_mode));
	for (int i = 0; i < count; i++) {
		size_t name_length = strlen(names[i].text);

		if (length + name_length + 2 > PATH_BYTES)
			continue;
		if (!name_length) { /* damage: it would lead to the directory itself, again and again */
			if (!i)
				put_nameless(out, root ? "" : path + skip, names[i].type);
			continue;
		}
		path[length] = '/';
		memcpy(path + length + 1, names[i].text, name_length + 1);
		walk_path(out, path, length + 1 + name_length, names[i].type, depth + 1, in);
		path[length] = 0;
	}
	free(names);
}

void walk(struct text *out)
{
	static char path[PATH_BYTES];

	strcpy(path, MOUNT_POINT);
	walked.count = walked.used = 0;
	walked.truncated = false;
	put(out, "[");
	walk_path(out, path, strlen(path), 0, 0, (struct subvolume){ 0 });
	put(out, "]");
	close_all();
}
