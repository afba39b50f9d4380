/* SPDX-License-Identifier: Apache-2.0 */
/* proc/file_system.c - those that are known to keep their files on a device or in memory. Only root
 * can mount one of them from an image, so nobody else decides whether its device answers. */
#include "proc/file_system.h"

#include <linux/magic.h>
#include <stddef.h>

#include "base/own.h"

/* Numbers that not each linux/magic.h has. */
#define BCACHEFS_MAGIC 0xca451a4eU
#define EXFAT_MAGIC 0x2011bab0U
#define JFS_MAGIC 0x3153464aU
#define NTFS3_MAGIC 0x7366746eU
#define XFS_MAGIC 0x58465342U
#define ZFS_MAGIC 0x2fc12fc1U

static const uint32_t local[] = {
	EXT4_SUPER_MAGIC, /* also ext2 and ext3 */
	XFS_MAGIC,
	BTRFS_SUPER_MAGIC,
	TMPFS_MAGIC,
	RAMFS_MAGIC,
	HUGETLBFS_MAGIC,
	SQUASHFS_MAGIC,
	EROFS_SUPER_MAGIC_V1,
	ISOFS_SUPER_MAGIC,
	F2FS_SUPER_MAGIC,
	ZFS_MAGIC,
	BCACHEFS_MAGIC,
	MSDOS_SUPER_MAGIC,
	EXFAT_MAGIC,
	NTFS3_MAGIC,
	UDF_SUPER_MAGIC,
	CRAMFS_MAGIC,
	JFS_MAGIC,
	NILFS_SUPER_MAGIC,
	REISERFS_SUPER_MAGIC,
	PROC_SUPER_MAGIC,
	SYSFS_MAGIC,
};

bool file_system_is_local(uint32_t magic)
{
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (local[i] == magic)
			return true;
	return false;
}
