/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store that is a directory of an NFS server: how libnfs is loaded, and how it mounts. */
#include "store/nfs_priv.h"

#include "base/library.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PORT_USUAL 2049
#define PORT_MAX   65535
#define NAME_LEN   16 /* random bytes of a client's name */
#define CHUNK_MIN  4096u

/* 64 KiB each: libnfs itself has no limit. */
#define UNITS_MAX 400

/* ---- the URL ---- */

#define NFS_FORM                                                                                   \
	NFS_PREFIX                                                                                 \
	"HOST[:PORT]/EXPORT[/PATH][?version=3|4&mountport=PORT&uid=UID&gid=GID]"

static const struct place_url_form nfs_form = { .prefix = NFS_PREFIX,
						.hint = NFS_FORM,
						.port = PORT_USUAL };

static bool nfs_number(const char *text, long least, long most, int *out)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || n < least || n > most)
		return false;
	*out = (int)n;
	return true;
}

/* One of what follows the question mark. */
static bool nfs_parameter(struct nfs_place *out, const char *text)
{
	const char *value = strchr(text, '=');
	size_t len = value ? (size_t)(value++ - text) : 0;

	if (len == 7 && !strncmp(text, "version", len))
		return nfs_number(value, 3, 4, &out->version);
	if (len == 9 && !strncmp(text, "mountport", len))
		return nfs_number(value, 1, PORT_MAX, &out->mountport);
	if (len == 3 && !strncmp(text, "uid", len))
		return nfs_number(value, 0, INT32_MAX, &out->uid);
	if (len == 3 && !strncmp(text, "gid", len))
		return nfs_number(value, 0, INT32_MAX, &out->gid);
	return false;
}

int nfs_place_parse(struct nfs_place *out, const char *where, struct err *e)
{
	char text[2 * PATH_MAX], *query, *next;
	int r;

	if (snprintf(text, sizeof(text), "%s", where) >= (int)sizeof(text))
		return err_set(e, -EINVAL, "'" NFS_PREFIX "%.40s...' is too long", where);
	query = strchr(text, '?');
	if (query)
		*query++ = '\0';
	r = place_url_parse(&out->at, &nfs_form, text, e);
	out->version = 3;
	out->mountport = 0;
	out->uid = out->gid = -1;
	for (; !r && query; query = next) {
		next = strchr(query, '&');
		if (next)
			*next++ = '\0';
		if (!nfs_parameter(out, query))
			r = err_set(e, -EINVAL,
				    "'" NFS_PREFIX "%.200s': '%.60s' is none of its parameters, or "
				    "has a wrong value; give it as " NFS_FORM,
				    where, query);
	}
	return r;
}

/* ---- the library ---- */

static const struct library_row nfs_rows[] = {
#define X(name, result, parameters) { "nfs_" #name, NULL, offsetof(struct nfs_calls, name) },
	NFS_CALLS(X)
#undef X
	    { "nfs4_set_client_name", NULL, offsetof(struct nfs_calls, set_client_name) },
	{ "rpc_get_error", NULL, offsetof(struct nfs_calls, get_rpc_error) },
};

/* What a process has of it once. */
static struct {
	bool done;
	struct nfs_calls calls;
} nfs_loaded;

#define NFS_NEEDS "libnfs 4 or 5 (Debian 12: package libnfs13; Debian 13: package libnfs14)"

int nfs_load(struct nfs_calls *out, const char *const *files, const char *const *newer,
	     struct err *e)
{
	struct library_failure failure, none;
	int r = library_load(out, files, nfs_rows, sizeof(nfs_rows) / sizeof(nfs_rows[0]),
			     &failure);

	out->file = failure.file;
	if (!r)
		return 0;
	if (failure.lacks)
		return err_set(e, r,
			       "%s is too old, or another library: it has no %s; " NFS_PREFIX
			       " needs " NFS_NEEDS,
			       failure.file, failure.lacks->name);
	if (!library_load(NULL, newer, NULL, 0, &none))
		return err_set(e, r,
			       "the libnfs here is %s, whose calls take their arguments in another "
			       "order; " NFS_PREFIX " needs " NFS_NEEDS,
			       none.file);
	return err_set(e, r, NFS_PREFIX " needs " NFS_NEEDS ": %s", failure.why);
}

#define NFS_FILE_4 "libnfs.so.13"
#define NFS_FILE_5 "libnfs.so.14"

/* With NFSv4 libnfs 4 cannot write 4 KiB at once, nor change the mode or time of a directory. */
static int nfs_find_calls(const struct nfs_calls **out, bool is_v4, struct err *e)
{
	static const char *const files[] = { NFS_FILE_5, NFS_FILE_4, NULL };
	static const char *const newer[] = { "libnfs.so.15", "libnfs.so.16", "libnfs.so.17",
					     "libnfs.so.18", "libnfs.so.19", NULL };
	int r = 0;

	nfs_lock();
	if (!nfs_loaded.done)
		r = nfs_load(&nfs_loaded.calls, files, newer, e);
	nfs_loaded.done = !r;
	nfs_unlock();
	*out = &nfs_loaded.calls;
	if (!r && is_v4 && !strcmp(nfs_loaded.calls.file, NFS_FILE_4))
		return err_set(
		    e, -EOPNOTSUPP,
		    "version=4 needs libnfs 5 (Debian 13: package libnfs14): the NFSv4 of " NFS_FILE_4
		    ", which is here, has errors");
	return r;
}

/* ---- the loop ---- */

static int nfs_fd(struct remote *r)
{
	const struct nfs *n = (struct nfs *)r;

	return n->call->get_fd(n->context);
}

static short nfs_events(struct remote *r)
{
	const struct nfs *n = (struct nfs *)r;

	return (short)n->call->which_events(n->context);
}

static int nfs_service(struct remote *r, short events)
{
	const struct nfs *n = (struct nfs *)r;

	if (events & POLLERR) /* whose text says more */
		events &= ~POLLHUP;
	return n->call->service(n->context, events);
}

static const char *nfs_error(struct remote *r)
{
	const char *said = nfs_text((struct nfs *)r);

	return *said ? said : NFS_CLOSED;
}

static bool nfs_next_entry(struct remote *r, void *list, const char **name, bool *is_file)
{
	const struct nfs *n = (struct nfs *)r;
	const struct nfs_dirent *entry = n->call->readdir(n->context, list);

	if (!entry)
		return false;
	*name = entry->name;
	*is_file = entry->type && entry->type != NFS_TYPE_DIRECTORY;
	return true;
}

static void nfs_close_list(struct remote *r, void *list)
{
	const struct nfs *n = (struct nfs *)r;

	n->call->closedir(n->context, list);
}

/* A server of NFSv3 knows of no files that are open, and libnfs has no end of a client of NFSv4. */
static int nfs_leave(struct remote *r)
{
	(void)r;
	return EOPNOTSUPP;
}

static void nfs_destroy(struct remote *r)
{
	const struct nfs *n = (struct nfs *)r;

	if (n->context)
		n->call->destroy_context(n->context);
}

static const struct remote_calls nfs_remote_calls = {
	.what = nfs_what,
	.lacks = nfs_lacks,
	.units_max = UNITS_MAX,
	.fd = nfs_fd,
	.events = nfs_events,
	.service = nfs_service,
	.error = nfs_error,
	.move = nfs_move,
	.on_file = nfs_on_file,
	.on_name = nfs_on_name,
	.next = nfs_next_entry,
	.close_list = nfs_close_list,
	.keep_ns = nfs_keep_ns,
	.keep = nfs_keep,
	.leave = nfs_leave,
	.destroy = nfs_destroy,
};

static const struct store_type store_nfs_type = REMOTE_TYPE("nfs");

/* ---- mounting ---- */

/* 0: libnfs does not know, as with NFSv4. */
static size_t nfs_chunk(uint64_t most)
{
	if (!most || most >= REMOTE_CHUNK)
		return REMOTE_CHUNK;
	return most < CHUNK_MIN ? CHUNK_MIN : (size_t)most;
}

static void nfs_mounted(int status, struct nfs_context *context, void *data, void *user)
{
	char said[ERR_TEXT_MAX] = "";
	struct nfs *n = user;
	int code;

	(void)data;
	if (n->r.is_gone)
		return;
	code = status < 0 ? nfs_take_errno(n, status, said) : 0;
	n->r.s.chunk_read = nfs_chunk(n->call->get_readmax(context));
	n->r.s.chunk_write = nfs_chunk(n->call->get_writemax(context));
	if (code == ECONNRESET && n->asks_where)
		err_append(said, "; port 111 (rpcbind) is asked where its mount service is: give "
				 "?mountport=PORT, or ?version=4");
	remote_connected(&n->r, code, said);
}

/* libnfs names its clients by process and second: a server would take those of one second for one
 * client. */
static int nfs_set_name(const struct nfs *n)
{
	char name[2 * NAME_LEN + 16] = "afpscope-";
	uint8_t bytes[NAME_LEN];
	size_t at = strlen(name);

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return errno;
	for (size_t i = 0; i < sizeof(bytes); i++, at += 2)
		snprintf(name + at, sizeof(name) - at, "%02x", bytes[i]);
	n->call->set_client_name(n->context, name);
	return 0;
}

/*
 * What is set so that each operation is what the server is asked, and what it answers: no list from
 * memory, no second connection where the first is lost, no way into other exports. Old versions
 * have no calls for some of it.
 */
static int nfs_set_up(const struct nfs *n, const struct nfs_place *p)
{
	char url[256];
	struct nfs_url *parts;
	size_t at;

	at = (size_t)snprintf(url, sizeof(url),
			      "nfs://host/?version=%d&nfsport=%d&mountport=%d&autoreconnect=0"
			      "&dircache=0&auto-traverse-mounts=0",
			      p->version, p->at.port, p->mountport);
	if (p->uid >= 0)
		at += (size_t)snprintf(url + at, sizeof(url) - at, "&uid=%d", p->uid);
	if (p->gid >= 0)
		snprintf(url + at, sizeof(url) - at, "&gid=%d", p->gid);
	parts = n->call->parse_url_dir(n->context, url);
	if (!parts)
		return EIO;
	n->call->destroy_url(parts);
	return n->is_v4 ? nfs_set_name(n) : 0;
}

static int nfs_mount(struct nfs *n, const struct nfs_place *p, struct err *e)
{
	const char *path = *p->at.path ? p->at.path : "/";
	char server[sizeof(p->at.address)];
	int code;

	/* without the brackets of an address of IPv6 */
	snprintf(server, sizeof(server), "%s", p->at.address + (*p->at.address == '['));
	server[strcspn(server, "]")] = '\0';
	nfs_lock();
	n->context = n->call->init_context();
	code = n->context ? nfs_set_up(n, p) : ENOMEM;
	if (!code && n->call->mount_async(n->context, server, path, nfs_mounted, n) < 0)
		code = EIO;
	nfs_unlock();
	if (!code)
		return 0;
	return err_set(e, -code, "cannot use %s: %s", n->r.place,
		       n->context ? nfs_text(n) : strerror(code));
}

static int nfs_open(struct store **out, const struct nfs_place *p, struct err *e)
{
	struct nfs *n = calloc(1, sizeof(*n));
	struct place_url shown = p->at;
	int r;

	if (!n)
		return err_set(e, -ENOMEM, "out of memory");
	r = nfs_find_calls(&n->call, p->version == 4, e);
	if (r) {
		free(n);
		return r;
	}
	/* What is mounted is the store's root; its name is for messages. */
	snprintf(shown.name, sizeof(shown.name), "%.*s", (int)sizeof(shown.name) - 1,
		 shown.path + (*shown.path == '/'));
	*shown.path = '\0';
	remote_init(&n->r, &store_nfs_type, &nfs_remote_calls, &nfs_form, &shown);
	n->r.s.has_links = true;
	n->r.s.discard_from = 1;
	n->is_v4 = p->version == 4;
	n->asks_where = !n->is_v4 && !p->mountport;
	r = nfs_mount(n, p, e);
	if (r)
		store_close(&n->r.s);
	else
		*out = &n->r.s;
	return r;
}

static int open_nfs(struct store **out, const char *where, bool direct, struct err *e)
{
	struct nfs_place p;
	int r = nfs_place_parse(&p, where, e);

	(void)direct;
	r = r ? r : place_url_resolve(&p.at, e);
	return r ? r : nfs_open(out, &p, e);
}

/* An export need not be in a directory that can be mounted: it is made in the one above only where
 * it is not there. */
static int make_nfs(const char *where, struct err *e)
{
	struct nfs_place p;
	char path[PATH_MAX];
	struct store *s;
	char *last;
	int r = nfs_place_parse(&p, where, e);

	r = r ? r : place_url_resolve(&p.at, e);
	r = r ? r : nfs_open(&s, &p, e);
	r = r ? r : store_await_open(s, e);
	if (!r)
		store_close(s);
	last = strrchr(p.at.path, '/');
	if ((r != -ENOENT && r != -EACCES) || !last || last == p.at.path)
		return r;
	memcpy(path, last, strlen(last) + 1);
	*last = '\0';
	r = nfs_open(&s, &p, e);
	return r ? r : remote_make(s, path, e);
}

static int login_nfs(struct store_place_login *out, const char *where, struct err *e)
{
	struct nfs_place p;

	(void)out;
	return nfs_place_parse(&p, where, e);
}

const struct store_kind store_nfs_kind = {
	.prefix = NFS_PREFIX,
	.open = open_nfs,
	.make = make_nfs,
	.login = login_nfs,
	.never_waits = true,
	.usage = NFS_PREFIX "HOST:PORT/EXPORT/PATH",
	.low_ports = true,
};
