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

/* The permitted set; empty if unknown. */
uint64_t caps_permitted(void);

/* Makes no capability effective, until caps_raise makes all permitted ones effective: what is done
 * in between is done with the user's rights. Root's are its own: caps_lower does nothing then. 0 or
 * -errno. */
int caps_lower(void);
int caps_raise(void);

/* The same for a scope: _as_user_ uint64_t rights = caps_pause(). At its end those are effective
 * again that were before. */
#define _as_user_ __attribute__((cleanup(caps_resume), unused))
uint64_t caps_pause(void);
void caps_resume(const uint64_t *rights);

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
