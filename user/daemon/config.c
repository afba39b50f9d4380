/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config.c - libinih splits the lines; the table below defines all keys. A wrong value ends
 * the reading with its line: a daemon that guesses is worse than one that does not start. */
#include "daemon/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/caps.h"
#include "base/clock.h"
#include "base/cpu_clock.h"
#include "base/cursor.h"
#include "base/fd.h"
#include "base/line.h"
#include "base/own.h"
#include "containers/target.h"
#include "files/language_files.h"
#include "sampler/sampler.h"
#include "sink/sink.h"
#include "waiting/walls.h"

#define PERMILLE_MAX 1000000
#define CONFIG_BYTES_MAX (1 << 20)

enum kind {
	COUNT = AMOUNT_COUNT,
	DURATION = AMOUNT_DURATION,
	SIZE = AMOUNT_SIZE,
	SHARE = AMOUNT_SHARE,
	TEXT,
	NAME,   /* not empty where it is given; at most max bytes, if that is not 0 */
	PATH,   /* not empty */
	LABELS, /* "container,comm" */
	TARGET,
	METRIC,
	SWITCH, /* on or off */
	JIT,    /* enum config_jit, as its word */
};

struct key {
	const char *section, *name;
	const char *value; /* the default; NULL: it must be given */
	enum kind kind;
	size_t offset; /* in struct config, or in struct rule */
	uint64_t min, max;
	const char *text;
};

#define DAY_NS (86400 * NSEC_PER_SEC)
#define OF(field) offsetof(struct config, field)
#define OF_TRAP(field) offsetof(struct rule, field)
#define TRAP "trap"
#define TRAP_NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static const struct key keys[] = {
	{ "sample", "hz", "19", COUNT, OF(hz), 1, CPU_CLOCK_HZ_MAX,
		"sampling frequency on each CPU, in Hz" },
	{ "sample", "wall", "2", COUNT, OF(wall_hz), 0, WALLS_HZ_MAX,
		"visits a second to threads that wait, for their stacks; 0: none" },
	{ "sample", "interval", "60s", DURATION, OF(interval_ns), NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
		"length of a profile; at most one hour" },
	{ "sample", "target", "all", TARGET, OF(target), 0, 0,
		"all, or restrict sampling: container NAME, pod NAME, unit NAME, cgroup PATH" },
	{ "sample", "memory", "32M", SIZE, OF(memory_bytes), (uint64_t)SAMPLER_MEMORY_MB_MIN << 20,
		(uint64_t)SAMPLER_MEMORY_MB_MAX << 20, "kernel memory for maps and unwind tables" },
	{ "sample", "tick_limit", "0", COUNT, OF(tick_limit_us), 0, SAMPLER_TICK_LIMIT_US_MAX,
		"microseconds of one tick; 0: 300, or a quarter of the period if that is less" },
	{ "sample", "cpu", "1%", SHARE, OF(cpu_permille), 1, 1000,
		"of each CPU for ticks, of one core for the rest; above it the rate is halved" },
	{ "sample", "tables", LANGUAGE_FILES_PATH, PATH, OF(tables), 0, 0,
		"a directory with tables of language runtimes, stoker-tables(5)" },
	{ "store", "path", "/var/lib/stoker", PATH, OF(store), 0, 0,
		"a directory used by nothing else" },
	{ "store", "keep", "7d", DURATION, OF(keep_ns), 60 * NSEC_PER_SEC, 3650 * DAY_NS,
		"older profiles are removed" },
	{ "store", "max", "2G", SIZE, OF(bytes_max), 1 << 20, 1ULL << 50,
		"above this size the oldest profiles are removed" },
	{ "store", "hours", "1d", DURATION, OF(whole_ns), 3600 * NSEC_PER_SEC, 3650 * DAY_NS,
		"older profiles are merged into one an hour" },
	{ "labels", "by", "container,pod,comm", LABELS, OF(by), 0, 0,
		"from: container pod namespace image unit comm pid tid cpu" },
	{ "jit", "enable", "never", JIT, OF(jit), 0, 0,
		"perf maps of .NET and JVMs: never, on-demand (/profile with jit=1), always" },
	{ "http", "listen", "127.0.0.1:9700", TEXT, OF(listen), 0, 0,
		"ADDRESS:PORT, unix:PATH or off" },
	{ "http", "captures", "on", SWITCH, OF(captures), 0, 0,
		"off: /profile is refused, and the daemon has no right to start a capture" },
	{ "http", "token_file", "", TEXT, OF(token_file), 0, 0,
		"clients send its first line; default: `token` in the store, which is made" },
	{ "http", "metrics_token_file", "", TEXT, OF(metrics_token_file), 0, 0,
		"likewise for /metrics alone, off the loopback; default: `metrics-token` there" },
	{ TRAP, "container", "", NAME, OF_TRAP(container), 0, 0,
		"NAME, ID or the beginning of one, or a pattern such as web-*; default: the host" },
	{ TRAP, "pod", "", NAME, OF_TRAP(pod), 0, 0, "NAME, NAMESPACE/NAME or uid of a pod" },
	{ TRAP, "unit", "", NAME, OF_TRAP(unit), 0, 0, "NAME of a unit, with or without .service" },
	{ TRAP, "pid", "0", COUNT, OF_TRAP(pid), 0, INT32_MAX,
		"a process, in place of a container; 0: none" },
	{ TRAP, "comm", "", NAME, OF_TRAP(comm), 0, RULE_COMM_MAX,
		"processes of this name, in the container if one is given, else in each" },
	{ TRAP, "metric", "cpu", METRIC, OF_TRAP(metric), 0, 0,
		"cpu (share of one core); share of time: pressure, throttled, wait; of threads' "
		"time: runnable, blocked; of threads: still" },
	{ TRAP, "above", "0%", SHARE, OF_TRAP(above), 0, PERMILLE_MAX, "fires above this" },
	{ TRAP, "below", "0%", SHARE, OF_TRAP(below), 0, PERMILLE_MAX, "or below this" },
	{ TRAP, "for", "2s", DURATION, OF_TRAP(for_ns), NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
		"for this long" },
	{ TRAP, "before", "10s", DURATION, OF_TRAP(before_ns), NSEC_PER_SEC, 60 * NSEC_PER_SEC,
		"time before firing, at [sample] hz" },
	{ TRAP, "capture", "10s", DURATION, OF_TRAP(capture_ns), NSEC_PER_SEC, 600 * NSEC_PER_SEC,
		"time after firing" },
	{ TRAP, "hz", "199", COUNT, OF_TRAP(hz), 1, CPU_CLOCK_HZ_MAX,
		"frequency in Hz during the capture, for all that is sampled" },
	{ TRAP, "cooldown", "5m", DURATION, OF_TRAP(cooldown_ns), NSEC_PER_SEC, DAY_NS,
		"minimum time between captures of a container" },
	{ TRAP, "most", "20", COUNT, OF_TRAP(most), 1, 10000, "number of latest bundles to keep" },
};

_Static_assert(ARRAY_SIZE(keys) <= CONFIG_KEYS_MAX, "each key has room for its line");

_Static_assert(RULE_TEXT_MAX == CONFIG_TEXT_MAX, "texts of both structs are written alike");

/* ---- values --------------------------------------------------------------------------------- */

static const char *const examples[] = {
	[PATH] = "the path of a directory",
	[LABELS] =
		"container, pod, namespace, image, unit, comm, pid, tid, cpu, separated by commas",
	[JIT] = "never, on-demand or always",
	[TARGET] = "all, or container, pod, unit or cgroup and a name",
};

/* The first kinds are those of amounts. */
static enum amount amount_of(enum kind kind)
{
	return (enum amount)kind;
}

static int refuse_amount(const struct key *key, const char *text, bool small, struct why *why)
{
	char limit[32];

	amount_put(amount_of(key->kind), small ? key->min : key->max, limit, sizeof(limit));
	return why_set(why, -EINVAL, "%s = %s is too %s: %s is the %s", key->name, text,
		small ? "small" : "large", limit, small ? "least" : "most");
}

static int set_amount(const struct key *key, const char *text, void *to, struct why *why)
{
	double amount;

	if (!amount_parse(amount_of(key->kind), text, &amount))
		return why_set(why, -EINVAL, "%s = %s: expected %s", key->name, text,
			amount_example(amount_of(key->kind)));
	if (amount < (double)key->min || amount > (double)key->max)
		return refuse_amount(key, text, amount < (double)key->min, why);
	*(uint64_t *)to = (uint64_t)amount;
	return 0;
}

static int set_metric(const struct key *key, const char *text, void *to, struct why *why)
{
	return rule_metric_find(text, to) ? 0
					  : why_set(why, -EINVAL, "%s = %s: expected "
								  RULE_METRICS_TEXT,
						    key->name, text);
}

static int set_switch(const struct key *key, const char *text, bool *to, struct why *why)
{
	bool on = strcmp(text, "on") == 0;

	if (!on && strcmp(text, "off") != 0)
		return why_set(why, -EINVAL, "%s = %s: expected on or off", key->name, text);
	*to = on;
	return 0;
}

static bool is_good_text(enum kind kind, const char *text)
{
	struct sink_options sink;
	enum target_kind target;
	struct why why;

	if (kind == JIT)
		return config_jit_find(text) >= 0;
	if (kind == LABELS)
		return sink_parse_by(text, &sink, &why) == 0;
	if (kind == TARGET)
		return target_parse(text, &target) != NULL;
	return kind != PATH || *text;
}

/* An empty name would mean another subject: the host. */
static int check_name(const struct key *key, const char *text, struct why *why)
{
	if (*text == '\0')
		return why_set(why, -EINVAL, "%s = is empty: give a name, or remove the line",
			key->name);
	if (key->max > 0 && strlen(text) > key->max)
		return why_set(why, -EINVAL,
			"%s = %s is never found: the kernel keeps %d bytes of a name; give its "
			"first %d",
			key->name, text, (int)key->max, (int)key->max);
	return 0;
}

static int set_value(const struct key *key, const char *text, void *base, struct why *why)
{
	char *to = (char *)base + key->offset;

	if (key->kind == METRIC)
		return set_metric(key, text, to, why);
	if (key->kind == SWITCH)
		return set_switch(key, text, (bool *)to, why);
	if (key->kind < TEXT)
		return set_amount(key, text, to, why);
	if (key->kind == NAME && check_name(key, text, why) < 0)
		return -EINVAL;
	if (!is_good_text(key->kind, text))
		return why_set(
			why, -EINVAL, "%s = %s: expected %s", key->name, text, examples[key->kind]);
	if (strlen(text) >= CONFIG_TEXT_MAX)
		return why_set(
			why, -EINVAL, "%s is longer than %d bytes", key->name, CONFIG_TEXT_MAX - 1);
	memcpy(to, text, strlen(text) + 1);
	return 0;
}

static void set_defaults(const char *section, bool is_trap, void *base)
{
	struct why why;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		bool of_trap = strcmp(keys[i].section, TRAP) == 0;

		if (of_trap == is_trap && (!section || strcmp(keys[i].section, section) == 0))
			set_value(&keys[i], keys[i].value, base, &why);
	}
}

void config_default(struct config *config)
{
	*config = (struct config){ 0 };
	set_defaults(NULL, false, config);
}

/* ---- the file ------------------------------------------------------------------------------- */

struct reading {
	struct config *config;
	const char *path;
	struct cursor rest; /* of the file */
	int line;
	int wrong; /* the line that was refused */
	int err;
	struct why *why;
};

static int refuse_line(struct reading *r, int line, const char *text)
{
	r->wrong = line;
	r->err = why_set(r->why, -EINVAL, "%s:%d: %s", r->path, line, text);
	return 0;
}

/* The trap that a section [trap NAME] is of; a new one where there is none yet. */
static struct rule *get_trap(struct reading *r, const char *name)
{
	struct rules *traps = &r->config->traps;
	struct rule *trap = traps->all;

	for (; trap < traps->all + traps->len; trap++)
		if (strcmp(trap->name, name) == 0)
			return trap;
	if (traps->len == RULES_MAX || strlen(name) >= RULE_TEXT_MAX)
		return NULL;
	traps->len++;
	*trap = (struct rule){ .line = r->line };
	set_defaults(NULL, true, trap);
	memcpy(trap->name, name, strlen(name) + 1);
	return trap;
}

static const char *trap_name(const char *section)
{
	size_t len = strlen(TRAP);

	return strncmp(section, TRAP " ", len + 1) == 0 ? section + len + 1 : NULL;
}

/* A section of the table of keys; those of traps have names of their own. */
static bool is_section(const char *name)
{
	if (strcmp(name, TRAP) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].section, name) == 0)
			return true;
	return false;
}

static const struct key *find_key(const char *section, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static void explain_key(const char *section, const char *name, struct why *why)
{
	const char *of = trap_name(section) ? TRAP : section;
	_cleanup_(buf_done) struct buf known = BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].section, of) == 0)
			buf_printf(&known, "%s%s", known.len > 0 ? ", " : "", keys[i].name);
	why_set(why, 0, "unknown key in [%s]: %s; its keys are %s", section, name,
		buf_text(&known));
}

static void explain_section(const char *section, const char *name, struct why *why)
{
	if (strcmp(section, TRAP) == 0) {
		why_set(why, 0, "[trap] needs a name: [trap NAME]");
		return;
	}
	if (section[0] != '\0') {
		why_set(why, 0, "unknown section: [%s]", section);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].name, name) == 0) {
			why_set(why, 0, "%s is in no section; write [%s] above it", name,
				keys[i].section);
			return;
		}
	why_set(why, 0, "%s is in no section, and no known key", name);
}

/* *base: what its keys are stored in; name: a key in it. False: why says what is wrong. */
static bool find_section(
	struct reading *r, const char *section, const char *name, void **base, struct why *why)
{
	const char *trap = trap_name(section);

	*base = r->config;
	if (trap) {
		*base = get_trap(r, trap);
		if (!*base)
			why_set(why, 0, "more than %d traps", RULES_MAX);
		return *base;
	}
	if (!is_section(section)) {
		explain_section(section, name, why);
		return false;
	}
	return true;
}

/* libinih calls for keys alone, but a section without one may be wrong, too. */
static void take_section(struct reading *r, const char *line)
{
	char section[RULE_TEXT_MAX + sizeof(TRAP " ")];
	const char *end = strchr(line, ']');
	struct why why;
	void *base;

	if (line[0] != '[' || !end || end == line + 1 || r->err < 0)
		return;
	if ((size_t)(end - line) >= sizeof(section)) {
		refuse_line(r, r->line, "the section's name is too long");
		return;
	}
	snprintf(section, sizeof(section), "%.*s", (int)(end - line - 1), line + 1);
	if (!find_section(r, section, "", &base, &why))
		refuse_line(r, r->line, why.text);
}

/* libinih takes a NUL for the end of a line, and the rest of a long line for another one. */
static char *next_line(char *text, int size, void *stream)
{
	struct reading *r = stream;
	struct cursor line;
	struct bytes bytes;

	r->line++;
	if (r->err < 0 || cursor_left(&r->rest) == 0)
		return NULL;
	/* The last line may have no newline. */
	bytes = line_rest(line_next(&r->rest, &line) ? &line : &r->rest);
	if (memchr(bytes.data, '\0', bytes.len))
		refuse_line(r, r->line, "a NUL byte: the file is damaged, or is no text");
	else if (bytes.len >= (size_t)size)
		refuse_line(r, r->line, "the line is too long");
	if (r->err < 0)
		return NULL;
	memcpy(text, bytes.data, bytes.len);
	text[bytes.len] = '\0';
	take_section(r, text);
	return text;
}

/* libinih's: 1 is good, 0 an error. */
static int take_line(void *ctx, const char *section, const char *name, const char *value)
{
	struct reading *r = ctx;
	const struct key *key = find_key(trap_name(section) ? TRAP : section, name);
	struct why why;
	void *base;

	if (r->err < 0)
		return 0;
	if (!find_section(r, section, name, &base, &why))
		return refuse_line(r, r->line, why.text);
	if (!key)
		explain_key(section, name, &why);
	else if (set_value(key, value, base, &why) == 0) {
		r->config->lines[key - keys] = r->line;
		return 1;
	}
	return refuse_line(r, r->line, why.text);
}

static int check_traps(struct reading *r)
{
	for (size_t i = 0; i < r->config->traps.len && r->err == 0; i++) {
		const struct rule *trap = &r->config->traps.all[i];
		struct why why;

		if (trap->name[0] == '\0' || trap->name[strspn(trap->name, TRAP_NAME_CHARS)])
			refuse_line(r, trap->line,
				"a trap's name may only have letters, digits, _ and -");
		else if (rule_check(trap, &why) < 0)
			refuse_line(r, trap->line, why.text);
		else if (trap->metric == RULE_STILL && r->config->wall_hz == 0)
			refuse_line(r, trap->line,
				"the metric still needs visits to threads that wait: [sample] wall "
				"is 0");
	}
	return r->err;
}

/* A FIFO would have us wait for its writer. */
static int read_text(const char *path, struct buf *text, struct why *why)
{
	_as_user_ uint64_t rights = caps_pause();
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return why_set(why, -errno, "cannot read %s: %s", path, err_text(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return why_set(why, -EINVAL,
			"cannot read %s: it is not a regular file; put the configuration into one",
			path);
	err = fd_read_all(fd, CONFIG_BYTES_MAX, text);
	return err < 0 ? why_set(why, err, "cannot read %s: %s", path, err_text(err)) : 0;
}

int config_read(const char *path, struct config *out, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct config config;
	struct reading r = { .config = &config, .path = path, .why = why };
	int line, err = read_text(path, &text, why);

	if (err < 0)
		return err;
	config_default(&config);
	r.rest = cursor_init(buf_text(&text), text.len);
	line = ini_parse_stream(next_line, &r, take_line, &r);
	if (line != 0 && (r.err == 0 || line < r.wrong))
		refuse_line(&r, line > 0 ? line : r.line, "expected [section] or key = value");
	if (r.err == 0)
		r.err = check_traps(&r);
	if (r.err == 0)
		*out = config;
	return r.err;
}

static int line_of(const struct config *config, const char *section, const char *name)
{
	const struct key *key = find_key(section, name);

	return key ? config->lines[key - keys] : 0;
}

int config_load(const char *given, struct config *out, struct why *why)
{
	if (!given && access(CONFIG_PATH, F_OK) < 0) {
		config_default(out);
		return 0;
	}
	return config_read(given ? given : CONFIG_PATH, out, why);
}

bool config_says(const struct config *config, const char *section, const char *name)
{
	return line_of(config, section, name) > 0;
}

int config_refuse(const struct config *config, const char *path, const char *section,
	const char *name, int err, const char *text, struct why *why)
{
	int line = line_of(config, section, name);

	if (path && line > 0)
		return why_set(why, err, "%s:%d: %s: %s", path, line, name, text);
	return why_set(why, err, "[%s] %s: %s", section, name, text);
}

static bool differs(const struct key *key, const struct config *a, const struct config *b)
{
	const char *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;

	if (key->kind == SWITCH) /* what is off at the start has no rights */
		return *(const bool *)y && !*(const bool *)x;
	return key->kind == COUNT || key->kind == SIZE
		? *(const uint64_t *)x != *(const uint64_t *)y
		: strcmp(x, y) != 0;
}

static int list_fixed(const struct config *running, const struct config *now, struct buf *out)
{
	static const char *const fixed[][2] = {
		{ "sample", "hz" },
		{ "sample", "wall" },
		{ "sample", "target" },
		{ "sample", "memory" },
		{ "sample", "tick_limit" },
		{ "sample", "tables" },
		{ "store", "path" },
		{ "labels", "by" },
		{ "jit", "enable" },
		{ "http", "listen" },
		{ "http", "captures" },
		{ "http", "token_file" },
		{ "http", "metrics_token_file" },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fixed) && err == 0; i++) {
		const struct key *key = find_key(fixed[i][0], fixed[i][1]);

		assert(key);
		if (differs(key, running, now))
			err = buf_printf(out, "%s[%s] %s", out->len > 0 ? ", " : "", fixed[i][0],
				fixed[i][1]);
	}
	return err;
}

int config_reload(struct config *running, const struct config *now, struct buf *fixed)
{
	int err = list_fixed(running, now, fixed);

	running->interval_ns = now->interval_ns;
	running->cpu_permille = now->cpu_permille;
	running->keep_ns = now->keep_ns;
	running->bytes_max = now->bytes_max;
	running->whole_ns = now->whole_ns;
	running->captures &= now->captures;
	running->traps = now->traps;
	return err;
}

void config_print(FILE *out)
{
	const char *section = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct key *key = &keys[i];
		bool of_trap = strcmp(key->section, TRAP) == 0;
		int width;

		if (strcmp(section, key->section) != 0)
			fprintf(out, "%s%s[%s]\n", *section ? "\n" : "", of_trap ? ";" : "",
				of_trap ? TRAP " NAME" : key->section);
		section = key->section;
		width = fprintf(out, "%s%s = %s", of_trap ? ";" : "", key->name, key->value);
		fprintf(out, "%*s; %s\n", width < 32 ? 32 - width : 1, "", key->text);
	}
}
