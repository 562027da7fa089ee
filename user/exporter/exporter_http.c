/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporter/exporter_http.h"

#include "base/clock.h"
#include "exporter/openmetrics.h"

#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIBRARY       "libmicrohttpd.so.12"
#define CLIENTS       128
#define CLIENTS_KEPT  64           /* more only until the oldest are ended */
#define CLIENT_NS     10000000000u /* a connection lives no longer */
#define CLIENT_IDLE_S 5
#define CLIENT_LEN    8192 /* bytes of a request's head */
#define FUNCTIONS(X)                                                                               \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(run)                                                                                     \
	X(get_daemon_info)                                                                         \
	X(get_timeout)                                                                             \
	X(get_connection_info)                                                                     \
	X(lookup_connection_value)                                                                 \
	X(create_response_from_buffer)                                                             \
	X(add_response_header)                                                                     \
	X(queue_response)                                                                          \
	X(destroy_response)

/* The library's functions. */
struct http_library {
	void *handle;
#define X(name) __typeof__(&MHD_##name) name;
	FUNCTIONS(X)
#undef X
};

struct http_client {
	struct MHD_Connection *connection; /* NULL: free */
	int socket;
	uint64_t begun_ns;
	bool ended; /* by this side */
};

struct http {
	struct http_library mhd;
	http_text_fn *text;
	void *user;
	struct MHD_Daemon *daemon;
	int fd;
	struct http_client client[CLIENTS];
};

static const char page[] =
    "<!DOCTYPE html><html lang=\"en\"><title>afpscope exporter</title>"
    "<h1>afpscope exporter</h1><p>What the requests of an AFP file server cost, for Prometheus: "
    "<a href=\"/metrics\">/metrics</a></p></html>\n";

static int exporter_http_load(struct http_library *l, struct err *e)
{
	l->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!l->handle)
		return err_set(e, -ENOENT,
			       "--listen needs the library libmicrohttpd (Debian package "
			       "libmicrohttpd12): %s. --textfile does without it",
			       dlerror());
#define X(name)                                                                                    \
	l->name = (__typeof__(l->name))dlsym(l->handle, "MHD_" #name);                             \
	if (!l->name)                                                                              \
		return err_set(e, -ENOENT, LIBRARY " has no function MHD_" #name);
	FUNCTIONS(X)
#undef X
	return 0;
}

static struct http_client *client_of(struct http *h, const struct MHD_Connection *c)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (h->client[i].connection == c)
			return &h->client[i];
	return NULL;
}

static void on_connection(void *user, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct http *h = user;
	struct http_client *client = client_of(h, begins ? NULL : c);
	const union MHD_ConnectionInfo *info;

	(void)context;
	if (!client)
		return;
	*client = (struct http_client) { 0 };
	if (!begins)
		return;
	info = h->mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	client->connection = c;
	client->socket = info ? info->connect_fd : -1;
	client->begun_ns = clock_now_ns();
}

static enum MHD_Result answer(struct http *h, struct MHD_Connection *c, unsigned int status,
			      const char *type, struct MHD_Response *r)
{
	enum MHD_Result done = MHD_NO;

	if (!r)
		return MHD_NO;
	if (h->mhd.add_response_header(r, "Content-Type", type) == MHD_YES &&
	    h->mhd.add_response_header(r, "Connection", "close") == MHD_YES &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     h->mhd.add_response_header(r, "Allow", "GET, HEAD") == MHD_YES))
		done = h->mhd.queue_response(c, status, r);
	h->mhd.destroy_response(r);
	return done;
}

static enum MHD_Result answer_text(struct http *h, struct MHD_Connection *c, unsigned int status,
				   const char *type, const char *text)
{
	return answer(
	    h, c, status, type,
	    h->mhd.create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_metrics(struct http *h, struct MHD_Connection *c)
{
	bool om = openmetrics_wanted(h->mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Accept"));
	struct MHD_Response *r;
	size_t len;
	char *text = h->text(h->user, om, &len);

	if (!text)
		return MHD_NO;
	r = h->mhd.create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(text);
	return answer(h, c, MHD_HTTP_OK, om ? OPENMETRICS_TYPE : OPENMETRICS_TYPE_TEXT, r);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *data_len, void **context)
{
	struct http *h = user;

	(void)version, (void)data, (void)context;
	*data_len = 0;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answer_text(h, c, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
				   "only GET and HEAD are answered\n");
	if (!strcmp(url, "/"))
		return answer_text(h, c, MHD_HTTP_OK, "text/html; charset=utf-8", page);
	if (strcmp(url, "/metrics") != 0)
		return answer_text(h, c, MHD_HTTP_NOT_FOUND, "text/plain",
				   "there is only /metrics\n");
	return answer_metrics(h, c);
}

static void end_client(struct http_client *c)
{
	c->ended = true;
	shutdown(c->socket, SHUT_RDWR);
}

/* All that are too old. Returns how many are left, and the oldest. */
static size_t end_old(struct http *h, struct http_client **oldest)
{
	uint64_t now = clock_now_ns();
	struct http_client *c;
	size_t n = 0;

	*oldest = NULL;
	for (size_t i = 0; i < CLIENTS; i++) {
		c = &h->client[i];
		if (!c->connection || c->ended)
			continue;
		if (now - c->begun_ns > CLIENT_NS) {
			end_client(c);
			continue;
		}
		n++;
		if (!*oldest || c->begun_ns < (*oldest)->begun_ns)
			*oldest = c;
	}
	return n;
}

/* The library must never have as many as it may: it would look for new ones too late. */
static void end_clients(struct http *h)
{
	struct http_client *oldest;

	while (end_old(h, &oldest) > CLIENTS_KEPT)
		end_client(oldest);
}

int http_open(struct http **out, int listener, http_text_fn *text, void *user, struct err *e)
{
	struct http *h = calloc(1, sizeof(*h));
	const union MHD_DaemonInfo *info;
	int r;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->text = text;
	h->user = user;
	r = exporter_http_load(&h->mhd, e);
	if (r)
		goto fail;
	h->daemon = h->mhd.start_daemon(
	    MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, listener,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned int)CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)CLIENT_IDLE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_LEN, MHD_OPTION_END);
	info = h->daemon ? h->mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		r = err_set(e, -EIO, "libmicrohttpd does not begin to serve");
		goto fail;
	}
	h->fd = info->epoll_fd;
	*out = h;
	return 0;
fail:
	http_close(h);
	return r;
}

int http_fd(const struct http *h)
{
	return h->fd;
}

int http_timeout_ms(const struct http *h, int most_ms)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (h->mhd.get_timeout(h->daemon, &ms) == MHD_YES && ms < (unsigned int)most_ms)
		return (int)ms;
	return most_ms;
}

void http_run(struct http *h)
{
	h->mhd.run(h->daemon);
	end_clients(h);
}

void http_close(struct http *h)
{
	if (h->daemon)
		h->mhd.stop_daemon(h->daemon);
	if (h->mhd.handle)
		dlclose(h->mhd.handle);
	free(h);
}
