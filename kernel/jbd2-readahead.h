/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jbd2 reads 128 KiB of the journal ahead of each block that recovery wants (do_readahead() in fs/jbd2/recovery.c), and
 * does not say that it only guesses. Here it says so, by REQ_RAHEAD: dm-powercut.c fails such reads, recovery reads the
 * blocks that it needs again, and what it did not need does not count as read. On other devices nothing changes.
 *
 * kernel/dm_target.py has it included before recovery.c. A kernel without __bh_read_batch() (before 6.1) never asks.
 */
#include <linux/buffer_head.h>

#define bh_readahead_batch(count, buffers, flags) __bh_read_batch(count, buffers, (flags) | REQ_RAHEAD, false)
