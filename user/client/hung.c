/* SPDX-License-Identifier: Apache-2.0 */
/* client/hung.c - a short list, searched only while somebody is on it. A hang on a file system that
 * is known to wait concerns its device and such files of the account, one on a path the account's
 * paths; one on a file that seemed harmless, because another file was mapped in its place
 * meanwhile, concerns all files of the account. */
#include "client/hung.h"

#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"

/* By files of procfs that no lock guards. Processes that are gone share account 0. */
void hung_identify(const struct hung *hung, struct hung_file *file)
{
	struct stat st;
	char path[64];

	if (file->identified)
		return;
	file->identified = true;
	snprintf(path, sizeof(path), "/proc/%d", file->process);
	if (stat(path, &st) == 0)
		file->uid = st.st_uid;
	file->account = hung->account ? hung->account(file->process) : 0;
}

bool hung_has_room(struct hung *hung, enum hung_kind kind)
{
	size_t len = 0;

	hung_reap(hung);
	for (size_t i = 0; i < hung->len; i++)
		len += hung->all[i].kind == kind;
	return len < HUNG_PLACES;
}

void hung_put(struct hung *hung, struct starter *starter, enum hung_kind kind, struct child *child,
	const struct hung_file *blamed)
{
	assert(hung->len < HUNG_MAX);
	if (child->pid > 0)
		starter_kill(starter, child->pid);
	fd_close(&child->fd);
	hung->all[hung->len].child = *child;
	hung->all[hung->len].kind = kind;
	hung->all[hung->len].blames = blamed != NULL;
	hung->all[hung->len].until_ns = clock_ns(CLOCK_MONOTONIC) + HUNG_REFUSE_NS;
	if (blamed) {
		hung->given_up++;
		hung->all[hung->len].file = *blamed;
		hung_identify(hung, &hung->all[hung->len].file);
	}
	hung->len++;
	*child = (struct child)CHILD_INIT;
}

void hung_reap(struct hung *hung)
{
	uint64_t now = hung->len > 0 ? clock_ns(CLOCK_MONOTONIC) : 0;

	for (size_t i = hung->len; i-- > 0;) {
		struct child *child = &hung->all[i].child;
		struct child_end end = { 0 };

		if (child->pid != 0)
			child_wait(child, 0, &end);
		hung->cpu_ns += end.cpu_ns;
		if (child->pid == 0 && (!hung->all[i].blames || now >= hung->all[i].until_ns))
			hung->all[i] = hung->all[--hung->len];
	}
}

bool hung_refuses(struct hung *hung, struct hung_file *file)
{
	unsigned int account = 0, user = 0;

	hung_reap(hung);
	for (size_t i = 0; i < hung->len; i++) {
		const struct hung_file *stuck = &hung->all[i].file;

		if (!hung->all[i].blames ||
			(stuck->kind != HUNG_LOCAL && stuck->kind != file->kind))
			continue;
		if (stuck->kind == HUNG_SLOW && file->kind == HUNG_SLOW && stuck->dev == file->dev)
			return true;
		hung_identify(hung, file);
		if (stuck->account == file->account && stuck->uid == file->uid)
			return true;
		account += stuck->account == file->account;
		user += stuck->uid == file->uid && file->uid != 0;
	}
	return account >= HUNG_SHARE_MAX || user >= HUNG_SHARE_MAX;
}

void hung_done(struct hung *hung)
{
	hung_reap(hung);
	for (size_t i = 0; i < hung->len; i++)
		child_leave(&hung->all[i].child);
	hung->len = 0;
}
