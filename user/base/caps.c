/* SPDX-License-Identifier: Apache-2.0 */
/* base/caps.c - raw system calls: a thread has three sets of two words. Only for processes with one
 * thread, because the kernel keeps capabilities by thread. */
#include "base/caps.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAD                                           \
	{                                              \
		.version = _LINUX_CAPABILITY_VERSION_3 \
	}

uint64_t caps_permitted(void)
{
	struct __user_cap_header_struct head = HEAD;
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, now) < 0)
		return 0;
	return now[0].permitted | (uint64_t)now[1].permitted << 32;
}

static int set_effective(uint64_t effective)
{
	struct __user_cap_header_struct head = HEAD;
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, now) < 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		now[i].effective = now[i].permitted & (uint32_t)(effective >> (32 * i));
	return syscall(SYS_capset, &head, now) < 0 ? -errno : 0;
}

int caps_lower(void)
{
	return geteuid() == 0 ? 0 : set_effective(0);
}

int caps_raise(void)
{
	return set_effective(UINT64_MAX);
}

uint64_t caps_pause(void)
{
	struct __user_cap_header_struct head = HEAD;
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, now) < 0)
		return 0;
	(void)caps_lower();
	return now[0].effective | (uint64_t)now[1].effective << 32;
}

void caps_resume(const uint64_t *rights)
{
	(void)set_effective(*rights);
}

int caps_limit(uint64_t keep)
{
	struct __user_cap_header_struct head = HEAD;
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, now) < 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		now[i].permitted &= (uint32_t)(keep >> (32 * i));
		now[i].effective &= now[i].permitted;
		now[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, now) < 0 ? -errno : 0;
}

/* The kernel takes the effective ones away with uid 0, and all others with KEEPCAPS 0. */
int caps_become(uid_t user)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0 ||
		syscall(SYS_setresgid, user, user, user) < 0 ||
		syscall(SYS_setresuid, user, user, user) < 0)
		return -errno;
	return caps_raise();
}

void caps_bound(uint64_t keep)
{
	for (unsigned int cap = 0; cap < 64; cap++)
		if (!(keep & CAPS_BIT(cap)))
			prctl(PR_CAPBSET_DROP, (unsigned long)cap, 0, 0, 0);
}

int caps_hand_on(void)
{
	struct __user_cap_header_struct head = HEAD;
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, now) < 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		now[i].inheritable = now[i].permitted;
	if (syscall(SYS_capset, &head, now) < 0)
		return -errno;
	for (unsigned long cap = 0; cap < 64; cap++)
		if ((now[cap / 32].permitted & (1U << (cap % 32))) &&
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -errno;
	return 0;
}
