/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store that is a directory of an SMB share: how libsmb2 is loaded, and logs in. */
#include "store/smb_priv.h"

#include "base/library.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PORT_USUAL 445
#define NTLMSSP    1  /* libsmb2's number for it; without, it tries Kerberos */
#define GUID_LEN   16 /* bytes of a ClientGuid */
#define CHUNK_MIN  4096u

/* Credits of libsmb2 are 1024; it stops sending where a window takes all. */
#define UNITS_MAX 400

static const struct place_url_form smb_form = { .prefix = SMB_PREFIX,
						.hint = SMB_PREFIX "USER@HOST[:PORT]/SHARE[/PATH]",
						.name = "share",
						.has_user = true,
						.port = PORT_USUAL };

/* ---- the library ---- */

static const struct library_row smb_rows[] = {
#define X(name, result, parameters) { "smb2_" #name, NULL, offsetof(struct smb_calls, name) },
	SMB_CALLS(X)
#undef X
	    { "nterror_to_errno", NULL, offsetof(struct smb_calls, errno_of) },
};

/* What a process has of it once; libsmb2 keeps a list of contexts without a lock. */
static struct {
	pthread_mutex_t lock;
	bool loaded;
	struct smb_calls calls;
} smb_shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define SMB_NEEDS                                                                                  \
	"libsmb2 6 (Debian 13: package libsmb2-6; Debian 12 has none: build it from Debian 13's "  \
	"source package libsmb2)"

int smb_load(struct smb_calls *out, const char *const *files, struct err *e)
{
	struct library_failure failure;
	int r = library_load(out, files, smb_rows, sizeof(smb_rows) / sizeof(smb_rows[0]),
			     &failure);

	if (!r)
		return 0;
	if (failure.lacks)
		return err_set(e, r,
			       "%s is too old, or another library: it has no %s; " SMB_PREFIX
			       " needs " SMB_NEEDS,
			       failure.file, failure.lacks->name);
	return err_set(e, r, SMB_PREFIX " needs " SMB_NEEDS ": %s", failure.why);
}

int smb_find_calls(const struct smb_calls **out, struct err *e)
{
	static const char *const files[] = { "libsmb2.so.6", "libsmb2.so.1", NULL };
	int r = 0;

	pthread_mutex_lock(&smb_shared.lock);
	if (!smb_shared.loaded)
		r = smb_load(&smb_shared.calls, files, e);
	smb_shared.loaded = !r;
	pthread_mutex_unlock(&smb_shared.lock);
	*out = &smb_shared.calls;
	return r;
}

/* ---- the loop ---- */

static int smb_fd(struct remote *r)
{
	const struct smb *b = (struct smb *)r;

	return b->call->get_fd(b->context);
}

static short smb_events(struct remote *r)
{
	const struct smb *b = (struct smb *)r;

	return (short)b->call->which_events(b->context);
}

static int smb_service(struct remote *r, short events)
{
	const struct smb *b = (struct smb *)r;

	return b->call->service(b->context, events);
}

static const char *smb_error(struct remote *r)
{
	const struct smb *b = (struct smb *)r;

	return b->call->get_error(b->context);
}

static bool smb_next(struct remote *r, void *list, const char **name, bool *is_file)
{
	const struct smb *b = (struct smb *)r;
	const struct smb_dirent *entry = b->call->readdir(b->context, list);

	if (!entry)
		return false;
	*name = entry->name;
	*is_file = entry->st.type != 1;
	return true;
}

static void smb_close_list(struct remote *r, void *list)
{
	const struct smb *b = (struct smb *)r;

	b->call->closedir(b->context, list);
}

static void smb_left(struct smb2_context *context, int status, void *data, void *user)
{
	(void)context, (void)status, (void)data;
	remote_left(user);
}

static int smb_leave(struct remote *r)
{
	const struct smb *b = (struct smb *)r;

	return b->call->disconnect_share_async(b->context, smb_left, r) < 0 ? EIO : 0;
}

static void smb_destroy(struct remote *r)
{
	const struct smb *b = (struct smb *)r;

	if (!b->context)
		return;
	pthread_mutex_lock(&smb_shared.lock);
	b->call->destroy_context(b->context);
	pthread_mutex_unlock(&smb_shared.lock);
}

static const struct remote_calls smb_remote_calls = {
	.what = smb_what,
	.lacks = smb_lacks,
	.units_max = UNITS_MAX,
	.fd = smb_fd,
	.events = smb_events,
	.service = smb_service,
	.error = smb_error,
	.move = smb_move,
	.on_file = smb_on_file,
	.on_name = smb_on_name,
	.next = smb_next,
	.close_list = smb_close_list,
	.leave = smb_leave,
	.destroy = smb_destroy,
};

static const struct store_type store_smb_type = REMOTE_TYPE("smb");

/* ---- logging in ---- */

static size_t smb_chunk(uint32_t most)
{
	if (most >= REMOTE_CHUNK)
		return REMOTE_CHUNK;
	return most < CHUNK_MIN ? CHUNK_MIN : most;
}

static void smb_connected(struct smb2_context *context, int status, void *data, void *user)
{
	struct smb *b = user;
	int code = status < 0 ? -status : status;

	(void)data;
	if (b->r.is_gone)
		return;
	b->r.s.chunk_read = smb_chunk(b->call->get_max_read_size(context));
	b->r.s.chunk_write = smb_chunk(b->call->get_max_write_size(context));
	remote_connected(&b->r, code, code ? b->call->get_error(context) : NULL);
}

/*
 * Servers join connections with the same ClientGuid in one process, as channels of one client;
 * libsmb2 has seven digits of a random number there. It has no call to set it.
 */
static int smb_set_guid(const struct smb *b)
{
	char *guid = (char *)(uintptr_t)b->call->get_client_guid(b->context);

	return getrandom(guid, GUID_LEN, 0) == GUID_LEN ? 0 : errno;
}

static int smb_connect(struct smb *b, const struct place_url *u, struct err *e)
{
	const char *user = *u->user ? u->user : store_user();
	char server[sizeof(u->address) + 16];
	int r;

	pthread_mutex_lock(&smb_shared.lock);
	b->context = b->call->init_context();
	pthread_mutex_unlock(&smb_shared.lock);
	if (!b->context || smb_set_guid(b))
		return err_set(e, -ENOMEM, "out of memory");
	b->call->set_authentication(b->context, NTLMSSP);
	b->call->set_user(b->context, user);
	b->call->set_domain(b->context, "");
	b->call->set_password(b->context, store_password());
	snprintf(server, sizeof(server), "%s:%d", u->address, u->port);
	r = b->call->connect_share_async(b->context, server, u->name, user, smb_connected, b);
	if (r < 0)
		return err_set(e, r, "cannot use %s: %s", b->r.place,
			       b->call->get_error(b->context));
	return 0;
}

static int smb_open(struct store **out, const struct place_url *u, struct err *e)
{
	struct smb *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return err_set(e, -ENOMEM, "out of memory");
	r = smb_find_calls(&b->call, e);
	if (r) {
		free(b);
		return r;
	}
	remote_init(&b->r, &store_smb_type, &smb_remote_calls, &smb_form, u);
	r = smb_connect(b, u, e);
	if (r)
		store_close(&b->r.s);
	else
		*out = &b->r.s;
	return r;
}

static int open_smb(struct store **out, const char *where, bool direct, struct err *e)
{
	struct place_url u;
	int r = place_url_parse(&u, &smb_form, where, e);

	(void)direct;
	r = r ? r : place_url_resolve(&u, e);
	return r ? r : smb_open(out, &u, e);
}

static int make_smb(const char *where, struct err *e)
{
	struct place_url u;
	char path[PATH_MAX];
	struct store *s;
	int r = place_url_parse(&u, &smb_form, where, e);

	if (r || !*u.path)
		return r;
	memcpy(path, u.path, sizeof(path));
	*u.path = '\0';
	r = place_url_resolve(&u, e);
	r = r ? r : smb_open(&s, &u, e);
	return r ? r : remote_make(s, path, e);
}

static int login_smb(struct store_place_login *out, const char *where, struct err *e)
{
	struct place_url u;
	int r = place_url_parse(&u, &smb_form, where, e);

	memcpy(out->user, u.user, sizeof(out->user));
	memcpy(out->host, u.host, sizeof(out->host));
	return r ? r : 1;
}

const struct store_kind store_smb_kind = {
	.prefix = SMB_PREFIX,
	.open = open_smb,
	.make = make_smb,
	.login = login_smb,
	.never_waits = true,
	.usage = SMB_PREFIX "USER@HOST:PORT/SHARE/PATH",
};
