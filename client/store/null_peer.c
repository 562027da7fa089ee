/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that answers AFP commands at once and keeps no data. What is written to it is dropped
 * inside the kernel; what is read from it are zeros of a file in memory, sent by sendfile. Nothing
 * is copied here: the least that a file server can do. It serves one request after the other and
 * may block in send, as the client's session always reads when it cannot send.
 *
 * It runs after fork() without exec, so it takes no locks: no malloc, no stdio.
 */
#include "store/null_peer.h"

#include "afp/proto.h"
#include "dsi/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RX_LEN      4096
#define ZEROS_LEN   (1u << 20)
#define REPLY_LEN   64
#define COMMAND_MAX 2048
#define ANY_ID      17
#define IS_DIR      0x8000

/*
 * Read ahead no further than the two longest commands with data, header included: what follows them
 * may be data, which should not be copied.
 */
#define READ_AHEAD (DSI_HEADER_LEN + 20)

/* The length of its files, in 32 bits and in 64; and the free space. */
#define LENGTH_32 0x7fffffffu
#define LENGTH_64 0x7fffffffffffffffull

struct peer {
	int fd;
	uint32_t quantum;
	int zeros;      /* ZEROS_LEN bytes */
	size_t at, end; /* of rx */
	uint8_t rx[RX_LEN];
};

struct peer_request {
	struct dsi_frame f;
	struct rbuf command; /* borrowed from rx */
	uint64_t data_len;   /* after it, still to be received */
};

/* ---- in ---- */

static ssize_t null_peer_receive(int fd, void *to, size_t len, int flags)
{
	ssize_t n;

	do
		n = recv(fd, to, len, flags);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Receives until at least len bytes are at rx + at; false: the connection has ended. */
static bool null_peer_need(struct peer *p, size_t len)
{
	size_t there = p->end - p->at, more;
	ssize_t n;

	if (there >= len)
		return true;
	if (len > RX_LEN)
		return false;
	memmove(p->rx, p->rx + p->at, there);
	p->at = 0;
	p->end = there;
	while (p->end < len) {
		more = (len > READ_AHEAD ? len : READ_AHEAD) - p->end;
		n = null_peer_receive(p->fd, p->rx + p->end, more, 0);
		if (n <= 0)
			return false;
		p->end += (size_t)n;
	}
	return true;
}

/* Drops what follows, without copying it. */
static bool discard(struct peer *p, uint64_t len)
{
	size_t there = p->end - p->at;
	ssize_t n;

	if (there > len)
		there = len;
	p->at += there;
	for (len -= there; len; len -= (uint64_t)n) {
		n = null_peer_receive(p->fd, NULL, len, MSG_TRUNC | MSG_WAITALL);
		if (n <= 0)
			return false;
	}
	return true;
}

/* ---- out ---- */

static bool null_peer_send_all(int fd, const uint8_t *at, size_t len, int flags)
{
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = send(fd, at, len, flags | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return false;
	}
	return true;
}

static bool send_zeros(const struct peer *p, uint64_t len)
{
	ssize_t n;
	off_t at;

	for (; len; len -= (uint64_t)n) {
		at = 0;
		n = sendfile(p->fd, p->zeros, &at, len < ZEROS_LEN ? len : ZEROS_LEN);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

/* A header, then the payload or n_zeros zeros. */
static bool reply(const struct peer *p, const struct peer_request *q, int32_t result,
		  const struct wbuf *payload, uint64_t n_zeros)
{
	uint8_t raw[DSI_HEADER_LEN + REPLY_LEN];
	size_t len = payload ? REPLY_LEN - (size_t)(payload->end - payload->at) : 0;
	struct dsi_frame f = { DSI_REPLY, q->f.command, q->f.id, (uint32_t)result,
			       (uint32_t)(len + n_zeros) };

	dsi_frame_put(raw, &f);
	if (len)
		memcpy(raw + DSI_HEADER_LEN, payload->at - len, len);
	return null_peer_send_all(p->fd, raw, DSI_HEADER_LEN + len, n_zeros ? MSG_MORE : 0) &&
	       send_zeros(p, n_zeros);
}

/* ---- commands ---- */

static bool read_zeros(const struct peer *p, struct peer_request *q, size_t width)
{
	uint64_t len;

	rbuf_bytes(&q->command, 2 + width); /* fork, offset */
	len = rbuf_uint(&q->command, width);
	return !q->command.bad && len <= UINT32_MAX && reply(p, q, AFP_ERR_OK, NULL, len);
}

static bool null_peer_take_data(struct peer *p, struct peer_request *q, struct wbuf *out,
				size_t width)
{
	uint64_t offset, len;

	rbuf_u16(&q->command); /* fork */
	offset = rbuf_uint(&q->command, width);
	len = rbuf_uint(&q->command, width);
	wbuf_uint(out, offset + len, width);
	return !q->command.bad && discard(p, q->data_len) && reply(p, q, AFP_ERR_OK, out, 0);
}

static void put_fork_params(struct wbuf *out, uint16_t bitmap)
{
	wbuf_u16(out, bitmap);
	if (bitmap & AFP_BIT_DATA_LEN)
		wbuf_u32(out, LENGTH_32);
	if (bitmap & AFP_BIT_DATA_EXT)
		wbuf_u64(out, LENGTH_64);
}

static void put_volume_params(struct wbuf *out, uint16_t bitmap)
{
	wbuf_u16(out, bitmap & AFP_VOLUME_ROOM);
	if (bitmap & AFP_VOLUME_ATTRIBUTES)
		wbuf_u16(out, 0);
	if (bitmap & AFP_VOLUME_EXT_FREE)
		wbuf_u64(out, LENGTH_64);
}

/* There is every directory that somebody wants the number of, and nothing else. */
static int32_t null_peer_find_dir(struct wbuf *out, struct rbuf *command)
{
	uint16_t bitmap;

	rbuf_bytes(command, 2 + 4 + 2); /* volume, directory, bitmap of files */
	bitmap = rbuf_u16(command);
	if (bitmap != (AFP_BIT_PARENT | AFP_BIT_ID))
		return AFP_ERR_NO_OBJECT;
	wbuf_u16(out, 0);
	wbuf_u16(out, bitmap);
	wbuf_u16(out, IS_DIR);
	wbuf_u32(out, ANY_ID);
	wbuf_u32(out, ANY_ID);
	return AFP_ERR_OK;
}

static void put_opened(struct wbuf *out, struct rbuf *command)
{
	uint16_t bitmap;

	rbuf_bytes(command, 2 + 4); /* volume, directory */
	bitmap = rbuf_u16(command) & AFP_BIT_ID;
	wbuf_u16(out, bitmap);
	wbuf_u16(out, 1);
	if (bitmap)
		wbuf_u32(out, ANY_ID);
}

static bool serve_command(struct peer *p, struct peer_request *q)
{
	uint8_t payload[REPLY_LEN], code = rbuf_u8(&q->command);
	struct wbuf out = wbuf_of(payload, sizeof(payload));
	int32_t result = AFP_ERR_OK;

	rbuf_u8(&q->command); /* flags or pad */
	switch (code) {
	case AFP_Read:
		return read_zeros(p, q, 4);
	case AFP_ReadExt:
		return read_zeros(p, q, 8);
	case AFP_Write:
		return null_peer_take_data(p, q, &out, 4);
	case AFP_WriteExt:
		return null_peer_take_data(p, q, &out, 8);
	case AFP_OpenFork:
		put_opened(&out, &q->command);
		break;
	case AFP_GetForkParms:
		rbuf_u16(&q->command);
		put_fork_params(&out, rbuf_u16(&q->command));
		break;
	case AFP_GetVolParms:
		rbuf_u16(&q->command);
		put_volume_params(&out, rbuf_u16(&q->command));
		break;
	case AFP_CreateDir:
		wbuf_u32(&out, ANY_ID);
		break;
	case AFP_GetFileDirParms:
		result = null_peer_find_dir(&out, &q->command);
		break;
	case AFP_Enumerate:
	case AFP_EnumerateExt:
	case AFP_EnumerateExt2:
	case AFP_GetExtAttr:
		result = AFP_ERR_NO_OBJECT;
		break;
	default:
		break;
	}
	return discard(p, q->data_len) && reply(p, q, result, &out, 0);
}

static bool serve_open(struct peer *p, struct peer_request *q)
{
	uint8_t payload[REPLY_LEN];
	struct wbuf out = wbuf_of(payload, sizeof(payload));

	wbuf_u8(&out, 0); /* option: request quantum */
	wbuf_u8(&out, 4);
	wbuf_u32(&out, p->quantum);
	return reply(p, q, AFP_ERR_OK, &out, 0);
}

/* Serves one frame of the client; false: the end. */
static bool null_peer_serve(struct peer *p)
{
	struct peer_request q;
	size_t len;

	if (!null_peer_need(p, DSI_HEADER_LEN) || dsi_frame_parse(&q.f, p->rx + p->at))
		return false;
	len = q.f.command == DSI_WRITE ? q.f.code : q.f.len;
	/* what follows the longest command is the value of an attribute */
	if (q.f.command == DSI_COMMAND && len > COMMAND_MAX)
		len = COMMAND_MAX;
	if (len > q.f.len || !null_peer_need(p, DSI_HEADER_LEN + len))
		return false;
	q.command = rbuf_of(p->rx + p->at + DSI_HEADER_LEN, len);
	q.data_len = q.f.len - len;
	p->at += DSI_HEADER_LEN + len;
	switch (q.f.command) {
	case DSI_TICKLE:
		return true;
	case DSI_OPEN:
		return serve_open(p, &q);
	case DSI_COMMAND:
	case DSI_WRITE:
		return serve_command(p, &q);
	default:
		return false;
	}
}

static void null_peer_run(struct peer *p)
{
	static const struct dsi_frame bye = { .flag = DSI_REQUEST, .command = DSI_CLOSE };
	uint8_t raw[DSI_HEADER_LEN];

	while (null_peer_serve(p))
		;
	dsi_frame_put(raw, &bye);
	send(p->fd, raw, sizeof(raw), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Gets rid of what fork() copied: descriptors, and the terminal's ^C. */
static bool leave_home(int fd, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return false;
	signal(SIGINT, SIG_IGN);
	if (fd > 3)
		syscall(SYS_close_range, 3u, (unsigned int)fd - 1, 0);
	syscall(SYS_close_range, (unsigned int)fd + 1, ~0u, 0);
	return true;
}

pid_t null_peer_start(int fd, uint32_t quantum)
{
	struct peer p = { .fd = fd, .quantum = quantum };
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	if (!leave_home(fd, parent))
		_exit(1);
	p.zeros = memfd_create("zeros", MFD_CLOEXEC);
	if (p.zeros >= 0 && !fallocate(p.zeros, 0, 0, ZEROS_LEN))
		null_peer_run(&p);
	_exit(0);
}
