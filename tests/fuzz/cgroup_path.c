/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_path.c - paths of cgroups, whose names whoever may make a cgroup chooses. */
#include "fuzz.h"
#include "cgroup/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *path = text_of(data, size);
	struct cgroup_identity id;
	size_t len = strlen(path);

	cgroup_identify(path, &id);
	must(id.kind < CGROUP_KINDS);
	must(memchr(id.container, '\0', sizeof(id.container)) != NULL);
	must(memchr(id.unit, '\0', sizeof(id.unit)) != NULL);
	must(memchr(id.pod_uid, '\0', sizeof(id.pod_uid)) != NULL);
	must(id.container_len <= len && id.pod_len <= len && id.unit_len <= len);
	must(cgroup_is_container(id.kind) == (id.container_len > 0));
	must((id.container[0] != '\0') == (id.container_len > 0));
	must((id.unit[0] != '\0') == (id.unit_len > 0));
	touch_text(cgroup_kind_name(id.kind));
	return 0;
}
