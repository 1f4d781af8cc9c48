// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device mapper target "powercut": the disk of a crash state while it is recovered.
 *
 *   0 SECTORS powercut DEVICE [no_readahead]
 *
 * Writes stay in memory, and DEVICE keeps its bytes. What is read of DEVICE is written down, by sector: a later state
 * that has the same bytes there is recovered in the same way. What is read back of the writes is not of DEVICE.
 *
 * no_readahead: a read that is only a guess (REQ_RAHEAD) fails, which any device may do, and whoever needs the block
 * reads it again. So only what is needed counts.
 *
 * Messages: "reset" forgets all writes and reads. "read" answers with runs of sectors, each FIRST+COUNT in hexadecimal.
 * "written" answers with blocks of 4 KiB: runs FIRST+COUNT of whole ones, and BLOCK:SECTORS of those that were written in
 * part, with a bit for each sector. Status: the number of blocks written, or Overflow where memory was short and a write
 * has failed.
 *
 * It is no driver of a device and touches nothing else of the kernel. kernel/dm_target.py puts it into the source.
 */
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#define BLOCK_SHIFT 12
#define BLOCK_SECTORS (1U << (BLOCK_SHIFT - SECTOR_SHIFT))
#define WHOLE ((1U << BLOCK_SECTORS) - 1)
#define SPARE_MAX 4096 /* pages kept from one recovery for the next */

/* A block that was written. sectors: a bit for each that was; of the others DEVICE has the bytes. */
struct written {
	struct list_head list;
	struct page *page;
	unsigned long block;
	unsigned int sectors;
};

struct powercut {
	struct dm_dev *device;
	struct mutex lock;
	struct xarray blocks;
	struct list_head written, spare;
	unsigned long written_count, spare_count;
	unsigned long *read; /* a bit a sector */
	unsigned long sector_count;
	bool no_readahead, overflow;
};

static void forget(struct powercut *powercut)
{
	struct written *one, *next;

	list_for_each_entry_safe(one, next, &powercut->written, list) {
		list_del(&one->list);
		if (powercut->spare_count < SPARE_MAX) {
			list_add(&one->list, &powercut->spare);
			powercut->spare_count++;
			continue;
		}
		__free_page(one->page);
		kfree(one);
	}
	xa_destroy(&powercut->blocks);
	powercut->written_count = 0;
	powercut->overflow = false;
	bitmap_zero(powercut->read, powercut->sector_count);
}

static struct written *written_block(struct powercut *powercut, unsigned long block)
{
	struct written *one = xa_load(&powercut->blocks, block);

	if (one)
		return one;
	one = list_first_entry_or_null(&powercut->spare, struct written, list);
	if (one) {
		list_del(&one->list);
		powercut->spare_count--;
	} else {
		one = kzalloc(sizeof(*one), GFP_NOIO);
		if (!one)
			return NULL;
		one->page = alloc_page(GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY);
		if (!one->page) {
			kfree(one);
			return NULL;
		}
	}
	one->block = block;
	one->sectors = 0;
	if (xa_is_err(xa_store(&powercut->blocks, block, one, GFP_NOIO))) {
		__free_page(one->page);
		kfree(one);
		return NULL;
	}
	list_add_tail(&one->list, &powercut->written);
	powercut->written_count++;
	return one;
}

/* Sectors of the bytes between two offsets in a block. */
static unsigned int sectors_between(unsigned int start, unsigned int end)
{
	return (WHOLE >> (BLOCK_SECTORS - (end >> SECTOR_SHIFT))) & ~((1U << (start >> SECTOR_SHIFT)) - 1);
}

/* Copy between a bio and what was written, from `sector` on. False where memory is short. */
static bool copy(struct powercut *powercut, struct bio *bio, sector_t sector, bool to_disk)
{
	struct bio_vec piece;
	struct bvec_iter iter;
	u64 at = (u64)sector << SECTOR_SHIFT;

	bio_for_each_segment(piece, bio, iter) {
		char *bytes = (char *)page_address(piece.bv_page) + piece.bv_offset;
		unsigned int left = piece.bv_len;

		while (left) {
			unsigned int start = at & ((1U << BLOCK_SHIFT) - 1);
			unsigned int length = min(left, (1U << BLOCK_SHIFT) - start);
			struct written *one;

			if (to_disk) {
				one = written_block(powercut, at >> BLOCK_SHIFT);
				if (!one)
					return false;
				memcpy((char *)page_address(one->page) + start, bytes, length);
				one->sectors |= sectors_between(start, start + length);
			} else {
				one = xa_load(&powercut->blocks, at >> BLOCK_SHIFT);
				memcpy(bytes, (char *)page_address(one->page) + start, length);
			}
			bytes += length;
			at += length;
			left -= length;
		}
	}
	return true;
}

static bool is_written(struct powercut *powercut, sector_t sector)
{
	struct written *one = xa_load(&powercut->blocks, sector / BLOCK_SECTORS);

	return one && one->sectors & 1U << sector % BLOCK_SECTORS;
}

/* How many sectors from here on are all written or all not. */
static unsigned int same_kind(struct powercut *powercut, sector_t sector, unsigned int count)
{
	bool kind = is_written(powercut, sector);
	unsigned int run = 1;

	while (run < count && is_written(powercut, sector + run) == kind)
		run++;
	return run;
}

static int done(struct bio *bio)
{
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

static int powercut_read(struct powercut *powercut, struct bio *bio, sector_t sector)
{
	unsigned int count = bio_sectors(bio), run;

	mutex_lock(&powercut->lock);
	run = powercut->written_count ? same_kind(powercut, sector, count) : count;
	if (run < count)
		dm_accept_partial_bio(bio, run);
	if (is_written(powercut, sector)) {
		copy(powercut, bio, sector, false);
		mutex_unlock(&powercut->lock);
		return done(bio);
	}
	if (powercut->no_readahead && bio->bi_opf & REQ_RAHEAD) {
		mutex_unlock(&powercut->lock);
		return DM_MAPIO_KILL;
	}
	bitmap_set(powercut->read, sector, run);
	mutex_unlock(&powercut->lock);
	bio_set_dev(bio, powercut->device->bdev);
	bio->bi_iter.bi_sector = sector;
	return DM_MAPIO_REMAPPED;
}

static int powercut_map(struct dm_target *ti, struct bio *bio)
{
	struct powercut *powercut = ti->private;
	sector_t sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	bool kept;

	if (!bio_sectors(bio)) /* a FLUSH: all is where it stays */
		return done(bio);
	if (bio_op(bio) == REQ_OP_READ)
		return powercut_read(powercut, bio, sector);
	if (bio_op(bio) != REQ_OP_WRITE)
		return DM_MAPIO_KILL;
	mutex_lock(&powercut->lock);
	kept = copy(powercut, bio, sector, true);
	powercut->overflow |= !kept;
	mutex_unlock(&powercut->lock);
	return kept ? done(bio) : DM_MAPIO_KILL;
}

static void powercut_dtr(struct dm_target *ti)
{
	struct powercut *powercut = ti->private;
	struct written *one, *next;

	forget(powercut);
	list_for_each_entry_safe(one, next, &powercut->spare, list) {
		__free_page(one->page);
		kfree(one);
	}
	dm_put_device(ti, powercut->device);
	vfree(powercut->read);
	kfree(powercut);
}

static int powercut_ctr(struct dm_target *ti, unsigned int count, char **words)
{
	struct powercut *powercut;

	if (count < 1 || count > 2 || (count == 2 && strcmp(words[1], "no_readahead"))) {
		ti->error = "expected DEVICE [no_readahead]";
		return -EINVAL;
	}
	powercut = kzalloc(sizeof(*powercut), GFP_KERNEL);
	if (!powercut)
		return -ENOMEM;
	powercut->sector_count = ti->len;
	powercut->read = vzalloc(BITS_TO_LONGS(powercut->sector_count) * sizeof(long));
	if (!powercut->read || dm_get_device(ti, words[0], dm_table_get_mode(ti->table), &powercut->device)) {
		ti->error = "no such device, or no memory";
		vfree(powercut->read);
		kfree(powercut);
		return -EINVAL;
	}
	powercut->no_readahead = count == 2;
	mutex_init(&powercut->lock);
	xa_init(&powercut->blocks);
	INIT_LIST_HEAD(&powercut->written);
	INIT_LIST_HEAD(&powercut->spare);
	ti->private = powercut;
	ti->num_flush_bios = 1;
	return 0;
}

static void powercut_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
			    unsigned int maxlen)
{
	struct powercut *powercut = ti->private;
	unsigned int sz = 0;

	if (type == STATUSTYPE_TABLE)
		DMEMIT("%s%s", powercut->device->name, powercut->no_readahead ? " no_readahead" : "");
	else if (type == STATUSTYPE_INFO && powercut->overflow)
		DMEMIT("Overflow");
	else if (type == STATUSTYPE_INFO)
		DMEMIT("%lu", powercut->written_count);
}

static void tell_read(struct powercut *powercut, char *result, unsigned int maxlen)
{
	unsigned long first, end;
	unsigned int sz = 0;

	for (first = find_first_bit(powercut->read, powercut->sector_count); first < powercut->sector_count;
	     first = find_next_bit(powercut->read, powercut->sector_count, end)) {
		end = find_next_zero_bit(powercut->read, powercut->sector_count, first);
		DMEMIT("%lx+%lx ", first, end - first);
	}
}

static void tell_written(struct powercut *powercut, char *result, unsigned int maxlen)
{
	unsigned long block, first = 0, count = 0;
	unsigned int sz = 0;
	struct written *one;

	xa_for_each(&powercut->blocks, block, one) {
		if (count && block == first + count && one->sectors == WHOLE) {
			count++;
			continue;
		}
		if (count)
			DMEMIT("%lx+%lx ", first, count);
		first = block;
		count = one->sectors == WHOLE;
		if (!count)
			DMEMIT("%lx:%x ", block, one->sectors);
	}
	if (count)
		DMEMIT("%lx+%lx ", first, count);
}

static int powercut_message(struct dm_target *ti, unsigned int count, char **words, char *result, unsigned int maxlen)
{
	struct powercut *powercut = ti->private;
	int answers = 1;

	if (count != 1)
		return -EINVAL;
	mutex_lock(&powercut->lock);
	result[0] = 0;
	if (!strcmp(words[0], "reset"))
		forget(powercut), answers = 0;
	else if (!strcmp(words[0], "read"))
		tell_read(powercut, result, maxlen);
	else if (!strcmp(words[0], "written"))
		tell_written(powercut, result, maxlen);
	else
		answers = -EINVAL;
	mutex_unlock(&powercut->lock);
	return answers;
}

static int powercut_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct powercut *powercut = ti->private;

	return fn(ti, powercut->device, 0, ti->len, data);
}

static struct target_type powercut_target = {
	.name = "powercut",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = powercut_ctr,
	.dtr = powercut_dtr,
	.map = powercut_map,
	.status = powercut_status,
	.message = powercut_message,
	.iterate_devices = powercut_iterate_devices,
};

static int __init powercut_init(void)
{
	return dm_register_target(&powercut_target);
}

module_init(powercut_init);
MODULE_DESCRIPTION("the disk of a crash state while it is recovered");
MODULE_LICENSE("GPL");
