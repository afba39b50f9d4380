/* SPDX-License-Identifier: Apache-2.0 */
/* What a cgroup is, by its path: one row a form that a runtime, kubelet or systemd gives it. */
#include "unit.h"
#include <string.h>

#include "base/own.h"
#include "cgroup/identity.h"

#define ID "1f00ab23e9c0b7d53a2c5e7ff1ad0b5d83a4c9e65b7f2d1e0c9b8a7f6e5d4c3b"
#define ID2 "0000000000000000000000000000000000000000000000000000000000000abc"
#define UID "0b7a1f2e-3c4d-4e5f-8a9b-0c1d2e3f4a5b"
#define UID_ "0b7a1f2e_3c4d_4e5f_8a9b_0c1d2e3f4a5b"
#define SLICE "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

struct row {
	const char *path;
	enum cgroup_kind kind;
	const char *container, *unit, *pod;
	enum cgroup_qos qos;
};

static const struct row table[] = {
	{ "/", CGROUP_ROOT, "", "", "", 0 },
	{ "", CGROUP_ROOT, "", "", "", 0 },
	{ "/some/folder", CGROUP_OTHER, "", "", "", 0 },
	/* Docker */
	{ "/docker/" ID, CGROUP_DOCKER, ID, "", "", 0 },
	{ "/docker/" ID "/below", CGROUP_DOCKER, ID, "", "", 0 },
	{ "/system.slice/docker-" ID ".scope", CGROUP_DOCKER, ID, "", "", 0 },
	{ "/mine/" ID, CGROUP_CONTAINER, ID, "", "", 0 },
	{ "/docker/web", CGROUP_OTHER, "", "", "", 0 },
	{ "/docker/buildx", CGROUP_OTHER, "", "", "", 0 },
	{ "/system.slice/docker.service", CGROUP_SERVICE, "", "docker.service", "", 0 },
	{ "/system.slice/docker-1f00.scope", CGROUP_SCOPE, "", "docker-1f00.scope", "", 0 },
	{ "/system.slice:docker:" ID, CGROUP_DOCKER, ID, "", "", 0 },
	/* Kubernetes, folders */
	{ "/kubepods/burstable/pod" UID "/" ID, CGROUP_CONTAINER, ID, "", UID, CGROUP_BURSTABLE },
	{ "/kubepods/besteffort/pod" UID "/" ID, CGROUP_CONTAINER, ID, "", UID, CGROUP_BESTEFFORT },
	{ "/kubepods/pod" UID "/" ID, CGROUP_CONTAINER, ID, "", UID, CGROUP_GUARANTEED },
	{ "/kubepods/burstable/pod" UID, CGROUP_POD, "", "", UID, CGROUP_BURSTABLE },
	{ "/kubepods/burstable/pod" UID "/crio-" ID, CGROUP_CRIO, ID, "", UID, CGROUP_BURSTABLE },
	{ "/kubepods/burstable/pod" UID "/libpod-" ID, CGROUP_PODMAN, ID, "", UID,
		CGROUP_BURSTABLE },
	{ "/burstable/pod" UID, CGROUP_OTHER, "", "", "", 0 },
	{ "/kubepods/burstable/podcast/of/podium", CGROUP_POD, "", "", "cast", CGROUP_BURSTABLE },
	/* Kubernetes, systemd */
	{ SLICE "/cri-containerd-" ID ".scope", CGROUP_CONTAINERD, ID, "", UID, CGROUP_BURSTABLE },
	{ SLICE "/cri-containerd-web.scope", CGROUP_CONTAINERD, "web", "", UID, CGROUP_BURSTABLE },
	{ SLICE "/crio-" ID ".scope", CGROUP_CRIO, ID, "", UID, CGROUP_BURSTABLE },
	{ SLICE "/docker-" ID ".scope", CGROUP_DOCKER, ID, "", UID, CGROUP_BURSTABLE },
	{ SLICE "/crio-conmon-" ID ".scope", CGROUP_POD, "", "crio-conmon-" ID ".scope", UID,
		CGROUP_BURSTABLE },
	{ SLICE, CGROUP_POD, "", "", UID, CGROUP_BURSTABLE },
	{ SLICE ":cri-containerd:" ID, CGROUP_CONTAINERD, ID, "", UID, CGROUP_BURSTABLE },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", CGROUP_CRIO, ID,
		"", UID, CGROUP_GUARANTEED },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"
	  "5c16f1cbe1ba01e5bb9e4ad6ac1e2b2d.slice/cri-containerd-" ID ".scope",
		CGROUP_CONTAINERD, ID, "", "5c16f1cbe1ba01e5bb9e4ad6ac1e2b2d", CGROUP_BESTEFFORT },
	/* Podman */
	{ "/libpod_parent/libpod-" ID, CGROUP_PODMAN, ID, "", "", 0 },
	{ "/machine.slice/libpod-" ID ".scope", CGROUP_PODMAN, ID, "", "", 0 },
	{ "/machine.slice/libpod-" ID ".scope/container", CGROUP_PODMAN, ID, "", "", 0 },
	{ "/machine.slice/libpod-conmon-" ID ".scope", CGROUP_SCOPE, "",
		"libpod-conmon-" ID ".scope", "", 0 },
	{ "/libpod_parent/" ID2 "/libpod-" ID, CGROUP_PODMAN, ID, "", "", 0 },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
		CGROUP_PODMAN, ID, "", "", 0 },
	{ "/system.slice/web.service/libpod-payload-" ID, CGROUP_PODMAN, ID, "", "", 0 },
	/* LXC and machines */
	{ "/lxc/web", CGROUP_LXC, "web", "", "", 0 },
	{ "/lxc.payload.web", CGROUP_LXC, "web", "", "", 0 },
	{ "/lxc.payload/web/system.slice/nginx.service", CGROUP_LXC, "web", "nginx.service", "",
		0 },
	{ "/lxc.monitor.web", CGROUP_OTHER, "", "", "", 0 },
	{ "/machine.slice/systemd-nspawn@deb.service/payload", CGROUP_MACHINE, "deb", "", "", 0 },
	{ "/machine.slice/machine-qemu\\x2d1\\x2ddeb.scope", CGROUP_MACHINE, "qemu-1-deb", "", "",
		0 },
	/* systemd */
	{ "/system.slice/ssh.service", CGROUP_SERVICE, "", "ssh.service", "", 0 },
	{ "/system.slice/web.service/workers", CGROUP_SERVICE, "", "web.service", "", 0 },
	{ "/init.scope", CGROUP_SCOPE, "", "init.scope", "", 0 },
	{ "/system.slice", CGROUP_SLICE, "", "system.slice", "", 0 },
	{ "/user.slice/user-1000.slice/session-3.scope", CGROUP_SESSION, "", "session-3.scope", "",
		0 },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-editor.scope", CGROUP_SCOPE,
		"", "user@1000.service/app-editor.scope", "", 0 },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/ssh.service", CGROUP_SERVICE, "",
		"user@1000.service/ssh.service", "", 0 },
	{ "/user.slice/user-1000.slice/user@1000.service/a.service/app.slice/b.scope", CGROUP_SCOPE,
		"", "user@1000.service/b.scope", "", 0 },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", CGROUP_SCOPE, "",
		"user@1000.service/init.scope", "", 0 },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice", CGROUP_SLICE, "",
		"user@1000.service/app.slice", "", 0 },
	{ "/a.slice/b.slice/web.service", CGROUP_SERVICE, "", "web.service", "", 0 },
	{ "/system.slice/web.service/lxc.payload.deb/system.slice/ssh.service", CGROUP_LXC, "deb",
		"ssh.service", "", 0 },
	/* containers in containers: the innermost */
	{ "/docker/" ID2 "/docker/" ID, CGROUP_DOCKER, ID, "", "", 0 },
	{ "/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID, CGROUP_CONTAINER, ID, "",
		UID, CGROUP_BURSTABLE },
	{ "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope",
		CGROUP_CONTAINERD, ID, "", UID, CGROUP_BESTEFFORT },
	/* what only looks like one */
	{ "/.scope/.service/.slice", CGROUP_OTHER, "", "", "", 0 },
	{ "/crio-.scope", CGROUP_SCOPE, "", "crio-.scope", "", 0 },
	{ "/::/:docker:", CGROUP_OTHER, "", "", "", 0 },
	{ "//docker//" ID "//", CGROUP_DOCKER, ID, "", "", 0 },
	{ "/kubepods-pod.slice", CGROUP_OTHER, "", "", "", 0 },
	{ "/kubepods/pod", CGROUP_OTHER, "", "", "", 0 },
};

static void each_path_is_what_its_makers_mean(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct row *row = &table[i];
		struct cgroup_identity id;

		cgroup_identify(row->path, &id);
		if (id.kind == row->kind && id.qos == row->qos &&
			strcmp(id.container, row->container) == 0 &&
			strcmp(id.unit, row->unit) == 0 && strcmp(id.pod_uid, row->pod) == 0)
			continue;
		fail_msg("%s\n is %s container=%s unit=%s pod=%s qos=%d", row->path,
			cgroup_kind_name(id.kind), id.container, id.unit, id.pod_uid, (int)id.qos);
	}
}

static void the_folder_of_a_container_is_found_above_its_own_folders(void **state)
{
	static const struct {
		const char *path;
		size_t container_len, pod_len, unit_len;
		bool nested;
	} rows[] = {
		{ "/docker/" ID, 72, 0, 0, false },
		{ "/docker/" ID "/a/b", 72, 0, 0, false },
		{ "/lxc/web/system.slice/ssh.service/x", 8, 0, 33, false },
		{ "/kubepods/pod" UID "/" ID "/x", 114, 49, 0, false },
		{ "/system.slice/ssh.service/x", 0, 0, 25, false },
		{ "/docker/" ID2 "/docker/" ID, 144, 0, 0, true },
		{ "/libpod_parent/" ID2 "/libpod-" ID, 151, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_identity id;

		cgroup_identify(rows[i].path, &id);
		if (id.container_len != rows[i].container_len || id.pod_len != rows[i].pod_len ||
			id.unit_len != rows[i].unit_len || id.nested != rows[i].nested)
			fail_msg("%s: container %zu pod %zu unit %zu nested %d", rows[i].path,
				id.container_len, id.pod_len, id.unit_len, id.nested);
	}
}

static void a_user_is_known_by_the_slice(void **state)
{
	struct cgroup_identity id;

	(void)state;
	cgroup_identify("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
			".scope",
		&id);
	assert_true(id.has_user);
	assert_int_equal(id.user, 1000);
	cgroup_identify("/user.slice/user-me.slice/session-1.scope", &id);
	assert_false(id.has_user);
	/* What a container calls its own slices says nothing of ours. */
	cgroup_identify("/docker/" ID "/user.slice/user-7.slice", &id);
	assert_false(id.has_user);
}

static void a_part_that_is_too_long_is_nothing(void **state)
{
	char path[8192] = "/cri-containerd-";
	struct cgroup_identity id;

	(void)state;
	memset(path + strlen(path), 'a', 4000);
	strcat(path, ".scope");
	cgroup_identify(path, &id);
	assert_int_equal(id.kind, CGROUP_OTHER);
	assert_string_equal(id.container, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_is_what_its_makers_mean),
		cmocka_unit_test(the_folder_of_a_container_is_found_above_its_own_folders),
		cmocka_unit_test(a_user_is_known_by_the_slice),
		cmocka_unit_test(a_part_that_is_too_long_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
