/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/state_file.h - reads a container's name, image and pod from its runtime's state files.
 * Bytes in, facts out. Runs in a worker, because root in a container, or an unprivileged user, may
 * have written them.
 *   STATE_OCI      config.json of a bundle: OCI runtime specification, "config"; with the
 *                  annotations of CRI (containerd: io.kubernetes.cri.*, CRI-O: io.kubernetes.*)
 *   STATE_DOCKER   Docker's config.v2.json, and the answer to `GET /containers/ID/json`
 *   STATE_STORAGE  containers.json of containers/storage (Podman, CRI-O): a list of all
 *   STATE_CONMON   the command line of a conmon, with NULs
 * Users may write keys of any name into some of these files. So a key counts only in files of the
 * runtime that owns it, and only if the file is of the pod that the container's cgroup is in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_NAME_MAX 256
#define STATE_DIR_MAX 1024
#define STATE_LABELS_MAX 4096
#define STATE_ID_MAX 256
#define STATE_BYTES_MAX (2UL << 20) /* no runtime writes larger files */

enum state_kind { STATE_OCI, STATE_DOCKER, STATE_STORAGE, STATE_CONMON, STATE_KINDS };

/* Whose file it is: by its folder and by its container's cgroup. */
enum state_runtime {
	STATE_UNKNOWN, /* without keys of its own, like the next two */
	STATE_PODMAN,
	STATE_DOCKER_OCI, /* Docker's containers, in files of containerd */
	STATE_CRI,        /* containerd in its namespace k8s.io */
	STATE_NERDCTL,    /* in its other namespaces */
	STATE_CRIO,
	STATE_KUBELET, /* Docker's own: with kubelet's labels */
	STATE_RUNTIMES,
};

struct state_query {
	enum state_kind kind;
	enum state_runtime runtime;
	char container[STATE_ID_MAX]; /* the id in its cgroup's path */
	char pod_uid[STATE_ID_MAX];   /* of the pod in the cgroup's path, with -; "": in none */
};

/* "": unknown. Names may have any byte but NUL, in UTF-8. */
struct state_facts {
	char name[STATE_NAME_MAX];
	char image[STATE_NAME_MAX];
	char pod[STATE_NAME_MAX];
	char namespace_[STATE_NAME_MAX];
	char dir[STATE_DIR_MAX];       /* absolute path of further files, see below */
	char labels[STATE_LABELS_MAX]; /* key, NUL, value, NUL, ...; cut at the limit */
	uint32_t labels_len;           /* bytes */
	uint16_t pause;     /* 1: a pause container: it only keeps the pod's namespaces */
	uint16_t other_pod; /* 1: its keys are of another pod, and not used */
};

/* Sets dir. STATE_OCI: the folder where Docker keeps the container's config.v2.json, or that of
 * containers/storage's list (containers.json); STATE_CONMON: the bundle (config.json). 0; -ENOENT:
 * not in the list; -EBADMSG: malformed; -ENOMEM. */
int state_file_parse(
	const struct state_query *query, const char *text, size_t len, struct state_facts *out);
/* Checks a query from another process. */
bool state_query_valid(const struct state_query *query);

/* Copies unknown facts from other. */
void state_facts_merge(struct state_facts *facts, const struct state_facts *other);
/* Checks facts from another process: could state_file_parse have returned them? */
bool state_facts_valid(const struct state_facts *facts);
