/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores whose protocol a library speaks: operations under way, directories, lists, the loop. */
#include "store/remote.h"

#include "base/clock.h"
#include "base/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_NS 60000000000u /* a server that does not answer for so long is lost */
#define LEAVE_NS   5000000000u  /* most that logging out may take */
/* An operation that has more answers, or goes on for so many times the patience, has no end: a
 * list of NFS may go in circles. */
#define AGAIN_MOST   100000
#define LONGEST_WAIT 10
#define NS_PER_S     1e9
#define UNIT_LEN     65536u

static struct remote *remote_of(struct store *s)
{
	_Static_assert(offsetof(struct remote, s) == 0, "a store is the head of its kind");
	return (struct remote *)s;
}

int remote_path(const struct remote *r, struct store_dir dir, const char *name,
		char out[static PATH_MAX])
{
	return dirs_path(&r->dirs, r->root, dir.id, name ? name : "", out);
}

/* ---- operations under way ---- */

static struct remote_job *remote_job_new(struct remote *r, struct store_op *op)
{
	struct remote_job *j = r->free_job;

	if (j) {
		r->free_job = j->next_free;
		*j = (struct remote_job) { .r = r, .next = j->next };
	} else {
		j = calloc(1, sizeof(*j));
		if (!j)
			return NULL;
		*j = (struct remote_job) { .r = r, .next = r->jobs };
		r->jobs = j;
	}
	j->op = op;
	j->units = 1;
	if (op->verb == STORE_READ || op->verb == STORE_WRITE)
		j->units += op->len / UNIT_LEN;
	r->units += j->units;
	r->n_pending++;
	return j;
}

static void remote_job_free(struct remote_job *j)
{
	struct remote *r = j->r;

	r->units -= j->units;
	r->n_pending--;
	j->op = NULL;
	j->next_free = r->free_job;
	r->free_job = j;
}

bool remote_heard(struct remote_job *j)
{
	if (j->r->is_gone || !j->op)
		return false;
	j->r->progress_ns = clock_now_ns();
	return true;
}

void remote_lose(struct remote *r, const char *why)
{
	if (!r->is_lost && !r->refused)
		snprintf(r->why, sizeof(r->why), "%s", why);
	r->is_lost = true;
}

/* ---- directories ---- */

static void remote_end_list(struct remote *r)
{
	if (r->list)
		r->calls->close_list(r, r->list);
	r->list = NULL;
}

static int remote_keep_dir(struct remote *r, struct store_op *op)
{
	op->made = op->dir;
	if (op->name && *op->name)
		op->made.id = dirs_keep(&r->dirs, op->dir.id, op->name, -1);
	return op->name && *op->name && !op->made.id ? ENOMEM : 0;
}

static void remote_forget_dir(struct remote *r, const struct store_op *op)
{
	uint64_t id = op->name && *op->name ? dirs_find(&r->dirs, op->dir.id, op->name)
					    : op->dir.id;

	if (!id)
		return;
	if (r->list_dir == id)
		remote_end_list(r); /* the next directory may get the same id */
	dirs_forget(&r->dirs, id);
}

/* What follows for the directories that are known. */
static int remote_note_dir(struct remote *r, struct store_op *op)
{
	uint64_t id;

	switch (op->verb) {
	case STORE_MKDIR:
		return op->how == STORE_UNUSED ? 0 : remote_keep_dir(r, op);
	case STORE_LOOKUP:
		return remote_keep_dir(r, op);
	case STORE_DELETE:
		remote_forget_dir(r, op);
		return 0;
	case STORE_RENAME:
		id = dirs_find(&r->dirs, op->dir.id, op->name);
		return id && !dirs_move(&r->dirs, id, op->to_dir.id, op->to_name) ? ENOMEM : 0;
	default:
		return 0;
	}
}

/* ---- answers ---- */

static void remote_hello(struct remote *r)
{
	if (r->hello.result == STORE_OK) {
		r->s.state = STORE_IS_OPEN;
		r->is_in = true;
		return;
	}
	snprintf(r->why, sizeof(r->why), "cannot open directory %.300s%.300s: %.200s", r->place,
		 r->root, r->hello.why);
	r->refused = r->hello.code ? r->hello.code : EIO;
}

static void remote_answer(struct remote *r, struct store_op *op, int code)
{
	if (!code)
		code = remote_note_dir(r, op);
	store_answer_errno(op, code);
	if (!code && (op->verb == STORE_READ || op->verb == STORE_WRITE) && op->done < op->len)
		store_answer(op, STORE_SHORT, 0,
			     op->verb == STORE_READ
				 ? "end of file"
				 : "fewer bytes than given were written: no room?");
	if (op == &r->hello)
		remote_hello(r);
	else
		store_queue_put(&r->answered, op);
}

void remote_end(struct remote_job *j, int code)
{
	struct store_op *op = j->op;
	struct remote *r = j->r;

	/* One that ends as it begins was sent nowhere, as the close of a file that was only read
	 * is over NFS. */
	op->t.last_ns = r->begins ? op->t.begun_ns : clock_now_ns();
	op->trips = r->begins ? 0 : 1 + j->again;
	remote_job_free(j);
	remote_answer(r, op, code);
}

/* As many entries of the list as have room: 0 or an errno. */
static int remote_give_list(struct remote *r, struct store_op *op)
{
	const char *name;
	uint64_t len = 0;

	while (len + sizeof(struct dirent) <= op->len &&
	       r->calls->next(r, r->list, &name, &op->is_file)) {
		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (op->found)
			op->found(op, name);
		len += offsetof(struct dirent, d_name) + strlen(name) + 1;
		r->listed++;
		op->done++;
	}
	if (!op->done)
		remote_end_list(r);
	return op->done ? 0 : ENOENT;
}

void remote_take_list(struct remote_job *j, void *list)
{
	struct store_op *op = j->op;
	struct remote *r = j->r;
	const char *name;
	bool is_file;

	remote_end_list(r);
	r->list = list;
	r->list_dir = op->dir.id;
	r->listed = 0;
	while (r->listed < op->offset && r->calls->next(r, list, &name, &is_file))
		r->listed += strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
	remote_end(j, remote_give_list(r, op));
}

/* What is answered without asking the server: true. */
static bool remote_answers(struct remote *r, struct store_op *op)
{
	const char *lacks = r->calls->lacks[op->verb];

	if (lacks)
		store_answer(op, STORE_UNKNOWN, ENOSYS, lacks);
	else if (op->verb == STORE_LIST && op->len < STORE_LIST_LEN)
		store_answer_errno(op, EINVAL);
	else if (op->verb == STORE_DELETE && !*op->name && !op->dir.id)
		store_answer_errno(op, EPERM); /* the store's own place */
	else if (op->verb == STORE_LIST && op->offset && r->list && r->list_dir == op->dir.id &&
		 r->listed == op->offset)
		store_answer_errno(op, remote_give_list(r, op));
	else if ((op->verb == STORE_READ || op->verb == STORE_WRITE) && !op->len)
		store_answer_errno(op, 0);
	else
		return false;
	op->t.last_ns = op->t.begun_ns; /* nothing was sent */
	op->trips = 0;
	store_queue_put(&r->answered, op);
	return true;
}

/* ---- the store ---- */

/* Sends what the socket takes, so that the operation begins now. */
static void remote_push(struct remote *r)
{
	if (!r->is_lost && r->calls->events(r) & POLLOUT && r->calls->service(r, POLLOUT) < 0)
		remote_lose(r, r->calls->error(r));
}

static uint64_t remote_patience_ns(const struct remote *r)
{
	return r->s.patience_ns ? r->s.patience_ns : SILENCE_NS;
}

/* A list comes in many answers: the server is waited for on, but not without an end. */
static void remote_wait_on(struct remote *r, const struct remote_job *j)
{
	uint64_t now_ns = clock_now_ns(), ns = now_ns - j->op->t.begun_ns;
	char why[96];

	if (j->again < AGAIN_MOST && ns < LONGEST_WAIT * remote_patience_ns(r)) {
		if (!r->keeping)
			r->progress_ns = now_ns;
		return;
	}
	snprintf(why, sizeof(why), "%u answers to one operation in %.3g s, and no end of them",
		 j->again, (double)ns / NS_PER_S);
	remote_lose(r, why);
}

/*
 * What an operation had sent was answered, and the library has more to send for it: it waits for
 * the server once more. Of several operations under way it is not known whose that is.
 */
static void remote_note_again(struct remote *r)
{
	struct remote_job *j = r->jobs;

	if (!(r->calls->events(r) & POLLOUT))
		return;
	while (j && !j->op)
		j = j->next;
	if (!j)
		return;
	j->again++;
	remote_wait_on(r, j);
}

static int remote_service(struct remote *r, short events)
{
	bool alone = events & POLLIN && r->n_pending == 1;
	int result = r->calls->service(r, events);

	if (result >= 0 && alone)
		remote_note_again(r);
	return result;
}

static int remote_dispatch(const struct remote *r, struct remote_job *j)
{
	const struct store_op *op = j->op;
	char path[PATH_MAX];
	int code;

	switch (op->verb) {
	case STORE_READ:
	case STORE_WRITE:
		return r->calls->move(j);
	case STORE_CLOSE:
	case STORE_LENGTH:
	case STORE_SET_LEN:
	case STORE_FLUSH:
		return r->calls->on_file(j);
	case STORE_LIST:
	case STORE_ROOM:
		code = remote_path(r, op->dir, "", path);
		break;
	default:
		code = remote_path(r, op->dir, op->name, path);
	}
	return code ? code : r->calls->on_name(j, path);
}

static int remote_begin(struct remote *r, struct store_op *op)
{
	struct remote_job *j = remote_job_new(r, op);
	int code;

	if (!j)
		return -ENOMEM;
	if (r->n_pending == 1)
		r->progress_ns = clock_now_ns();
	r->begins = true;
	code = remote_dispatch(r, j);
	if (code)
		remote_end(j, code);
	r->begins = false;
	return 0;
}

int remote_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct remote *r = remote_of(s);

	if (r->units && r->units + op->len / UNIT_LEN + 1 > r->calls->units_max)
		return -EAGAIN;
	op->command = (uint8_t)op->verb;
	op->what = store_call_name(r->calls->what, op->verb);
	op->t.handed_ns = 0;
	op->t.begun_ns = clock_now_ns();
	if (remote_answers(r, op))
		return 0;
	if (remote_begin(r, op))
		return err_set(e, -ENOMEM, "out of memory");
	remote_push(r);
	return 0;
}

struct store_op *remote_take(struct store *s)
{
	return store_queue_take(&remote_of(s)->answered);
}

static uint64_t remote_keep_ns(struct remote *r)
{
	return r->s.state == STORE_IS_OPEN && r->calls->keep_ns ? r->calls->keep_ns(r) : UINT64_MAX;
}

void remote_wait(struct store *s, struct io_wait *w)
{
	struct remote *r = remote_of(s);

	store_never_wait(s, w);
	if (s->state == STORE_ENDED)
		return;
	if (r->is_lost || r->refused) {
		w->due_ns = 0;
		return;
	}
	w->fd = r->calls->fd(r);
	w->events = r->calls->events(r);
	if (s->state == STORE_ENDING)
		w->due_ns = r->progress_ns + LEAVE_NS;
	else if (r->n_pending || s->state == STORE_OPENING)
		w->due_ns = r->progress_ns + remote_patience_ns(r);
	if (remote_keep_ns(r) < w->due_ns)
		w->due_ns = remote_keep_ns(r);
}

static int remote_is_lost(const struct remote *r, struct err *e)
{
	if (r->refused)
		return err_set(e, -r->refused, "%s", r->why);
	return err_set(e, -ECONNRESET, "%s: the connection is lost: %s", r->place, r->why);
}

int remote_advance(struct store *s, short events, struct err *e)
{
	struct remote *r = remote_of(s);
	char why[64];
	bool waits;

	if (s->state == STORE_ENDED)
		return 0;
	if (events && !r->is_lost && !r->refused && remote_service(r, events) < 0)
		remote_lose(r, r->calls->error(r));
	if (s->state == STORE_ENDING) {
		if (r->is_lost || clock_now_ns() >= r->progress_ns + LEAVE_NS)
			s->state = STORE_ENDED;
		return 0;
	}
	waits = r->n_pending || s->state == STORE_OPENING;
	if (waits && clock_now_ns() >= r->progress_ns + remote_patience_ns(r)) {
		snprintf(why, sizeof(why), "no answer for %.3g s",
			 (double)remote_patience_ns(r) / NS_PER_S);
		remote_lose(r, why);
	}
	if (!r->is_lost && clock_now_ns() >= remote_keep_ns(r)) {
		r->calls->keep(r);
		remote_push(r);
	}
	return r->refused || r->is_lost ? remote_is_lost(r, e) : 0;
}

int remote_work(struct store *s, uint64_t ns, struct err *e)
{
	struct io_wait w;

	remote_wait(s, &w);
	return remote_advance(s, io_wait(&w, ns), e);
}

/* A server that is told has closed all files when it answers: they can be removed then. */
void remote_finish(struct store *s)
{
	struct remote *r = remote_of(s);

	for (struct remote_job *j = r->jobs; j; j = j->next)
		j->op = NULL;
	r->progress_ns = clock_now_ns();
	if (!r->is_in || r->is_lost || r->refused || r->calls->leave(r))
		s->state = STORE_ENDED;
	else
		remote_push(r);
}

void remote_left(struct remote *r)
{
	if (!r->is_gone)
		r->s.state = STORE_ENDED;
}

void remote_close(struct store *s)
{
	struct remote *r = remote_of(s);
	struct remote_job *j;

	r->is_gone = true;
	remote_end_list(r);
	r->calls->destroy(r);
	while ((j = r->jobs)) {
		r->jobs = j->next;
		free(j);
	}
	dirs_free(&r->dirs);
	free(r);
}

/* ---- opening ---- */

void remote_init(struct remote *r, const struct store_type *type, const struct remote_calls *calls,
		 const struct place_url_form *form, const struct place_url *u)
{
	const char *slash = *u->name ? "/" : "";

	r->s.type = type;
	r->s.state = STORE_OPENING;
	r->s.chunk_read = r->s.chunk_write = REMOTE_CHUNK;
	r->s.align = 1;
	r->s.len_max = INT64_MAX;
	r->s.creates_open = true;
	r->s.has_trips = true;
	r->s.near = !strncmp(u->address, "127.", 4) || !strcmp(u->address, "[::1]");
	r->calls = calls;
	r->progress_ns = clock_now_ns();
	store_queue_init(&r->answered);
	snprintf(r->place, sizeof(r->place), "%s%.200s:%d%s%.200s", form->prefix, u->host, u->port,
		 slash, u->name);
	memcpy(r->root, u->path, sizeof(r->root));
}

void remote_connected(struct remote *r, int code, const char *why)
{
	if (r->is_gone)
		return;
	r->progress_ns = clock_now_ns();
	if (code) {
		r->refused = code;
		snprintf(r->why, sizeof(r->why), "cannot use %s: %s", r->place,
			 why && *why ? why : strerror(code));
		return;
	}
	r->hello = (struct store_op) { .verb = STORE_LOOKUP,
				       .name = "",
				       .t.begun_ns = r->progress_ns };
	if (remote_begin(r, &r->hello)) {
		r->refused = ENOMEM;
		snprintf(r->why, sizeof(r->why), "out of memory");
	}
}

int remote_make(struct store *s, const char *path, struct err *e)
{
	const struct remote *r = remote_of(s);
	struct store_op op = { .verb = STORE_MKDIR, .name = path + 1, .how = STORE_UNUSED };
	int code = store_await_open(s, e);

	if (code)
		return code;
	code = store_call(s, &op, e);
	if (!code && op.result != STORE_OK && op.result != STORE_EXISTS)
		code = err_set(e, op.code ? -op.code : -EIO, "cannot make directory %.300s%s: %s",
			       r->place, path, op.why);
	store_close(s);
	return code;
}
