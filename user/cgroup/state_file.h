/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/state_file.h - what a container runtime writes down about a container → its name, image,
 * pod. Bytes in, facts out; for a worker, as a container's own root, or a user without privileges,
 * may have written them.
 *   STATE_OCI      config.json of a bundle: OCI runtime specification, "config"; with the
 *                  annotations of CRI (containerd: io.kubernetes.cri.*, CRI-O: io.kubernetes.*)
 *   STATE_DOCKER   Docker's config.v2.json, and what `GET /containers/ID/json` answers
 *   STATE_STORAGE  containers.json of containers/storage (Podman, CRI-O): a list of all
 *   STATE_CONMON   the command line of a conmon, with NULs */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_NAME_MAX 256
#define STATE_DIR_MAX 1024
#define STATE_LABELS_MAX 4096
#define STATE_ID_MAX 256
#define STATE_BYTES_MAX (2UL << 20) /* a larger file is nothing that a runtime wrote */

enum state_kind { STATE_OCI, STATE_DOCKER, STATE_STORAGE, STATE_CONMON, STATE_KINDS };

/* "" is not known. Names may hold any byte but NUL, in UTF-8. */
struct state_facts {
	char name[STATE_NAME_MAX];
	char image[STATE_NAME_MAX];
	char pod[STATE_NAME_MAX];
	char namespace_[STATE_NAME_MAX];
	char dir[STATE_DIR_MAX];       /* an absolute path: where more is told, see below */
	char labels[STATE_LABELS_MAX]; /* key, NUL, value, NUL, ...; those that do not fit are not
					  there */
	uint32_t labels_len;           /* bytes */
	uint32_t pause;                /* 1: it only holds the pod's namespaces */
};

/* dir: of STATE_OCI, where Docker keeps the files of the container (its config.v2.json is there),
 * or the list of containers/storage (containers.json); of STATE_CONMON, the bundle (config.json).
 * id: which container, as its cgroup has it. 0; -ENOENT: it is not in the list; -EBADMSG: not what
 * it should be; -ENOMEM. */
int state_file_parse(enum state_kind kind, const char *id, const char *text, size_t len,
	struct state_facts *out);

/* Takes from other what is not known. */
void state_facts_merge(struct state_facts *facts, const struct state_facts *other);
/* Is it what state_file_parse could have given? For facts that came from elsewhere. */
bool state_facts_valid(const struct state_facts *facts);
