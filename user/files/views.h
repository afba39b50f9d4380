/* SPDX-License-Identifier: Apache-2.0 */
/* files/views.h - the root folders that processes have, each opened once.
 * A path means nothing without the root that it starts at: what a path leads to in one root must
 * not be taken for what it leads to in another. Roots are compared by what BPF reads of them
 * (struct file_view), so a process that changes its root in between is noticed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "proc/opener.h"

#define VIEWS_MAX 256

/* Numbers of views; others follow, and none is used twice. */
#define VIEWS_NONE 0 /* unknown */
#define VIEWS_OWN 1  /* our own root */

struct openers;
struct sampler;
struct views;

int views_new(struct sampler *sampler, struct openers *openers, struct views **out);
void views_free(struct views *views);

/* BPF saw this root of this process, which is of this account: it is asked for if it is new.
 * Accounts share the places (base/share.h); a root without one stays unknown. True: it is open, or
 * cannot be known. */
bool views_meet(struct views *views, const struct file_view *view,
	const struct opener_process *process, uint64_t account);
/* The number of a process's root, whose descriptor this takes. Account 0: views_meet() sets it. */
uint32_t views_take(struct views *views, int fd, uint64_t account);
/* A root that was met, which counts as a use. */
uint32_t views_find(struct views *views, const struct file_view *view);
/* O_PATH, borrowed; -1: there is none. */
int views_root(const struct views *views, uint32_t number);
/* Who is blamed where a file system in it does not answer (client/opener_call.h): the account that
 * pays for it, as that can make many; our own root is blamed alone. */
uint64_t views_blamed(const struct views *views, uint32_t number);
/* Closes roots that were not used in the latest intervals. */
void views_next(struct views *views);
/* Number of roots that were refused for want of a place. */
uint64_t views_refused(const struct views *views);
