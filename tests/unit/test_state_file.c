/* SPDX-License-Identifier: Apache-2.0 */
/* What container runtimes write about a container, in the forms that they have, and what is
 * refused. */
#include "unit.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "cgroup/state_file.h"
#include "cgroup/state_path.h"

struct row {
	enum state_kind kind;
	enum state_runtime runtime;
	const char *text;
	int err;
	struct state_facts facts;
};

#define OCI(annotations, mounts) \
	"{\"ociVersion\":\"1.0.2\",\"annotations\":{" annotations "},\"mounts\":[" mounts "]}"
#define MOUNT(to, from) "{\"destination\":\"" to "\",\"type\":\"bind\",\"source\":\"" from "\"}"

static const struct row table[] = {
	/* containerd's CRI */
	{ STATE_OCI, STATE_CRI,
		OCI("\"io.kubernetes.cri.container-type\":\"container\","
		    "\"io.kubernetes.cri.container-name\":\"api\","
		    "\"io.kubernetes.cri.image-name\":\"shop/api:7\","
		    "\"io.kubernetes.cri.sandbox-name\":\"shop-1\","
		    "\"io.kubernetes.cri.sandbox-namespace\":\"prod\"",
			""),
		0,
		{ .name = "api", .image = "shop/api:7", .pod = "shop-1", .namespace_ = "prod" } },
	{ STATE_OCI, STATE_CRI,
		OCI("\"io.kubernetes.cri.container-type\":\"sandbox\","
		    "\"io.kubernetes.cri.sandbox-name\":\"shop-1\"",
			""),
		0, { .pod = "shop-1", .pause = 1 } },
	/* CRI-O */
	{ STATE_OCI, STATE_CRIO,
		OCI("\"io.kubernetes.container.name\":\"api\",\"io.kubernetes.pod.name\":\"shop-"
		    "1\","
		    "\"io.kubernetes.pod.namespace\":\"prod\","
		    "\"io.kubernetes.cri-o.ImageName\":\"shop/api:7\"",
			""),
		0,
		{ .name = "api", .image = "shop/api:7", .pod = "shop-1", .namespace_ = "prod" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("\"nerdctl/name\":\"web\"", ""), 0, { .name = "web" } },
	/* where Docker and containers/storage have more */
	{ STATE_OCI, STATE_NERDCTL, OCI("", MOUNT("/etc/hostname", "/d/containers/c1/hostname")), 0,
		{ .dir = "/d/containers/c1" } },
	{ STATE_OCI, STATE_NERDCTL,
		OCI("",
			MOUNT("/x", "/containers/c1/x") "," MOUNT(
				"/etc/hosts", "/containers/c1/hosts")),
		0, { .dir = "/containers/c1" } },
	{ STATE_OCI, STATE_NERDCTL,
		OCI("", MOUNT("/dev/shm", "/s/overlay-containers/c1/userdata/shm")), 0,
		{ .dir = "/s/overlay-containers" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("", MOUNT("/etc/hosts", "/d/containers/c2/hosts")), 0,
		{ .dir = "" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("", MOUNT("/etc/hosts", "d/containers/c1/hosts")), 0,
		{ .dir = "" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("", MOUNT("/etc/hosts", "/etc/hosts")), 0, { .dir = "" } },
	{ STATE_OCI, STATE_NERDCTL, "{\"ociVersion\":\"1\"}", 0, { .name = "" } },
	{ STATE_OCI, STATE_NERDCTL, "{}", -EBADMSG, { .name = "" } },
	{ STATE_OCI, STATE_NERDCTL,
		"{\"ociVersion\":\"1\",\"annotations\":[1],\"mounts\":{\"a\":7}}", 0,
		{ .name = "" } },
	{ STATE_OCI, STATE_CRIO, OCI("\"io.kubernetes.container.name\":7", ""), 0, { .name = "" } },
	/* names that would break a line stay what they are: who writes lines takes care */
	{ STATE_OCI, STATE_CRIO, OCI("\"io.kubernetes.container.name\":\"a;b\\nc\\u001b[31m\"", ""),
		0, { .name = "a;b\nc\033[31m" } },
	/* Docker */
	{ STATE_DOCKER, STATE_KUBELET,
		"{\"ID\":\"c1\",\"Name\":\"/"
		"web1\",\"Config\":{\"Image\":\"deb:1\",\"Labels\":null}}",
		0, { .name = "web1", .image = "deb:1" } },
	{ STATE_DOCKER, STATE_KUBELET,
		"{\"ID\":\"c1\",\"Name\":\"/k8s_api_shop\",\"Config\":{\"Image\":\"i\",\"Labels\":{"
		"\"io.kubernetes.container.name\":\"api\",\"io.kubernetes.pod.name\":\"shop-1\","
		"\"io.kubernetes.pod.namespace\":\"prod\",\"io.kubernetes.pod.uid\":\"p1\","
		"\"io.kubernetes.docker.type\":\"container\"}}}",
		0, { .name = "api", .image = "i", .pod = "shop-1", .namespace_ = "prod" } },
	{ STATE_DOCKER, STATE_KUBELET,
		"{\"Id\":\"c1\",\"Name\":\"/web1\",\"Config\":{\"Image\":\"deb:1\"}}", 0,
		{ .name = "web1", .image = "deb:1" } },
	{ STATE_DOCKER, STATE_KUBELET, "{\"ID\":\"c2\",\"Name\":\"/web2\"}", -ENOENT,
		{ .name = "" } },
	{ STATE_DOCKER, STATE_KUBELET, "{\"message\":\"No such container: c1\"}", -EBADMSG,
		{ .name = "" } },
	/* containers/storage */
	{ STATE_STORAGE, STATE_PODMAN,
		"[{\"id\":\"c0\",\"names\":[\"db\"]},{\"id\":\"c1\",\"names\":[\"web1\"],"
		"\"metadata\":\"{\\\"image-name\\\":\\\"localhost/deb:1\\\"}\"}]",
		0, { .name = "web1", .image = "localhost/deb:1" } },
	{ STATE_STORAGE, STATE_PODMAN, "[{\"id\":\"c1\",\"metadata\":\"{broken\"}]", 0,
		{ .name = "" } },
	{ STATE_STORAGE, STATE_PODMAN, "[]", -ENOENT, { .name = "" } },
	{ STATE_STORAGE, STATE_PODMAN, "[7,null,{\"id\":{}}]", -ENOENT, { .name = "" } },
	{ STATE_STORAGE, STATE_PODMAN, "{}", -EBADMSG, { .name = "" } },
	/* not JSON */
	{ STATE_OCI, STATE_NERDCTL, "", -EBADMSG, { .name = "" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("\"nerdctl/name\":\"web", ""), -EBADMSG, { .name = "" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("\"nerdctl/name\":\"\xff\xfe\"", ""), -EBADMSG,
		{ .name = "" } },
	{ STATE_OCI, STATE_NERDCTL, OCI("\"nerdctl/name\":\"a\\u0000b\"", ""), -EBADMSG,
		{ .name = "" } },
};

/* Of container c1 in pod p1. */
static int parse(enum state_kind kind, enum state_runtime runtime, const char *text, size_t len,
	struct state_facts *out)
{
	const struct state_query query = {
		.kind = kind, .runtime = runtime, .container = "c1", .pod_uid = "p1"
	};

	return state_file_parse(&query, text, len, out);
}

static void each_runtimes_file_is_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct row *row = &table[i];
		struct state_facts f = { 0 };
		int err = parse(row->kind, row->runtime, row->text, strlen(row->text), &f);

		if (err == row->err && strcmp(f.name, row->facts.name) == 0 &&
			strcmp(f.image, row->facts.image) == 0 &&
			strcmp(f.pod, row->facts.pod) == 0 && strcmp(f.dir, row->facts.dir) == 0 &&
			strcmp(f.namespace_, row->facts.namespace_) == 0 &&
			f.pause == row->facts.pause && state_facts_valid(&f))
			continue;
		fail_msg("%s\n gave %d name=%s image=%s pod=%s ns=%s dir=%s pause=%u", row->text,
			err, f.name, f.image, f.pod, f.namespace_, f.dir, f.pause);
	}
}

/* All that a user may have a runtime write: one's keys in the file of another. */
static const char forged[] =
	"\"io.kubernetes.cri.container-name\":\"f\",\"io.kubernetes.cri.image-name\":\"f\","
	"\"io.kubernetes.cri.sandbox-name\":\"f\",\"io.kubernetes.cri.sandbox-namespace\":"
	"\"kube-system\",\"io.kubernetes.cri.container-type\":\"sandbox\","
	"\"io.kubernetes.container.name\":\"f\",\"io.kubernetes.cri-o.ImageName\":\"f\","
	"\"io.kubernetes.pod.name\":\"f\",\"io.kubernetes.pod.namespace\":\"kube-system\","
	"\"io.kubernetes.cri-o.ContainerType\":\"sandbox\",\"io.kubernetes.docker.type\":"
	"\"podsandbox\",\"nerdctl/name\":\"f\"";

static bool is_nameless(const struct state_facts *f)
{
	return !f->name[0] && !f->image[0] && !f->pod[0] && !f->namespace_[0] && !f->pause;
}

static void a_key_counts_only_in_its_own_runtimes_file(void **state)
{
	static const struct {
		enum state_runtime runtime;
		bool has_keys; /* of its own, which are its own to write */
	} rows[] = {
		{ STATE_UNKNOWN, false },
		{ STATE_PODMAN, false },
		{ STATE_DOCKER_OCI, false },
		{ STATE_CRI, true },
		{ STATE_CRIO, true },
		{ STATE_NERDCTL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		struct state_facts f;

		buf_printf(&text, "{\"ociVersion\":\"1\",\"annotations\":{%s}}", forged);
		assert_int_equal(parse(STATE_OCI, rows[i].runtime, text.data, text.len, &f), 0);
		if (is_nameless(&f) == rows[i].has_keys)
			fail_msg("runtime %d: name=%s image=%s pod=%s ns=%s pause=%d",
				rows[i].runtime, f.name, f.image, f.pod, f.namespace_, f.pause);
		if (rows[i].runtime == STATE_NERDCTL && (f.pod[0] || f.namespace_[0] || f.image[0]))
			fail_msg("nerdctl has pods");
	}
}

static void keys_of_another_pod_than_the_cgroups_are_refused_and_counted(void **state)
{
	static const struct {
		enum state_kind kind;
		enum state_runtime runtime;
		const char *uid_key, *uid, *pod_uid;
		bool is_taken;
	} rows[] = {
		{ STATE_OCI, STATE_CRI, "io.kubernetes.cri.sandbox-uid", "p1", "p1", true },
		{ STATE_OCI, STATE_CRI, "io.kubernetes.cri.sandbox-uid", "p2", "p1", false },
		/* an old containerd does not write it; the file is found by the id */
		{ STATE_OCI, STATE_CRI, "none", "", "p1", true },
		{ STATE_OCI, STATE_CRI, "io.kubernetes.cri.sandbox-uid", "p2", "", true },
		{ STATE_OCI, STATE_CRIO, "io.kubernetes.pod.uid", "p1", "p1", true },
		{ STATE_OCI, STATE_CRIO, "io.kubernetes.pod.uid", "p2", "p1", false },
		/* labels, which anybody gives who may start a container */
		{ STATE_DOCKER, STATE_KUBELET, "io.kubernetes.pod.uid", "p1", "p1", true },
		{ STATE_DOCKER, STATE_KUBELET, "io.kubernetes.pod.uid", "p2", "p1", false },
		{ STATE_DOCKER, STATE_KUBELET, "io.kubernetes.pod.uid", "p1", "", false },
		{ STATE_DOCKER, STATE_KUBELET, "io.kubernetes.pod.uid", "", "", false },
		{ STATE_DOCKER, STATE_KUBELET, "none", "", "p1", false },
		{ STATE_DOCKER, STATE_KUBELET, "none", "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct state_query query = {
			.kind = rows[i].kind, .runtime = rows[i].runtime, .container = "c1"
		};
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		struct state_facts f;

		strcpy(query.pod_uid, rows[i].pod_uid);
		buf_printf(&text,
			"{\"ociVersion\":\"1\",\"Name\":\"/"
			"own\",\"annotations\":{%s,\"%s\":\"%s\"},"
			"\"Config\":{\"Labels\":{%s,\"%s\":\"%s\"}}}",
			forged, rows[i].uid_key, rows[i].uid, forged, rows[i].uid_key, rows[i].uid);
		assert_int_equal(state_file_parse(&query, text.data, text.len, &f), 0);
		if (rows[i].is_taken != (f.namespace_[0] != '\0') ||
			rows[i].is_taken != (f.pod[0] != '\0') || rows[i].is_taken != f.pause ||
			rows[i].is_taken == f.other_pod ||
			strcmp(f.name,
				rows[i].is_taken                       ? "f"
					: rows[i].kind == STATE_DOCKER ? "own"
								       : "") != 0)
			fail_msg("row %zu: name=%s pod=%s ns=%s pause=%d other_pod=%d", i, f.name,
				f.pod, f.namespace_, f.pause, f.other_pod);
		assert_true(state_facts_valid(&f));
	}
}

static void a_conmon_is_known_by_its_command_line(void **state)
{
	static const char ours[] =
		"/usr/bin/conmon\0--api-version\0001\0-c\0c1\0-n\0web1\0-b\0/b/c1\0"
		"--exit-command\0/usr/bin/podman\0-n\0other";
	static const char another[] = "conmon\0-c\0c2\0-n\0web2";
	static const char none[] = "/bin/sh\0-c\0c1\0-n\0web1";
	struct state_facts f;

	(void)state;
	assert_int_equal(parse(STATE_CONMON, STATE_PODMAN, ours, sizeof(ours), &f), 0);
	assert_string_equal(f.name, "web1");
	assert_string_equal(f.dir, "/b/c1");
	assert_int_equal(parse(STATE_CONMON, STATE_PODMAN, another, sizeof(another), &f), -ENOENT);
	assert_int_equal(parse(STATE_CONMON, STATE_PODMAN, none, sizeof(none), &f), -EBADMSG);
	/* Cut anywhere it is another one, or less is known. */
	for (size_t len = 0; len < sizeof(ours); len++)
		parse(STATE_CONMON, STATE_PODMAN, ours, len, &f);
}

static void deep_nesting_and_long_names_are_nothing(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct state_facts f;

	(void)state;
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf_putc(&text, '['), 0);
	assert_int_equal(parse(STATE_OCI, STATE_NERDCTL, text.data, text.len, &f), -EBADMSG);
	buf_clear(&text);
	buf_puts(&text, "{\"ociVersion\":\"1\",\"annotations\":{\"nerdctl/name\":\"");
	for (int i = 0; i < STATE_NAME_MAX; i++)
		buf_putc(&text, 'x');
	buf_puts(&text, "\",\"nerdctl/other\":\"y\"}}");
	assert_int_equal(parse(STATE_OCI, STATE_NERDCTL, text.data, text.len, &f), 0);
	assert_string_equal(f.name, "");
}

static void labels_are_kept_as_far_as_there_is_room(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct state_facts f;

	(void)state;
	buf_puts(&text, "{\"Name\":\"/a\",\"Config\":{\"Labels\":{\"app\":\"shop\"");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, ",\"k%d\":\"%d\"", i, i);
	buf_puts(&text, "}}}");
	assert_int_equal(parse(STATE_DOCKER, STATE_KUBELET, text.data, text.len, &f), 0);
	assert_true(state_facts_valid(&f));
	assert_in_range(f.labels_len, STATE_LABELS_MAX - 16, STATE_LABELS_MAX);
}

static void facts_that_no_parser_gave_are_seen(void **state)
{
	struct state_facts f = { 0 };

	(void)state;
	assert_true(state_facts_valid(&f));
	memset(f.name, 'x', sizeof(f.name));
	assert_false(state_facts_valid(&f));
	f = (struct state_facts){ .dir = "relative" };
	assert_false(state_facts_valid(&f));
	f = (struct state_facts){ .labels_len = STATE_LABELS_MAX + 1 };
	assert_false(state_facts_valid(&f));
	f = (struct state_facts){ .labels = "key", .labels_len = 4 };
	assert_false(state_facts_valid(&f));
	f = (struct state_facts){ .labels = "key\0value", .labels_len = 9 };
	assert_false(state_facts_valid(&f));
	f.labels_len = 10;
	assert_true(state_facts_valid(&f));
	f.pause = 2;
	assert_false(state_facts_valid(&f));
}

static void places_hold_the_id_and_nothing_else(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "../../etc" };
	struct cgroup_identity id = { .kind = CGROUP_CONTAINERD };
	struct state_path place;
	char name[CGROUP_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		strcpy(id.container, bad[i]);
		assert_false(state_path_candidate(&id, 0, &place));
	}
	strcpy(id.container, "c1");
	assert_true(state_path_candidate(&id, 0, &place));
	assert_string_equal(place.path, "/run/containerd/io.containerd.runtime.v2.task");
	assert_string_equal(place.below, "c1/config.json");
	assert_int_equal(state_path_of_namespace("k8s.io"), STATE_CRI);
	assert_int_equal(state_path_of_namespace("moby"), STATE_DOCKER_OCI);
	assert_int_equal(state_path_of_namespace("default"), STATE_NERDCTL);
	id.kind = CGROUP_DOCKER;
	assert_true(state_path_candidate(&id, 0, &place));
	assert_string_equal(place.path, "/var/lib/docker/containers/c1/config.v2.json");
	assert_string_equal(place.below, "");
	assert_int_equal(place.runtime, STATE_KUBELET);
	assert_true(state_path_of_other("/default/web1", name, &place));
	assert_string_equal(name, "web1");
	assert_int_equal(place.runtime, STATE_NERDCTL);
	assert_string_equal(place.path,
		"/run/containerd/io.containerd.runtime.v2.task/default/web1/config.json");
	assert_false(state_path_of_other("/default/web1/x", name, &place));
	assert_false(state_path_of_other("/default/..", name, &place));
	assert_false(state_path_of_other("/default", name, &place));
	assert_false(state_path_of_other("//", name, &place));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtimes_file_is_understood),
		cmocka_unit_test(a_key_counts_only_in_its_own_runtimes_file),
		cmocka_unit_test(keys_of_another_pod_than_the_cgroups_are_refused_and_counted),
		cmocka_unit_test(a_conmon_is_known_by_its_command_line),
		cmocka_unit_test(deep_nesting_and_long_names_are_nothing),
		cmocka_unit_test(labels_are_kept_as_far_as_there_is_room),
		cmocka_unit_test(facts_that_no_parser_gave_are_seen),
		cmocka_unit_test(places_hold_the_id_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
