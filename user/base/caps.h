/* SPDX-License-Identifier: Apache-2.0 */
/* base/caps.h - this process's capabilities (capabilities(7)), as sets with a bit for each. */
#pragma once

#include <linux/capability.h>
#include <stdint.h>
#include <sys/types.h>

#define CAPS_BIT(cap) (1ULL << (cap))

/* A process of ours that sends descriptors keeps it where its caller has it: the kernel then lets
 * it send them whatever others of its user have in flight (unix(7), ETOOMANYREFS). */
#define CAPS_TO_SEND CAPS_BIT(CAP_SYS_RESOURCE)

/* The effective set; empty if unknown. */
uint64_t caps_effective(void);

/* Drops all other capabilities, permitted and effective; executed programs inherit none. The
 * process cannot regain them. */
int caps_limit(uint64_t keep);

/* Becomes this user, and a group of the same number alone, and keeps the capabilities. 0 or -errno.
 */
int caps_become(uid_t user);

/* Limits executed programs to these, too; without CAP_SETPCAP this does nothing. */
void caps_bound(uint64_t keep);

/* Lets executed programs inherit the permitted set, even if neither they nor we are root's. 0 or
 * -errno. For a child before exec: its own children inherit it too. */
int caps_hand_on(void);
