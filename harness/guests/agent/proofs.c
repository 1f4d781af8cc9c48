// SPDX-License-Identifier: GPL-2.0-only
/*
 * States that need no recovery: what an earlier one read of its disk is the same on this one.
 *
 * Recovery follows from the bytes that it reads. Of each recovery the sectors are kept that its mounts, walks and probe
 * read, each with a hash of its bytes, and of the disk now a hash of each sector. A state on whose disk all these hashes
 * are the same would be recovered in the same way. A hash has 64 bits, and a sector is only compared with itself: that
 * two contents have the same is not expected to occur in any run.
 */
#include "agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define KEPT 8 /* harness/stages/proofs.py keeps as many */
#define READS_MAX (1 << 17) /* sectors; a recovery that read more proves nothing */
#define SECTORS_MAX (1UL << 23) /* 4 GiB, as ORIGIN_BLOCKS */

static uint64_t *now; /* the hash of each sector; 0: zeros */

static struct proof {
	uint32_t sequence;
	bool first_probe;
	uint32_t count; /* 0: of no use */
	uint32_t suspect; /* where it differed when it was last asked: there it mostly does again */
	uint32_t *sectors;
	uint64_t *hashes;
} proofs[KEPT];
static unsigned int next;

static void *memory(size_t bytes)
{
	void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (found == MAP_FAILED)
		die("memory for proofs");
	return found;
}

/* Each step multiplies two words with what was before, all 128 bits of the product: Wang Yi, wyhash (2019). */
static uint64_t hash(const char *bytes)
{
	uint64_t words[SECTOR_BYTES / 8], state = 0xa0761d6478bd642f;
	bool zeros = true;

	memcpy(words, bytes, SECTOR_BYTES);
	for (size_t i = 0; i < SECTOR_BYTES / 8; i += 2) {
		__uint128_t product = (__uint128_t)(words[i] ^ state) * (words[i + 1] ^ 0xe7037ed1a0b428db);

		zeros = zeros && !words[i] && !words[i + 1];
		state = (uint64_t)product ^ (uint64_t)(product >> 64);
	}
	return zeros ? 0 : state | 1;
}

void proofs_written(const void *data, uint64_t offset, uint32_t length)
{
	if (!now)
		now = memory(SECTORS_MAX * sizeof(*now));
	if (offset % SECTOR_BYTES || length % SECTOR_BYTES || (offset + length) / SECTOR_BYTES > SECTORS_MAX)
		die("a write to the state's disk that is not of sectors");
	for (uint32_t at = 0; at < length; at += SECTOR_BYTES)
		now[(offset + at) / SECTOR_BYTES] = hash((const char *)data + at);
}

/* The disk is all zeros. */
void proofs_zeros(void)
{
	if (now && madvise(now, SECTORS_MAX * sizeof(*now), MADV_DONTNEED))
		die("memory for proofs");
}

void proofs_forget(void)
{
	for (size_t i = 0; i < KEPT; i++)
		proofs[i].count = 0;
}

static bool holds(struct proof *proof)
{
	if (now[proof->sectors[proof->suspect]] != proof->hashes[proof->suspect])
		return false;
	for (uint32_t i = 0; i < proof->count; i++) {
		if (now[proof->sectors[i]] != proof->hashes[i]) {
			proof->suspect = i;
			return false;
		}
	}
	return true;
}

/*
 * The sequence of the newest recovery that would be this state's, too; -1 where there is none. One that put its first
 * mount to use stands for a state that need not, and not the other way round; whether it did is told.
 */
int64_t proofs_find(bool *first_probe)
{
	for (unsigned int age = 1; age <= KEPT; age++) {
		struct proof *proof = &proofs[(next + KEPT - age) % KEPT];

		if (proof->count && (proof->first_probe || !*first_probe) && holds(proof)) {
			*first_probe = proof->first_probe;
			return proof->sequence;
		}
	}
	return -1;
}

/* Of the recovery that has just been done. */
void proofs_add(uint32_t sequence, bool first_probe)
{
	struct proof *proof = &proofs[next];
	const char *run = state_device_read();
	unsigned long first, length;
	uint32_t count = 0;
	int used;

	if (!run || !now)
		return;
	if (!proof->sectors) {
		proof->sectors = memory(READS_MAX * sizeof(*proof->sectors));
		proof->hashes = memory(READS_MAX * sizeof(*proof->hashes));
	}
	next = (next + 1) % KEPT; /* always: the host counts, too */
	proof->count = 0;
	for (; sscanf(run, "%lx+%lx %n", &first, &length, &used) == 2; run += used) {
		if (count + length > READS_MAX || first + length > SECTORS_MAX)
			return;
		for (unsigned long i = 0; i < length; i++, count++) {
			proof->sectors[count] = first + i;
			proof->hashes[count] = now[first + i];
		}
	}
	proof->count = count;
	proof->sequence = sequence;
	proof->first_probe = first_probe;
	proof->suspect = 0;
}
