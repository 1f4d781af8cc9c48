// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each user and group has, as the filesystem counts it. The report is oracles/observation.py's Quota.
 */
#include "agent.h"

#include <errno.h>
#include <linux/quota.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The filesystem on `device` is mounted. After the last one comes ENOENT. */
void put_quota(struct text *out, const char *device)
{
	static const int kinds[] = { USRQUOTA, GRPQUOTA };
	struct if_nextdqblk one;
	const char *between = "";

	put(out, ",\"quota\":[");
	for (int i = 0; i < 2; i++) {
		for (uint64_t id = 0; id <= UINT32_MAX; id = (uint64_t)one.dqb_id + 1) {
			if (syscall(SYS_quotactl, QCMD(Q_GETNEXTQUOTA, kinds[i]), device, (int)id, &one)) {
				if (errno != ENOENT) {
					put(out, "%s[%d,-1,%d,0]", between, kinds[i], errno);
					between = ",";
				}
				break;
			}
			put(out, "%s[%d,%u,%llu,%llu]", between, kinds[i], one.dqb_id,
			    (unsigned long long)one.dqb_curspace, (unsigned long long)one.dqb_curinodes);
			between = ",";
		}
	}
	put(out, "]");
}
