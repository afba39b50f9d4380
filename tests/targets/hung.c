/* SPDX-License-Identifier: Apache-2.0 */
/* hung.c - a file system with one file, whose server stops to answer; and a process that runs the
 * file. Usage: hung DIR FILE SECONDS [MODE]
 * DIR/lower shows FILE as `victim`, by FUSE.
 *   file      DIR/lower/victim is run (default)
 *   overlay   it is run from DIR/merged, whose layers are DIR/lower and DIR/empty
 *   map       FILE itself is run, and DIR/lower is its TMPDIR; its second argument is `nomap`
 *   debug     FILE itself is run, and DIR/lower is mounted on /usr/lib/debug, too
 * After SIGUSR1 the file can still be read, but neither opened nor looked at: prints "silent".
 * /dev/fuse is spoken by hand: fuse(4), linux/fuse.h. Run it in a mount namespace of its own.
 *
 * BUILD: -O1 -g
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define VICTIM 2
#define BUFFER_BYTES (1 << 20)

static volatile sig_atomic_t silent;

static void fall_silent(int signal)
{
	(void)signal;
	silent = 1;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

struct server {
	int fuse, file;
	struct stat st;
};

static void reply(const struct server *s, uint64_t unique, int err, const void *body, size_t size)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + size), .error = err, .unique = unique
	};
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)body, size } };

	/* The caller may have been killed. */
	(void)!writev(s->fuse, parts, size > 0 ? 2 : 1);
}

static struct fuse_attr attr_of(const struct server *s, uint64_t node)
{
	struct fuse_attr attr = {
		.ino = node, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096
	};

	if (node == VICTIM) {
		attr.mode = S_IFREG | 0755;
		attr.nlink = 1;
		attr.size = (uint64_t)s->st.st_size;
		attr.mtime = (uint64_t)s->st.st_mtime;
	}
	return attr;
}

/* Nothing is valid for any time: each look is a request. */
static void answer(const struct server *s, const struct fuse_in_header *in, const char *body)
{
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 65536,
		.max_write = 4096 };
	const struct fuse_attr_out attr = { .attr = attr_of(s, in->nodeid) };
	const struct fuse_entry_out entry = { .nodeid = VICTIM, .attr = attr_of(s, VICTIM) };
	const struct fuse_statfs_out fs = { .st = { .namelen = 255, .bsize = 4096 } };
	const struct fuse_open_out open = { .fh = 1 };
	const struct fuse_read_in *read = (const void *)body;
	static char bytes[BUFFER_BYTES];
	ssize_t len;

	if (silent && in->opcode != FUSE_READ)
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		reply(s, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(body, "victim") == 0)
			reply(s, in->unique, 0, &entry, sizeof(entry));
		else
			reply(s, in->unique, -ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		reply(s, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS:
		reply(s, in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(s, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		len = pread(s->file, bytes, read->size < sizeof(bytes) ? read->size : sizeof(bytes),
			(off_t)read->offset);
		reply(s, in->unique, len < 0 ? -EIO : 0, bytes, len < 0 ? 0 : (size_t)len);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_READDIR:
		reply(s, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(s, in->unique, -ENOSYS, NULL, 0);
	}
}

static void serve(const struct server *s)
{
	static char request[BUFFER_BYTES];
	int said = 0;

	for (;;) {
		ssize_t len;

		if (silent && !said++) {
			puts("silent");
			fflush(stdout);
		}
		len = read(s->fuse, request, sizeof(request));
		if (len < 0 && errno == ENODEV)
			return;
		if (len > 0)
			answer(s, (const void *)request, request + sizeof(struct fuse_in_header));
	}
}

static void run_victim(const char *dir, const char *file, const char *seconds, const char *mode)
{
	char options[8192], path[4096];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/lower/victim", dir);
	if (strcmp(mode, "overlay") == 0) {
		snprintf(options, sizeof(options), "lowerdir=%s/lower:%s/empty", dir, dir);
		snprintf(path, sizeof(path), "%s/merged", dir);
		must(mount("overlay", path, "overlay", MS_RDONLY, options) == 0, "overlay");
		snprintf(path, sizeof(path), "%s/merged/victim", dir);
	} else if (strcmp(mode, "map") == 0 || strcmp(mode, "debug") == 0) {
		snprintf(path, sizeof(path), "%s/lower", dir);
		must(mode[0] == 'm' ? setenv("TMPDIR", path, 1) == 0
				    : mount(path, "/usr/lib/debug", NULL, MS_BIND, NULL) == 0,
			path);
		snprintf(path, sizeof(path), "%s", file);
	}
	execl(path, "victim", seconds, "nomap", NULL);
	must(0, path);
}

int main(int argc, char **argv)
{
	/* Reading is interrupted. */
	const struct sigaction usr1 = { .sa_handler = fall_silent };
	struct server s = { .fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC) };
	char path[4096], options[256];

	if (argc < 4)
		return 2;
	must(s.fuse >= 0, "/dev/fuse");
	s.file = open(argv[2], O_RDONLY | O_CLOEXEC);
	must(s.file >= 0 && fstat(s.file, &s.st) == 0, argv[2]);
	sigaction(SIGUSR1, &usr1, NULL);
	snprintf(path, sizeof(path), "%s/lower", argv[1]);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		s.fuse);
	must(mount("hung", path, "fuse", MS_NOSUID | MS_NODEV, options) == 0, path);
	if (fork() == 0)
		run_victim(argv[1], argv[2], argv[3], argc > 4 ? argv[4] : "file");
	serve(&s);
	return 0;
}
