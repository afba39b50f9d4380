/* SPDX-License-Identifier: Apache-2.0 */
/* test_containers.c - which cgroups are known when events of them were lost. The tree is one of
 * ordinary folders, each with the file by which a cgroup is told from the rest of one. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/fd.h"
#include "cgroup/tree.h"
#include "containers/container.h"
#include "containers/container_list.h"
#include "containers/containers.h"
#include "sampler/tally.h"

struct world {
	char viewer[64]; /* what stands for a process's folder in /proc */
	struct cgroup_tree *tree;
	struct containers *containers;
};

static void path_of(const struct world *w, const char *path, char out[256])
{
	snprintf(out, 256, "%s/root/cg%s", w->viewer, path);
}

static void put_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Makes a cgroup, which has its number. */
static uint64_t make(const struct world *w, const char *path)
{
	char full[256], file[300];
	struct stat st;

	path_of(w, path, full);
	assert_int_equal(mkdir(full, 0755), 0);
	snprintf(file, sizeof(file), "%s/cgroup.procs", full);
	put_file(file, "");
	assert_int_equal(stat(full, &st), 0);
	return st.st_ino;
}

static void remove_cgroup(const struct world *w, const char *path)
{
	char full[256], file[300];

	path_of(w, path, full);
	snprintf(file, sizeof(file), "%s/cgroup.procs", full);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(full), 0);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char path[128];
	struct why why;

	assert_non_null(w);
	snprintf(w->viewer, sizeof(w->viewer), "/tmp/test_containers-XXXXXX");
	assert_non_null(mkdtemp(w->viewer));
	snprintf(path, sizeof(path), "%s/mountinfo", w->viewer);
	put_file(path, "30 1 0:26 / /cg rw shared:4 - cgroup2 cgroup2 rw\n");
	snprintf(path, sizeof(path), "%s/root", w->viewer);
	assert_int_equal(mkdir(path, 0755), 0);
	make(w, "");
	assert_int_equal(cgroup_tree_open(w->viewer, &w->tree, &why), 0);
	assert_int_equal(containers_new(NULL, w->tree, &w->containers), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[128];

	containers_free(w->containers);
	cgroup_tree_free(w->tree);
	snprintf(command, sizeof(command), "rm -r %s", w->viewer);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

struct wanted {
	uint64_t id;
	const char *path; /* NULL: not found */
	char found[64];
};

static int look(void *ctx, const struct containers_item *item)
{
	struct wanted *wanted = ctx;

	if (item->cgroup == wanted->id)
		snprintf(wanted->found, sizeof(wanted->found), "%s", item->path);
	return 0;
}

/* Its path; "": it is not known, or gone. */
static void assert_known(const struct world *w, uint64_t id, const char *path)
{
	struct wanted wanted = { .id = id };

	containers_each(w->containers, look, &wanted);
	assert_string_equal(wanted.found, path);
}

static uint64_t known(const struct world *w)
{
	struct containers_stats stats;

	containers_stats(w->containers, &stats);
	return stats.cgroups;
}

static void tell(const struct world *w, uint32_t change, uint64_t id, const char *path)
{
	struct event_cgroup event = { .kind = EVENT_CGROUP, .change = change, .id = id };

	snprintf(event.path, sizeof(event.path), "%s", path);
	assert_int_equal(containers_changed(w->containers, &event), 0);
}

static void what_lost_events_told_of_is_found_by_another_scan(void **state)
{
	const struct world *w = *state;
	struct containers_stats stats;
	uint64_t stays, goes, comes, renamed;
	char from[256], to[256];

	stays = make(w, "/stays");
	goes = make(w, "/goes");
	renamed = make(w, "/old");
	assert_int_equal(containers_scan(w->containers), 0);
	remove_cgroup(w, "/goes");
	comes = make(w, "/comes");
	path_of(w, "/old", from);
	path_of(w, "/new", to);
	assert_int_equal(rename(from, to), 0);
	containers_poll(w->containers);
	assert_known(w, goes, "/goes"); /* nobody said so */
	tell(w, CGROUP_LOST, 0, "");
	containers_poll(w->containers);
	assert_known(w, stays, "/stays");
	assert_known(w, comes, "/comes");
	assert_known(w, renamed, "/new");
	assert_known(w, goes, comes == goes ? "/comes" : "");
	assert_int_equal(known(w), 4); /* with the root */
	containers_stats(w->containers, &stats);
	assert_int_equal(stats.rescans, 1);
	assert_int_equal(stats.made + stats.removed + stats.renamed, 0);
}

static void a_scan_for_lost_events_does_not_follow_the_last_at_once(void **state)
{
	const struct world *w = *state;
	struct containers_stats stats;

	for (int i = 0; i < 10; i++) {
		tell(w, CGROUP_LOST, 0, "");
		containers_poll(w->containers);
	}
	containers_stats(w->containers, &stats);
	assert_int_equal(stats.rescans, 1);
}

#define NAMELESS "/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"

static void only_another_scan_and_missing_names_are_due(void **state)
{
	const struct world *w = *state;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), scan, id;

	assert_int_equal(containers_scan(w->containers), 0);
	assert_true(containers_due_ns(w->containers) == CLOCK_NEVER_NS);
	tell(w, CGROUP_LOST, 0, "");
	assert_true(containers_due_ns(w->containers) <= now);
	containers_poll(w->containers);
	scan = containers_due_ns(w->containers);
	assert_in_range(scan, now + NSEC_PER_SEC, now + 600 * NSEC_PER_SEC);
	id = make(w, NAMELESS);
	tell(w, CGROUP_MADE, id, NAMELESS);
	assert_true(containers_due_ns(w->containers) <= now);
	containers_poll(w->containers);
	assert_true(containers_due_ns(w->containers) > now);
	assert_true(containers_due_ns(w->containers) < scan);
	tell(w, CGROUP_REMOVED, id, "");
	/* It leaves the list of the nameless when its turn comes. */
	while (containers_due_ns(w->containers) < scan)
		containers_poll(w->containers);
	assert_true(containers_due_ns(w->containers) == scan);
}

/* Its samples are to be written yet. */
static void a_lost_removal_leaves_a_sampled_cgroup_its_path_for_the_interval(void **state)
{
	const struct world *w = *state;
	uint64_t id = make(w, "/sampled");
	struct tally_task task = { .live = true, .key.cgroup = id };
	struct tally tally = { 0 }, empty = { 0 };
	struct containers_labels labels;

	*(struct tally_task *)vec_add(&tally.tasks) = task;
	tell(w, CGROUP_MADE, id, "/sampled");
	assert_int_equal(containers_sampled(w->containers, id, 1), CONTAINERS_KNOWN);
	/* Neither its folder nor its process is there. */
	assert_int_not_equal(
		containers_sampled(w->containers, id + 1000000, UINT32_MAX), CONTAINERS_KNOWN);
	remove_cgroup(w, "/sampled");
	tell(w, CGROUP_LOST, 0, "");
	containers_poll(w->containers);
	assert_known(w, id, "");
	containers_labels(w->containers, id, &labels);
	assert_string_equal(labels.container, "/sampled");
	containers_next(w->containers, &tally);
	containers_labels(w->containers, id, &labels);
	assert_string_equal(labels.container, "/sampled");
	containers_next(w->containers, &empty);
	containers_labels(w->containers, id, &labels);
	assert_string_equal(labels.container, "[unknown]");
	vec_done(&tally.tasks);
}

static void a_cgroup_whose_path_cannot_be_read_has_no_empty_one(void **state)
{
	const struct world *w = *state;
	struct containers_stats stats;

	tell(w, CGROUP_MADE, 4711, "");
	tell(w, CGROUP_RENAMED, 4711, "");
	tell(w, CGROUP_REMOVED, 4711, "");
	containers_stats(w->containers, &stats);
	assert_int_equal(stats.made, 1);
	assert_int_equal(stats.removed, 1);
	assert_int_equal(stats.cgroups, 0);
}

/* A folder may be opened by its number by those with CAP_DAC_READ_SEARCH alone. */
static void a_cgroup_of_no_known_path_is_not_gone_for_who_may_not_look(void **state)
{
	struct world *w = *state;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (setgroups(0, NULL) < 0 && geteuid() == 0)
			_exit(2);
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		_exit(cgroup_tree_is_gone(w->tree, 12345, NULL));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_label_says_whose_container_it_is(void **state)
{
	static const struct {
		const char *path, *label;
	} rows[] = {
		{ "/docker-" ID ".scope", "0123456789ab" },
		{ "/docker-" ID ".scope/docker-" OTHER ".scope", "0123456789ab/1123456789ab" },
		{ "/docker-" ID ".scope/docker-" OTHER ".scope/docker-" ID ".scope",
			"0123456789ab/0123456789ab" },
		{ "/docker-" OTHER ".scope", "1123456789ab" },
		{ "/user.slice/user-7.slice/user@7.service/user.slice/libpod-" ID ".scope",
			"user@7.service/0123456789ab" },
		{ "/user.slice/user-7.slice/user@7.service/docker-" ID ".scope/docker-" OTHER
		  ".scope",
			"user@7.service/0123456789ab/1123456789ab" },
		{ "/user.slice/user-7.slice/user@7.service/app.slice/a.service",
			"user@7.service/a.service" },
	};
	const struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct containers_labels labels;

		tell(w, CGROUP_MADE, 1000 + i, rows[i].path);
		containers_labels(w->containers, 1000 + i, &labels);
		assert_string_equal(labels.container, rows[i].label);
	}
}

/* A pod's uid below a container, or a user's slice, is what somebody there wrote. */
static void a_pod_below_a_container_is_not_the_hosts(void **state)
{
	static const struct {
		const char *path, *pod;
		bool is_hosts;
	} rows[] = {
		{ "/kubepods.slice/kubepods-poduid1.slice/cri-containerd-" ID ".scope", "uid1",
			true },
		{ "/kubepods.slice/kubepods-poduid1.slice/cri-containerd-" ID
		  ".scope/docker-" OTHER ".scope",
			"uid1", true },
		{ "/docker-" ID ".scope/kubepods-poduid1.slice/" OTHER, "0123456789ab/uid1",
			false },
		{ "/docker-" OTHER ".scope/kubepods/poduid1/" ID, "1123456789ab/uid1", false },
		{ "/user.slice/user-7.slice/user@7.service/kubepods-poduid1.slice/" ID,
			"user@7.service/uid1", false },
	};
	const struct world *w = *state;
	uint64_t hosts = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct container *c = container_new(rows[i].path, strlen(rows[i].path), 1);
		struct containers_labels labels;

		tell(w, CGROUP_MADE, 1000 + i, rows[i].path);
		containers_labels(w->containers, 1000 + i, &labels);
		assert_string_equal(labels.pod, rows[i].pod);
		hosts = i == 0 ? container_pod(c) : hosts;
		assert_int_equal(container_pod(c) == hosts, rows[i].is_hosts);
		container_free(c);
	}
}

static void a_path_is_no_label_of_any_length(void **state)
{
	const struct world *w = *state;
	struct containers_labels labels;
	char path[3000];

	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 200)
		path[i] = '/';
	path[sizeof(path) - 1] = '\0';
	tell(w, CGROUP_MADE, 1000, path);
	containers_labels(w->containers, 1000, &labels);
	assert_int_equal(strlen(labels.container), CGROUP_NAME_MAX - 1);
	assert_memory_equal(labels.container, path, 200);
}

/* Of thousands of levels the first 64 are looked at. */
static void what_is_far_below_belongs_to_what_is_above(void **state)
{
	char path[4096] = "/docker-" ID ".scope";
	struct cgroup_identity id;

	(void)state;
	for (size_t at = strlen(path); at + 3 < sizeof(path); at += 2)
		memcpy(path + at, "/x", 3);
	cgroup_identify(path, &id);
	assert_int_equal(id.kind, CGROUP_DOCKER);
	assert_int_equal(container_account(path), container_account("/docker-" ID ".scope"));
	assert_int_equal(container_account(path + strlen("/docker-" ID ".scope")),
		container_account("/x"));
}

/* Who could make cgroups below its own would have as many shares as it likes. */
static void cgroups_below_an_account_are_none_of_their_own(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "/docker/" ID, "/docker/" ID "/docker/" OTHER, true },
		{ "/docker/" ID, "/docker/" ID "/init.scope", true },
		{ "/docker/" ID, "/docker/" OTHER, false },
		{ "/system.slice/docker-" ID ".scope", "/system.slice/docker-" ID ".scope/a",
			true },
		{ "/kubepods/burstable/pod1/" ID, "/kubepods/burstable/pod1/" OTHER, false },
		{ "/system.slice/a.service", "/system.slice/a.service/b.service", true },
		{ "/system.slice/a.service", "/system.slice/b.service", false },
		{ "/user.slice/user-1000.slice/session-1.scope",
			"/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope", true },
		{ "/user.slice/user-1000.slice/session-1.scope",
			"/user.slice/user-1001.slice/session-1.scope", false },
		{ "/a", "/a/b/c", true },
		{ "/a", "/b", false },
		{ "/", "/", true },
		{ "/", "/a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((container_account(rows[i].a) == container_account(rows[i].b)) != rows[i].same)
			fail_msg("%s, %s", rows[i].a, rows[i].b);
}

static void the_outermost_cgroup_of_an_account_is_the_one_that_pays(void **state)
{
	static const struct {
		const char *path;
		bool outermost;
	} rows[] = {
		{ "/docker", true },
		{ "/docker/" ID, true },
		{ "/docker/" ID "/docker/" OTHER, false },
		{ "/system.slice", true },
		{ "/system.slice/a.service", true },
		{ "/system.slice/a.service/x", false },
		{ "/user.slice/user-1000.slice", true },
		{ "/user.slice/user-1000.slice/session-1.scope", false },
		{ "/a", true },
		{ "/a/b", false },
		{ "/", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (container_is_outermost(rows[i].path) != rows[i].outermost)
			fail_msg("%s", rows[i].path);
}

static void a_name_that_someone_inside_chose_matches_less_than_any_other(void **state)
{
	static const struct {
		const char *path;
		enum container_match whole, beginning;
	} rows[] = {
		{ "/docker/" ID, CONTAINER_MATCH_WHOLE, CONTAINER_MATCH_BEGINNING },
		{ "/system.slice/a.service", CONTAINER_MATCH_WHOLE, CONTAINER_MATCH_BEGINNING },
		{ "/docker/" ID "/docker/" OTHER, CONTAINER_MATCH_INNER,
			CONTAINER_MATCH_INNER_BEGINNING },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
			CONTAINER_MATCH_INNER, CONTAINER_MATCH_INNER_BEGINNING },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct container_list_item item = { 0 };

		cgroup_identify(rows[i].path, &item.identity);
		if (container_list_weigh(&item, CONTAINER_MATCH_WHOLE) != rows[i].whole ||
			container_list_weigh(&item, CONTAINER_MATCH_BEGINNING) !=
				rows[i].beginning ||
			container_list_weigh(&item, CONTAINER_MATCH_NO) != CONTAINER_MATCH_NO)
			fail_msg("%s", rows[i].path);
	}
	assert_true(CONTAINER_MATCH_INNER < CONTAINER_MATCH_BEGINNING);
}

static void the_account_of_a_process_is_that_of_its_cgroup(void **state)
{
	static const struct {
		const char *text, *path;
	} rows[] = {
		{ "0::/system.slice/a.service\n", "/system.slice/a.service" },
		{ "0::/docker/" ID "/x/1\n", "/docker/" ID },
		{ "0::/docker/" ID "/x/2\n", "/docker/" ID },
		{ "0::/../../docker/" ID "\n", "/docker/" ID },
		{ "9:name=systemd:/docker/" ID "\n5:cpu,cpuacct:/docker/" ID "/a\n0::/\n",
			"/docker/" ID },
		{ "3:cpu:/a\n2:pids:/docker/" ID "\n0::/\n", "/docker/" ID },
		{ "4:memory:/a/b\n3:cpu:/c\n0::/\n", "/a" },
		{ "3:cpu:/\n0::/\n", "/" },
		{ "0::/a:/b\n", "/a:" },
		{ "4:memory:/limits/1\n0::/mine\n", "/mine" },
		{ "4:memory:/limits/1\n0::/\n", "/limits/1" },
		{ "", "/" },
		{ "::\n:\nx", "/" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(freep) char *text = strdup(rows[i].text);

		if (container_account_in(text) != container_account(rows[i].path))
			fail_msg("%s", rows[i].text);
	}
	assert_int_equal(container_account_of(5000000), 0);
}

#define HOSTILE "/docker/" ID

/* One container makes cgroups below its own, more than there are places. */
static void who_makes_most_cgroups_loses_its_own_and_others_are_known(void **state)
{
	const struct world *w = *state;
	struct containers_stats stats;
	struct containers_labels labels;
	char path[256];
	uint64_t id = 1000000;

	tell(w, CGROUP_MADE, 1, "/docker/" OTHER);
	tell(w, CGROUP_MADE, 2, HOSTILE);
	tell(w, CGROUP_MADE, 3, "/gone.service");
	assert_int_equal(containers_sampled(w->containers, 2, 1), CONTAINERS_KNOWN);
	assert_int_equal(containers_sampled(w->containers, 3, 1), CONTAINERS_KNOWN);
	tell(w, CGROUP_REMOVED, 3, "");
	for (int i = 0; i < 100000; i++) {
		snprintf(path, sizeof(path), HOSTILE "/%d", i);
		tell(w, CGROUP_MADE, id++, path);
	}
	containers_stats(w->containers, &stats);
	assert_in_range(stats.cgroups, 50000, CONTAINERS_CGROUPS_MAX);
	assert_int_equal(stats.refused + stats.cgroups, 100000 + 3);
	/* Others come later, as many as a host may have. */
	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "/late-%d.service", i);
		tell(w, CGROUP_MADE, id, path);
		containers_labels(w->containers, id++, &labels);
		assert_string_equal(labels.container, path + 1);
	}
	containers_stats(w->containers, &stats);
	assert_in_range(stats.cgroups, 50000, CONTAINERS_CGROUPS_MAX);
	assert_int_equal(stats.refused + stats.cgroups, 100000 + 3 + 2000);
	containers_labels(w->containers, 1, &labels);
	assert_string_equal(labels.container, "1123456789ab");
	containers_labels(w->containers, 2, &labels); /* it had samples, unlike those below it */
	assert_string_equal(labels.container, "0123456789ab");
	containers_labels(w->containers, 3, &labels);
	assert_string_equal(labels.container, "gone.service");
}

/* At once, since a runtime writes its files before the cgroup is made, and later. */
static void a_container_that_nobody_knows_is_looked_up_ever_more_rarely(void **state)
{
	struct container_state nobody = { .root_fd = -1 };
	struct container *c = container_new("/docker/" OTHER, strlen("/docker/" OTHER), 1);
	uint64_t now = NSEC_PER_SEC, pause = 0;
	int looks = 1;

	(void)state;
	assert_non_null(c);
	for (; container_find_name(c, &nobody, NULL, now, now); looks++) {
		assert_true(c->next_ns - now >= pause && c->next_ns - now <= 4 * NSEC_PER_SEC);
		pause = c->next_ns - now;
		now = c->next_ns;
	}
	assert_int_equal(looks, 9);
	assert_in_range(now, 13 * NSEC_PER_SEC, 16 * NSEC_PER_SEC);
	container_free(c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_lost_events_told_of_is_found_by_another_scan),
		TEST(a_scan_for_lost_events_does_not_follow_the_last_at_once),
		TEST(only_another_scan_and_missing_names_are_due),
		TEST(a_lost_removal_leaves_a_sampled_cgroup_its_path_for_the_interval),
		TEST(a_cgroup_whose_path_cannot_be_read_has_no_empty_one),
		TEST(a_label_says_whose_container_it_is),
		TEST(a_pod_below_a_container_is_not_the_hosts),
		TEST(a_path_is_no_label_of_any_length),
		TEST(what_is_far_below_belongs_to_what_is_above),
		cmocka_unit_test(cgroups_below_an_account_are_none_of_their_own),
		cmocka_unit_test(the_outermost_cgroup_of_an_account_is_the_one_that_pays),
		cmocka_unit_test(a_name_that_someone_inside_chose_matches_less_than_any_other),
		cmocka_unit_test(the_account_of_a_process_is_that_of_its_cgroup),
		cmocka_unit_test(a_container_that_nobody_knows_is_looked_up_ever_more_rarely),
		TEST(who_makes_most_cgroups_loses_its_own_and_others_are_known),
		TEST(a_cgroup_of_no_known_path_is_not_gone_for_who_may_not_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
