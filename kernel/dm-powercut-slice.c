// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device mapper target "powercut-slice": one of the devices of a filesystem that has several, recorded together.
 *
 *   0 SECTORS powercut-slice DEVICE START TELLS
 *
 * It is the SECTORS from START on of DEVICE, below which all is recorded in one log (dm-log-writes), so that one order of
 * all entries is known. But a FLUSH has no place: the log would not tell which device it was for. Here each is told by a
 * write of a sector of zeros to sector TELLS of DEVICE, which lies behind all slices: FLUSH first, then the write, durable
 * before the FLUSH completes (REQ_PREFLUSH and REQ_FUA). harness/states/devices.py makes the FLUSH of a device of it.
 *
 * kernel/dm_target.py puts it into the source.
 */
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

struct slice {
	struct dm_dev *device;
	sector_t start, tells;
};

static void told(struct bio *bio)
{
	struct bio *flush = bio->bi_private;

	flush->bi_status = bio->bi_status;
	bio_put(bio);
	bio_endio(flush);
}

static int slice_flush(struct slice *slice, struct bio *flush)
{
	unsigned int how = REQ_OP_WRITE | REQ_SYNC | REQ_PREFLUSH | REQ_FUA;
	struct bio *bio;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
	bio = bio_alloc(slice->device->bdev, 1, how, GFP_NOIO);
#else
	bio = bio_alloc(GFP_NOIO, 1);
	bio_set_dev(bio, slice->device->bdev);
	bio->bi_opf = how;
#endif
	bio->bi_iter.bi_sector = slice->tells;
	bio->bi_private = flush;
	bio->bi_end_io = told;
	if (!bio_add_page(bio, ZERO_PAGE(0), SECTOR_SIZE, 0)) {
		bio_put(bio);
		return DM_MAPIO_KILL;
	}
	submit_bio(bio);
	return DM_MAPIO_SUBMITTED;
}

static int slice_map(struct dm_target *ti, struct bio *bio)
{
	struct slice *slice = ti->private;

	if (!bio_sectors(bio) && bio->bi_opf & REQ_PREFLUSH)
		return slice_flush(slice, bio);
	bio_set_dev(bio, slice->device->bdev);
	bio->bi_iter.bi_sector = slice->start + dm_target_offset(ti, bio->bi_iter.bi_sector);
	return DM_MAPIO_REMAPPED;
}

static int slice_ctr(struct dm_target *ti, unsigned int count, char **words)
{
	unsigned long long start, tells;
	struct slice *slice;

	if (count != 3 || kstrtoull(words[1], 10, &start) || kstrtoull(words[2], 10, &tells)) {
		ti->error = "expected DEVICE START TELLS";
		return -EINVAL;
	}
	slice = kzalloc(sizeof(*slice), GFP_KERNEL);
	if (!slice)
		return -ENOMEM;
	if (dm_get_device(ti, words[0], dm_table_get_mode(ti->table), &slice->device)) {
		ti->error = "no such device";
		kfree(slice);
		return -EINVAL;
	}
	slice->start = start;
	slice->tells = tells;
	ti->private = slice;
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	return 0;
}

static void slice_dtr(struct dm_target *ti)
{
	struct slice *slice = ti->private;

	dm_put_device(ti, slice->device);
	kfree(slice);
}

static void slice_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
			 unsigned int maxlen)
{
	struct slice *slice = ti->private;
	unsigned int sz = 0;

	if (type == STATUSTYPE_TABLE)
		DMEMIT("%s %llu %llu", slice->device->name, (unsigned long long)slice->start,
		       (unsigned long long)slice->tells);
}

static int slice_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct slice *slice = ti->private;

	return fn(ti, slice->device, slice->start, ti->len, data);
}

static struct target_type slice_target = {
	.name = "powercut-slice",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = slice_ctr,
	.dtr = slice_dtr,
	.map = slice_map,
	.status = slice_status,
	.iterate_devices = slice_iterate_devices,
};

static int __init slice_init(void)
{
	return dm_register_target(&slice_target);
}

module_init(slice_init);
MODULE_DESCRIPTION("one of several devices that are recorded together");
MODULE_LICENSE("GPL");
