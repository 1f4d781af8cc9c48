// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC-32C by the processor's instruction for it, in User Mode Linux.
 *
 * On x86 a driver of its own brings that (arch/x86/crypto/crc32c-intel_glue.c), and User Mode Linux has none of these. There
 * tables did it, and of the time of a guest that recovered states at the end of a long log of XFS that was a third.
 * lib/crc32.c lets an architecture have its own __crc32c_le() and keeps the other one as __crc32c_le_base();
 * arch/arm64/lib/crc32-glue.c does the same. Both give the same sums.
 *
 * kernel/dm_target.py puts it into lib/. From 6.14 on lib/crc32.c takes what an architecture has in another way; these
 * kernels stay as they are.
 */
#include <linux/crc32.h>
#include <linux/types.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)

u32 __pure __crc32c_le_base(u32 crc, unsigned char const *p, size_t len); /* 6.1 and before do not declare it */

#define FEATURES 1 /* leaf of CPUID: Intel SDM, volume 2, CPUID */
#define SSE4_2 (1U << 20) /* of its ECX */

static bool has_instruction(void)
{
	static int known = -1;
	u32 a = FEATURES, b, c = 0, d;

	if (known < 0) {
		asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		known = !!(c & SSE4_2);
	}
	return known;
}

u32 __pure __crc32c_le(u32 crc, unsigned char const *p, size_t len)
{
	u64 wide = crc;

	if (!has_instruction())
		return __crc32c_le_base(crc, p, len);
	for (; len >= sizeof(u64); len -= sizeof(u64), p += sizeof(u64))
		asm("crc32q %1, %0" : "+r"(wide) : "m"(*(const u64 *)p));
	crc = wide;
	for (; len; len--, p++)
		asm("crc32b %1, %0" : "+r"(crc) : "m"(*p));
	return crc;
}

#endif
