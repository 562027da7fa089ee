/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of a local directory's store. */
#include "store/posix_priv.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* It calls little, and there may be a thousand. */
#define STACK_LEN (256u << 10)

struct posix_pool {
	struct posix *x;
	pthread_t thread;
	int fd;               /* counts operations that are complete */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct store_queue waiting, done;
	bool leave;
};

/* The next operation; NULL: the thread is to end. */
static struct store_op *next_op(struct posix_pool *p)
{
	struct store_op *op = NULL;

	pthread_mutex_lock(&p->lock);
	while (!p->leave && !(op = store_queue_take(&p->waiting)))
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return op;
}

static void *thread_main(void *arg)
{
	struct posix_pool *p = arg;
	struct store_op *op;

	while ((op = next_op(p))) {
		posix_carry_out(p->x, op);
		pthread_mutex_lock(&p->lock);
		store_queue_put(&p->done, op);
		pthread_mutex_unlock(&p->lock);
		eventfd_write(p->fd, 1);
	}
	return NULL;
}

/* Signals are for the other threads. */
static int start_thread(struct posix_pool *p)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_LEN);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&p->thread, &attr, thread_main, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

static void free_pool(struct posix_pool *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

int posix_pool_new(struct posix_pool **out, struct posix *x, struct err *e)
{
	struct posix_pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->x = x;
	store_queue_init(&p->waiting);
	store_queue_init(&p->done);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	r = p->fd < 0 ? errno : start_thread(p);
	if (r) {
		free_pool(p);
		return err_set(e, -r, "cannot start a thread for the directory: %s", strerror(r));
	}
	*out = p;
	return 0;
}

void posix_pool_put(struct posix_pool *p, struct store_op *op)
{
	pthread_mutex_lock(&p->lock);
	store_queue_put(&p->waiting, op);
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

struct store_op *posix_pool_take(struct posix_pool *p)
{
	struct store_op *op = NULL;
	eventfd_t one;

	if (eventfd_read(p->fd, &one)) /* none is complete */
		return NULL;
	pthread_mutex_lock(&p->lock);
	op = store_queue_take(&p->done);
	pthread_mutex_unlock(&p->lock);
	return op;
}

int posix_pool_fd(const struct posix_pool *p)
{
	return p->fd;
}

void posix_pool_free(struct posix_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->leave = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	free_pool(p);
}
