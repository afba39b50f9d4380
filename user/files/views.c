/* SPDX-License-Identifier: Apache-2.0 */
/* files/views.c - a descriptor of a root stays usable after its last process ended. Our own root is
 * the first and stays. */
#include "files/views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/share.h"
#include "client/openers.h"
#include "sampler/file_key.h"
#include "sampler/places.h"

#define ASKED_MAX 1024
#define IDLE_INTERVALS 8 /* more than a task without samples is known */

struct root {
	struct file_view view;
	uint32_t number, used;
	uint64_t account; /* the account that pays; 0: not known yet */
	int fd;
};

struct views {
	struct sampler *sampler;
	struct openers *openers;
	struct hash asked; /* hash of a view that was asked for in this interval → 1 */
	struct root roots[VIEWS_MAX];
	size_t len;
	struct hash by_view; /* hash of a view → index */
	struct share share;
	uint32_t last, interval;
	uint64_t refused;
};

DEFINE_CLEANUP(struct views, views_free)

static uint64_t key_of(const struct file_view *view)
{
	return hash_bytes(view, sizeof(*view));
}

static struct root *find(struct views *views, const struct file_view *view)
{
	uint64_t *at = view->mounts ? hash_find(&views->by_view, key_of(view)) : NULL;
	struct root *root = at ? &views->roots[*at] : NULL;

	return root && memcmp(&root->view, view, sizeof(*view)) == 0 ? root : NULL;
}

/* Takes the descriptor. */
static uint32_t add(struct views *views, const struct file_view *view, int fd, uint64_t account)
{
	_cleanup_fd_ int owned = fd;
	struct root *root = &views->roots[views->len];

	if (share_refuses(&views->share, account, 1, VIEWS_MAX) ||
		hash_put(&views->by_view, key_of(view), views->len) < 0 ||
		share_charge(&views->share, account, 1) < 0) {
		views->refused++;
		return VIEWS_NONE;
	}
	*root = (struct root){ .view = *view,
		.account = account,
		.number = ++views->last,
		.used = views->interval,
		.fd = TAKE_FD(owned) };
	views->len++;
	return root->number;
}

int views_new(struct sampler *sampler, struct openers *openers, struct views **out)
{
	_cleanup_(views_freep) struct views *views = calloc(1, sizeof(*views));
	struct file_view own = { 0 };
	int fd = -1, err = views ? 0 : -ENOMEM;

	if (err == 0)
		err = opener_root(&(struct opener_process){ .pid = getpid() }, &fd);
	if (err < 0)
		return err;
	views->sampler = sampler;
	views->openers = openers;
	/* If the kernel does not say, no process has a root that is known to be ours. */
	if (file_key_view(sampler, fd, &own) < 0)
		own = (struct file_view){ 0 };
	if (add(views, &own, fd, 0) != VIEWS_OWN)
		return -ENOMEM;
	*out = TAKE_PTR(views);
	return 0;
}

void views_free(struct views *views)
{
	if (!views)
		return;
	for (size_t i = 0; i < views->len; i++)
		fd_close(&views->roots[i].fd);
	hash_done(&views->by_view);
	hash_done(&views->asked);
	share_done(&views->share);
	free(views);
}

/* Somebody is known to use it: our own root is nobody's. */
static void set_account(struct views *views, struct root *root, uint64_t account)
{
	if (root->account != 0 || root->number == VIEWS_OWN ||
		share_charge(&views->share, account, 1) < 0)
		return;
	share_return(&views->share, 0, 1);
	root->account = account;
}

uint32_t views_take(struct views *views, int fd, uint64_t account)
{
	_cleanup_fd_ int owned = fd;
	struct file_view view;
	struct root *root;

	if (fd < 0 || file_key_view(views->sampler, fd, &view) < 0)
		return VIEWS_NONE;
	root = find(views, &view);
	if (!root)
		return add(views, &view, TAKE_FD(owned), account);
	root->used = views->interval;
	return root->number;
}

static void on_root(void *ctx, uint64_t account, struct openers_answer *answer)
{
	views_take(ctx, TAKE_FD(answer->fd), account);
}

bool views_meet(struct views *views, const struct file_view *view,
	const struct opener_process *process, uint64_t account)
{
	struct root *root = find(views, view);

	if (root)
		set_account(views, root, account);
	if (root || view->mounts == 0)
		return true;
	if (hash_find(&views->asked, key_of(view)))
		return false;
	if (views->asked.len >= ASKED_MAX)
		hash_clear(&views->asked);
	if (hash_put(&views->asked, key_of(view), 1) == 0)
		openers_root(views->openers, process, NULL, account, on_root, views, account);
	return false;
}

uint32_t views_find(struct views *views, const struct file_view *view)
{
	struct root *root = find(views, view);

	if (!root)
		return VIEWS_NONE;
	root->used = views->interval;
	return root->number;
}

int views_root(const struct views *views, uint32_t number)
{
	for (size_t i = 0; i < views->len; i++)
		if (views->roots[i].number == number)
			return views->roots[i].fd;
	return -1;
}

uint64_t views_blamed(const struct views *views, uint32_t number)
{
	for (size_t i = 0; i < views->len; i++)
		if (views->roots[i].number == number && views->roots[i].account != 0)
			return views->roots[i].account;
	return (uint64_t)number << 32;
}

void views_next(struct views *views)
{
	const size_t before = views->len;

	views->interval++;
	hash_clear(&views->asked);
	for (size_t i = views->len; i-- > 1;) {
		struct root *root = &views->roots[i];

		if (views->interval - root->used <= IDLE_INTERVALS)
			continue;
		fd_close(&root->fd);
		share_return(&views->share, root->account, 1);
		hash_del(&views->by_view, key_of(&root->view));
		*root = views->roots[--views->len];
		if (i < views->len)
			hash_put(&views->by_view, key_of(&root->view), i);
	}
	if (views->len < before)
		places_forget(views->sampler);
}

uint64_t views_refused(const struct views *views)
{
	return views->refused;
}
