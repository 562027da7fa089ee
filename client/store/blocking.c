/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores whose operations can only be waited for: the queues, and the thread. */
#include "store/blocking.h"

#include "base/clock.h"
#include "base/kernel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* It calls little, and there may be a thousand. */
#define STACK_LEN (256u << 10)

struct blocking_pool {
	struct blocking *b;
	pthread_t thread;
	int fd;               /* counts operations that are complete */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct store_queue waiting, done;
	bool leave;
};

/* The next operation; NULL: the thread is to end. */
static struct store_op *next_op(struct blocking_pool *p)
{
	struct store_op *op = NULL;

	pthread_mutex_lock(&p->lock);
	while (!p->leave && !(op = store_queue_take(&p->waiting)))
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return op;
}

static void *blocking_thread_main(void *arg)
{
	struct blocking_pool *p = arg;
	uint64_t free_ns = 0;
	struct store_op *op;

	while ((op = next_op(p))) {
		if (op->t.handed_ns < free_ns) /* it waited for the one before it */
			op->t.handed_ns = free_ns;
		p->b->carry_out(p->b, op);
		free_ns = op->t.last_ns;
		pthread_mutex_lock(&p->lock);
		store_queue_put(&p->done, op);
		pthread_mutex_unlock(&p->lock);
		eventfd_write(p->fd, 1);
	}
	return NULL;
}

/* Signals are for the other threads. */
static int blocking_start_thread(struct blocking_pool *p)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_LEN);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&p->thread, &attr, blocking_thread_main, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

static void free_pool(struct blocking_pool *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static int new_pool(struct blocking_pool **out, struct blocking *b, struct err *e)
{
	struct blocking_pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->b = b;
	store_queue_init(&p->waiting);
	store_queue_init(&p->done);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	r = p->fd < 0 ? errno : blocking_start_thread(p);
	if (r) {
		free_pool(p);
		return err_set(e, -r, "cannot start a thread for the %s store: %s", b->s.type->name,
			       strerror(r));
	}
	*out = p;
	return 0;
}

static void put_op(struct blocking_pool *p, struct store_op *op)
{
	op->t.handed_ns = clock_now_ns();
	pthread_mutex_lock(&p->lock);
	store_queue_put(&p->waiting, op);
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/* One that is complete; NULL: none. */
static struct store_op *take_op(struct blocking_pool *p)
{
	struct store_op *op = NULL;
	eventfd_t one;

	if (eventfd_read(p->fd, &one))
		return NULL;
	pthread_mutex_lock(&p->lock);
	op = store_queue_take(&p->done);
	pthread_mutex_unlock(&p->lock);
	return op;
}

/* ---- the store ---- */

static struct blocking *blocking_of(struct store *s)
{
	_Static_assert(offsetof(struct blocking, s) == 0, "a store is the head of its kind");
	return (struct blocking *)s;
}

int blocking_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct blocking *b = blocking_of(s);

	(void)e;
	op->command = (uint8_t)op->verb;
	op->what = store_call_name(b->what, op->verb);
	op->t.handed_ns = 0;
	if (b->pool)
		put_op(b->pool, op);
	else
		store_queue_put(&b->waiting, op);
	return 0;
}

struct store_op *blocking_take(struct store *s)
{
	struct blocking *b = blocking_of(s);
	struct store_op *op = store_queue_take(&b->answered);

	return op || !b->pool ? op : take_op(b->pool);
}

void blocking_wait(struct store *s, struct io_wait *w)
{
	const struct blocking *b = blocking_of(s);

	store_never_wait(s, w);
	if (b->pool)
		*w = (struct io_wait) { b->pool->fd, POLLIN, UINT64_MAX };
	else if (b->waiting.head)
		w->due_ns = 0;
}

/* The first caller who must not wait: from now on a thread carries all operations out. */
int blocking_advance(struct store *s, short events, struct err *e)
{
	struct blocking *b = blocking_of(s);
	struct store_op *op;
	int r;

	(void)events;
	if (!b->waiting.head)
		return 0;
	r = new_pool(&b->pool, b, e);
	while (!r && (op = store_queue_take(&b->waiting)))
		put_op(b->pool, op);
	return r;
}

int blocking_work(struct store *s, uint64_t ns, struct err *e)
{
	struct blocking *b = blocking_of(s);
	struct store_op *op = store_queue_take(&b->waiting);
	struct io_wait w;

	(void)e;
	if (!op) {
		blocking_wait(s, &w);
		io_wait(&w, ns);
		return 0;
	}
	b->carry_out(b, op);
	/* a directory that was made is looked up, too, which is no part of the operation */
	b->s.called_ns = op->verb == STORE_MKDIR ? clock_now_ns() : op->t.last_ns;
	store_queue_put(&b->answered, op);
	return 0;
}

void blocking_finish(struct store *s)
{
	s->state = STORE_ENDED;
}

void blocking_init(struct blocking *b, const struct store_type *type, const char *const *what,
		   void (*carry_out)(struct blocking *b, struct store_op *op))
{
	b->s.type = type;
	b->s.state = STORE_IS_OPEN;
	b->s.chunk_read = b->s.chunk_write = BLOCKING_CHUNK;
	b->s.align = 1;
	b->s.blocks = true;
	b->s.len_max = INT64_MAX;
	b->what = what;
	b->carry_out = carry_out;
	store_queue_init(&b->waiting);
	store_queue_init(&b->answered);
}

void blocking_fini(struct blocking *b)
{
	struct blocking_pool *p = b->pool;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->leave = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	free_pool(p);
	b->pool = NULL;
}
