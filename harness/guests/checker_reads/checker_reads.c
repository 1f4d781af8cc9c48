/*
 * Preloaded into a checker: writes down which blocks of the image it read.
 *
 * In:       POWERCUT_IMAGE, the image; POWERCUT_READS, where the answer goes.
 * Out:      at exit, the file POWERCUT_READS: a struct head, and the number of each block that was read.
 * Not here: what is made of them (harness/guests/checker_reads.py).
 *
 * There is no answer where the image was read by a way that is not written down here, as through a mapping, or
 * by another process. A checker that is linked statically leaves no file. ptrace would see each call, and stop at
 * it: e2fsck makes 350.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC 0x5044414552435750 /* "PWCREADP" in memory */
#define BLOCK_BYTES 4096

#define FDS_MAX 64

struct head {
	uint64_t magic;
	uint64_t block_count;
	uint64_t read_count;
};

static unsigned char *blocks; /* NULL before begin(), and where there is no room */
static uint64_t block_count;
static uint64_t unknown;
static char of_image[FDS_MAX];
static dev_t device;
static ino_t inode;
static pid_t self;

static void forked(void)
{
	unknown = 1;
}

/* The function of this name that we stand before. Libraries read in their constructors, some before begin(). */
#define NEXT(name)							\
	({								\
		static __typeof__(&name) found;				\
		if (!found)						\
			found = (__typeof__(&name))next(#name);		\
		found;							\
	})

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

__attribute__((constructor)) static void begin(void)
{
	const char *image = getenv("POWERCUT_IMAGE");
	const char *answer = getenv("POWERCUT_READS");
	struct stat found;

	self = getpid();
	if (!image || !answer || stat(image, &found)) {
		unknown = 1;
		return;
	}
	if (getenv("POWERCUT_READER")) { /* Of a program that the checker started: its file without a head stays. */
		unknown = 1;
		NEXT(close)(open(answer, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		return;
	}
	setenv("POWERCUT_READER", "1", 1);
	device = found.st_dev;
	inode = found.st_ino;
	block_count = (found.st_size + BLOCK_BYTES - 1) / BLOCK_BYTES;
	blocks = calloc(1, (block_count + 7) / 8);
	pthread_atfork(forked, NULL, NULL);
}

/*
 * Only that a descriptor is the image's is remembered, until close(): a C library closes its own files without
 * that call, and the image may come to be where one of them was.
 */
static int is_image(int fd)
{
	struct stat found;
	int is;

	if (fd >= 0 && fd < FDS_MAX && of_image[fd])
		return 1;
	is = !fstat(fd, &found) && found.st_ino == inode && found.st_dev == device;
	if (is && fd < FDS_MAX)
		of_image[fd] = 1;
	return is;
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS_MAX)
		of_image[fd] = 0;
	return NEXT(close)(fd);
}

static void note(uint64_t offset, uint64_t length)
{
	uint64_t block = offset / BLOCK_BYTES;
	uint64_t stop = (offset + length + BLOCK_BYTES - 1) / BLOCK_BYTES;

	if (!blocks)
		unknown = 1;
	for (; blocks && block < stop && block < block_count; block++)
		__atomic_fetch_or(&blocks[block / 8], 1 << block % 8, __ATOMIC_RELAXED);
}

ssize_t pread64(int fd, void *buffer, size_t length, off64_t offset)
{
	if (is_image(fd))
		note(offset, length);
	return NEXT(pread64)(fd, buffer, length, offset);
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	return pread64(fd, buffer, length, offset);
}

ssize_t __pread64_chk(int fd, void *buffer, size_t length, off64_t offset, size_t size)
{
	return length > size ? (abort(), -1) : pread64(fd, buffer, length, offset);
}

ssize_t __pread_chk(int fd, void *buffer, size_t length, off_t offset, size_t size)
{
	return __pread64_chk(fd, buffer, length, offset, size);
}

ssize_t read(int fd, void *buffer, size_t length)
{
	if (is_image(fd))
		note(lseek64(fd, 0, SEEK_CUR), length);
	return NEXT(read)(fd, buffer, length);
}

ssize_t __read_chk(int fd, void *buffer, size_t length, size_t size)
{
	return length > size ? (abort(), -1) : read(fd, buffer, length);
}

/* Ways that no checker of today reads its image by. */

ssize_t readv(int fd, const struct iovec *parts, int part_count)
{
	unknown |= is_image(fd);
	return NEXT(readv)(fd, parts, part_count);
}

ssize_t preadv64(int fd, const struct iovec *parts, int part_count, off64_t offset)
{
	unknown |= is_image(fd);
	return NEXT(preadv64)(fd, parts, part_count, offset);
}

ssize_t preadv(int fd, const struct iovec *parts, int part_count, off_t offset)
{
	return preadv64(fd, parts, part_count, offset);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t length)
{
	unknown |= is_image(from);
	return NEXT(sendfile64)(to, from, offset, length);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t length)
{
	return sendfile64(to, from, offset, length);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned int flags)
{
	unknown |= is_image(from);
	return NEXT(copy_file_range)(from, from_at, to, to_at, length, flags);
}

ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned int flags)
{
	unknown |= is_image(from);
	return NEXT(splice)(from, from_at, to, to_at, length, flags);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	unknown |= fd >= 0 && is_image(fd);
	return NEXT(mmap64)(address, length, protection, flags, fd, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	return mmap64(address, length, protection, flags, fd, offset);
}

FILE *fopen64(const char *path, const char *mode)
{
	FILE *file = NEXT(fopen64)(path, mode);

	unknown |= file && is_image(fileno(file));
	return file;
}

FILE *fopen(const char *path, const char *mode)
{
	return fopen64(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
	unknown |= is_image(fd);
	return NEXT(fdopen)(fd, mode);
}

static int put(int fd, const void *content, size_t length)
{
	const char *at = content;

	while (length) {
		ssize_t done = write(fd, at, length);

		if (done <= 0)
			return -1;
		at += done;
		length -= done;
	}
	return 0;
}

/* The numbers of the blocks that were read, ascending; how many there are. */
static uint64_t numbers(uint64_t *to)
{
	uint64_t block, count = 0;

	for (block = 0; block < block_count; block++)
		if (blocks[block / 8] >> block % 8 & 1)
			to[count++] = block;
	return count;
}

__attribute__((destructor)) static void end(void)
{
	const char *answer = getenv("POWERCUT_READS");
	struct head head = {MAGIC, block_count, 0};
	uint64_t *read;
	int fd;

	if (!answer || unknown || !blocks || getpid() != self)
		return;
	read = malloc(block_count * sizeof(*read));
	fd = open(answer, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!read || fd < 0)
		return;
	head.read_count = numbers(read);
	/* The head last: without it the file says nothing. */
	if (lseek(fd, sizeof(head), SEEK_SET) >= 0 && !put(fd, read, head.read_count * sizeof(*read)) &&
	    lseek(fd, 0, SEEK_SET) >= 0)
		put(fd, &head, sizeof(head));
	close(fd);
}
