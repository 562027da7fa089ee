/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libgfapi: how it is loaded, and the clients of volumes that the stores of a process share. */
#include "store/gfapi_priv.h"

#include "base/library.h"
#include "store/place_url.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PACKAGE  "Debian package libgfapi0"
#define LOG_INFO 7

/* cluster.post-op-delay-secs is 1, disperse.eager-lock-timeout too */
static const struct timespec settling = { .tv_sec = 1, .tv_nsec = 200000000 };

static const struct library_row gfapi_rows[] = {
#define X(name, version, result, parameters)                                                       \
	{ "glfs_" #name, "GFAPI_" version, offsetof(struct gfapi_calls, name) },
	GFAPI_CALLS(X)
#undef X
};

/* What a process has of it once; it stays until the end. */
struct shared {
	pthread_mutex_t lock; /* guards what follows, and how many stores a client has */
	bool loaded;
	struct gfapi_calls calls;
	struct gfapi_client *clients;
};

static struct shared *shared(void)
{
	static struct shared one = { .lock = PTHREAD_MUTEX_INITIALIZER };

	return &one;
}

int gfapi_load(struct gfapi_calls *out, const char *library, struct err *e)
{
	const char *const files[] = { library, NULL };
	struct library_failure failure;
	int r;

	if (!library_has_versions())
		return err_set(e, -ENOTSUP,
			       GFAPI_PREFIX " needs a C library that tells versions of functions "
					    "apart (dlvsym), such as glibc");
	r = library_load(out, files, gfapi_rows, sizeof(gfapi_rows) / sizeof(gfapi_rows[0]),
			 &failure);
	if (!r)
		return 0;
	if (failure.lacks)
		return err_set(e, r,
			       "%s is too old: it has no %s of version %s; " GFAPI_PREFIX
			       " needs that of GlusterFS 6 or newer (" PACKAGE ")",
			       library, failure.lacks->name, failure.lacks->version);
	return err_set(e, r,
		       GFAPI_PREFIX " needs the library libgfapi of GlusterFS 6 or newer "
				    "(" PACKAGE "): %s",
		       failure.why);
}

/* ---- URL ---- */

static int gfapi_lib_refuse(const char *where, const char *why, struct err *e)
{
	return err_set(e, -EINVAL,
		       "'" GFAPI_PREFIX "%.200s': %s; give it as " GFAPI_PREFIX
		       "HOST[:PORT]/VOLUME[/PATH]",
		       where, why);
}

int gfapi_url_parse(struct gfapi_url *out, const char *where, struct err *e)
{
	size_t host = strcspn(where, "/"), volume, path;
	const char *at = where + host, *why;

	*out = (struct gfapi_url) { 0 };
	why = place_url_host(out->host, &out->port, GFAPI_PORT, where, at);
	if (why)
		return gfapi_lib_refuse(where, why, e);
	at += strspn(at, "/");
	volume = strcspn(at, "/");
	if (!volume)
		return gfapi_lib_refuse(where, "there is no volume", e);
	if (volume >= sizeof(out->volume))
		return gfapi_lib_refuse(where, "the volume's name is too long", e);
	memcpy(out->volume, at, volume);
	at += volume;
	at += *at ? strspn(at, "/") - 1 : 0;
	path = strlen(at);
	while (path && at[path - 1] == '/')
		path--;
	if (path >= sizeof(out->path))
		return gfapi_lib_refuse(where, "the path is too long", e);
	memcpy(out->path, at, path);
	return 0;
}

/* ---- clients ---- */

static bool gfapi_lib_is_same(const struct gfapi_url *a, const struct gfapi_url *b)
{
	return a->port == b->port && !strcmp(a->host, b->host) && !strcmp(a->volume, b->volume);
}

static int gfapi_lib_refused(const struct gfapi_url *u, int code, struct err *e)
{
	/* libgfapi says so as well where a part is missing that it loads. */
	if (code == ENOENT)
		return err_set(
		    e, -code,
		    "GlusterFS server %s has no volume %s (\"gluster volume list\" there "
		    "lists what it has), or what libgfapi loads is missing here (Debian package "
		    "glusterfs-common)",
		    u->host, u->volume);
	/* libgfapi of GlusterFS 11 reports this for a volume that does not exist. */
	if (code == ENOMEM)
		return err_set(
		    e, -ENOENT,
		    "GlusterFS server %s has no volume %s (\"gluster volume list\" there "
		    "lists what it has), or memory is short here: libgfapi says the same of both",
		    u->host, u->volume);
	return err_set(
	    e, -code,
	    "cannot use volume %s of GlusterFS server %s:%d: %s. Does glusterd run there, "
	    "and is the volume started? AFPSCOPE_GFAPI_LOG=FILE keeps what libgfapi logs",
	    u->volume, u->host, u->port, strerror(code));
}

/* Its threads, which inherit the mask, leave signals to ours. */
static int gfapi_lib_begin(const struct gfapi_calls *c, struct glfs *fs, const struct gfapi_url *u)
{
	const char *log = getenv("AFPSCOPE_GFAPI_LOG");
	sigset_t all, before;
	int r, code;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	errno = 0;
	r = c->set_logging(fs, log && *log ? log : "/dev/null", log && *log ? LOG_INFO : 0);
	r = r ? r : c->set_volfile_server(fs, "tcp", u->host, u->port);
	r = r ? r : c->init(fs);
	code = !r ? 0 : errno ? errno : EIO;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

/* Replicas, or the pieces of an erasure code. */
static bool has_replicas(const struct gfapi_calls *c, struct glfs *fs)
{
	ssize_t len = -c->get_volfile(fs, NULL, 0);
	char *text = len > 0 ? calloc(1, (size_t)len + 1) : NULL;
	bool has = false;

	if (text && c->get_volfile(fs, text, (size_t)len) > 0)
		has = strstr(text, "type cluster/replicate") ||
		      strstr(text, "type cluster/disperse");
	free(text);
	return has;
}

static int new_client(struct gfapi_client **out, const struct gfapi_calls *c,
		      const struct gfapi_url *u, struct err *e)
{
	struct gfapi_client *new = calloc(1, sizeof(*new));
	int code;

	if (new)
		new->fs = c->new (u->volume);
	if (!new || !new->fs) {
		free(new);
		return err_set(e, -ENOMEM, "out of memory");
	}
	code = gfapi_lib_begin(c, new->fs, u);
	if (code) {
		c->fini(new->fs);
		free(new);
		return gfapi_lib_refused(u, code, e);
	}
	new->url = *u;
	new->call = c;
	new->has_replicas = has_replicas(c, new->fs);
	*out = new;
	return 0;
}

static int gfapi_lib_find_client(struct shared *s, struct gfapi_client **out,
				 const struct gfapi_url *u, struct err *e)
{
	struct gfapi_client **at = &s->clients;
	int r = s->loaded ? 0 : gfapi_load(&s->calls, GFAPI_LIBRARY, e);

	if (r)
		return r;
	s->loaded = true;
	while (*at && !gfapi_lib_is_same(&(*at)->url, u))
		at = &(*at)->next;
	r = *at ? 0 : new_client(at, &s->calls, u, e);
	*out = *at;
	return r;
}

int gfapi_find_client(struct gfapi_client **out, const struct gfapi_url *u, struct err *e)
{
	struct shared *s = shared();
	int r;

	pthread_mutex_lock(&s->lock);
	r = gfapi_lib_find_client(s, out, u, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void gfapi_use(struct gfapi_client *c)
{
	struct shared *s = shared();

	pthread_mutex_lock(&s->lock);
	c->stores++;
	pthread_mutex_unlock(&s->lock);
}

void gfapi_leave(struct gfapi_client *c)
{
	struct shared *s = shared();
	bool is_last;

	pthread_mutex_lock(&s->lock);
	is_last = !--c->stores;
	pthread_mutex_unlock(&s->lock);
	if (is_last && c->has_replicas)
		nanosleep(&settling, NULL);
}
