/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/identity.h - identifies a cgroup by its path alone: the container and its runtime, the pod
 * and its QoS class, the systemd unit. The rules are the runtimes' naming schemes:
 *
 *   docker/ID  docker-ID.scope  ID below any --cgroup-parent                          Docker
 *   cri-containerd-ID.scope  SLICE:cri-containerd:ID  nerdctl-ID.scope                containerd
 *   crio-ID.scope  crio-ID                                                            CRI-O
 *   libpod-ID  libpod-ID.scope  libpod-payload-ID, below a user's slice: rootless     Podman
 *   lxc/NAME  lxc.payload/NAME  lxc.payload.NAME                                      LXC
 *   machine-NAME.scope  systemd-nspawn@NAME.service                                   machine
 *   kubepods[/QOS]/podUID  [kubelet-]kubepods[-QOS]-podUID.slice, with _ for -        pod
 *   *.service  *.scope  *.slice, session-N.scope                                      systemd
 *   UNIT/UNIT for one below a service or scope, as a user's services are              systemd
 *
 * ID is 64 hexadecimal digits; after cri-containerd-, crio- and nerdctl- any name. Of nested
 * containers the innermost counts, and a unit inside a container is the container's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_NAME_MAX 256
#define CGROUP_POD_MAX 72

enum cgroup_kind {
	CGROUP_ROOT,
	CGROUP_OTHER,
	CGROUP_SERVICE, /* up to here systemd's */
	CGROUP_SCOPE,
	CGROUP_SLICE,
	CGROUP_SESSION,
	CGROUP_POD,    /* in a pod, but in none of its containers */
	CGROUP_DOCKER, /* from here on containers */
	CGROUP_CONTAINERD,
	CGROUP_CRIO,
	CGROUP_PODMAN,
	CGROUP_LXC,
	CGROUP_MACHINE,
	CGROUP_CONTAINER, /* of an unknown runtime */
	CGROUP_KINDS,
};

enum cgroup_qos { CGROUP_QOS_NONE, CGROUP_GUARANTEED, CGROUP_BURSTABLE, CGROUP_BESTEFFORT };

struct cgroup_identity {
	enum cgroup_kind kind;
	enum cgroup_qos qos;             /* of the pod */
	char container[CGROUP_NAME_MAX]; /* id, or name if there is no id; "": none */
	char unit[CGROUP_NAME_MAX];      /* innermost, below the outermost; "": none */
	char pod_uid[CGROUP_POD_MAX];    /* with -; "": none */
	/* Length of the path up to and including the part; 0: none. */
	size_t container_len, pod_len, unit_len;
	bool nested; /* inside another container, which may have made this cgroup */
	bool pod_nested; /* the pod is inside a container, or a user's */
	bool has_user;
	uid_t user; /* owner of the user slice */
};

#define CGROUP_PARTS_MAX 64 /* what is below belongs to the last of them */

/* Accepts any path; one with an over-long part is CGROUP_OTHER. */
void cgroup_identify(const char *path, struct cgroup_identity *out);
/* The same of the shortest beginning of the path, in whole parts, of which this is true. The length
 * of the beginning; 0: of none, and *out is of the path. */
size_t cgroup_identify_until(const char *path, bool (*is_it)(const struct cgroup_identity *id),
	struct cgroup_identity *out);

static inline bool cgroup_is_container(enum cgroup_kind kind)
{
	return kind >= CGROUP_DOCKER;
}

/* "docker", "service", ...; never NULL. */
const char *cgroup_kind_name(enum cgroup_kind kind);
