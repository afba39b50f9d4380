/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/state_path.c - a table of paths, with %s for the container's id. Ids that could change the
 * folder are refused: they come from names of cgroups, which others may choose. */
#include "cgroup/state_path.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"

#define KIND(k) (1U << (k))
#define UNKNOWN KIND(CGROUP_CONTAINER)
#define CONTAINERD "/run/containerd/io.containerd.runtime.v2.task"

static const struct place {
	unsigned int kinds; /* by bit */
	enum state_kind kind;
	const char *before, *after; /* of the id; after NULL: a folder of namespaces */
} places[] = {
	{ KIND(CGROUP_DOCKER) | KIND(CGROUP_CONTAINER), STATE_DOCKER, "/var/lib/docker/containers/",
		"/config.v2.json" },
	{ KIND(CGROUP_DOCKER) | KIND(CGROUP_CONTAINER), STATE_DOCKER,
		"/var/snap/docker/common/var-lib-docker/containers/", "/config.v2.json" },
	{ KIND(CGROUP_DOCKER) | KIND(CGROUP_CONTAINERD) | UNKNOWN, STATE_OCI, CONTAINERD, NULL },
	{ KIND(CGROUP_DOCKER) | KIND(CGROUP_CONTAINER), STATE_OCI,
		"/run/docker/containerd/daemon/io.containerd.runtime.v2.task", NULL },
	{ KIND(CGROUP_CONTAINERD) | UNKNOWN, STATE_OCI,
		"/run/k3s/containerd/io.containerd.runtime.v2.task", NULL },
	{ KIND(CGROUP_CONTAINERD) | UNKNOWN, STATE_OCI,
		"/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task", NULL },
	{ KIND(CGROUP_DOCKER) | KIND(CGROUP_CONTAINERD) | UNKNOWN, STATE_OCI,
		"/run/containerd/io.containerd.runtime.v1.linux", NULL },
	{ KIND(CGROUP_CRIO) | KIND(CGROUP_PODMAN) | KIND(CGROUP_CONTAINER), STATE_OCI,
		"/var/lib/containers/storage/overlay-containers/", "/userdata/config.json" },
	{ KIND(CGROUP_CRIO) | KIND(CGROUP_PODMAN) | KIND(CGROUP_CONTAINER), STATE_OCI,
		"/run/containers/storage/overlay-containers/", "/userdata/config.json" },
	{ KIND(CGROUP_CRIO) | KIND(CGROUP_PODMAN), STATE_OCI,
		"/var/lib/containers/storage/vfs-containers/", "/userdata/config.json" },
	{ KIND(CGROUP_CRIO) | KIND(CGROUP_PODMAN), STATE_OCI,
		"/run/containers/storage/vfs-containers/", "/userdata/config.json" },
};

enum state_runtime state_path_of_namespace(const char *name)
{
	if (strcmp(name, "k8s.io") == 0)
		return STATE_CRI;
	return strcmp(name, "moby") == 0 ? STATE_DOCKER_OCI : STATE_NERDCTL;
}

enum state_runtime state_path_of_storage(enum cgroup_kind kind)
{
	return kind == CGROUP_CRIO      ? STATE_CRIO
		: kind == CGROUP_PODMAN ? STATE_PODMAN
					: STATE_UNKNOWN;
}

bool state_path_is_id(const char *id)
{
	return *id && !strchr(id, '/') && strcmp(id, ".") != 0 && strcmp(id, "..") != 0;
}

static bool write_path(
	struct state_path *out, const struct place *p, enum cgroup_kind kind, const char *id)
{
	int len, below = 0;

	*out = (struct state_path){ .kind = p->kind };
	out->runtime = p->kind == STATE_DOCKER ? STATE_KUBELET : state_path_of_storage(kind);
	len = snprintf(out->path, sizeof(out->path), "%s%s%s", p->before, p->after ? id : "",
		p->after ? p->after : "");
	if (!p->after)
		below = snprintf(out->below, sizeof(out->below), "%s/config.json", id);
	return len < (int)sizeof(out->path) && below < (int)sizeof(out->below);
}

bool state_path_candidate(const struct cgroup_identity *id, unsigned int i, struct state_path *out)
{
	if (!state_path_is_id(id->container))
		return false;
	for (size_t at = 0; at < ARRAY_SIZE(places); at++) {
		if (!(places[at].kinds & KIND(id->kind)) || i-- > 0)
			continue;
		return write_path(out, &places[at], id->kind, id->container);
	}
	return false;
}

bool state_path_of_other(const char *path, char id[CGROUP_NAME_MAX], struct state_path *out)
{
	const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;

	if (!slash || slash == path + 1 || !state_path_is_id(slash + 1) ||
		strlen(slash + 1) >= CGROUP_NAME_MAX)
		return false;
	snprintf(id, CGROUP_NAME_MAX, "%.*s", (int)(slash - path - 1), path + 1);
	*out = (struct state_path){ .kind = STATE_OCI, .runtime = state_path_of_namespace(id) };
	snprintf(id, CGROUP_NAME_MAX, "%s", slash + 1);
	return snprintf(out->path, sizeof(out->path), CONTAINERD "%s/config.json", path) <
		(int)sizeof(out->path);
}

bool state_path_further(const struct state_facts *facts, enum state_kind from, unsigned int i,
	struct state_path *out)
{
	static const struct {
		enum state_kind from, kind;
		enum state_runtime runtime;
		const char *name;
	} further[] = {
		{ STATE_OCI, STATE_DOCKER, STATE_KUBELET, "config.v2.json" },
		{ STATE_OCI, STATE_STORAGE, STATE_UNKNOWN, "containers.json" },
		{ STATE_CONMON, STATE_OCI, STATE_UNKNOWN, "config.json" },
	};

	for (size_t at = 0; facts->dir[0] && at < ARRAY_SIZE(further); at++) {
		if (further[at].from != from || i-- > 0)
			continue;
		*out = (struct state_path){ .kind = further[at].kind,
			.runtime = further[at].runtime };
		return snprintf(out->path, sizeof(out->path), "%s/%s", facts->dir,
			       further[at].name) < (int)sizeof(out->path);
	}
	return false;
}
