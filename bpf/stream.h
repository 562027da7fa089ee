/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_STREAM_H
#define AFS_STREAM_H

/*
 * Clients' connections: one struct afs_stream for each socket, found by a descriptor of whichever
 * process uses it. It begins with the first call that reads or writes, and ends when the process
 * that read it last closes it, or ends; unless others have the socket open, which may go on with it
 * (s->held).
 */

#include "bpf/object.h"
#include "bpf/trace.h"

/* Notes the client's address, for the session's label. */
static __always_inline void note_client(struct afs_stream *s, const struct file___afs *file)
{
	const struct sock___afs *sk;
	struct end end = {};

	sk = end_of(&end, file);
	if (end.family == AFS_INET)
		bpf_core_read(s->ip, 4, &sk->__sk_common.skc_daddr);
	else if (end.family == AFS_INET6)
		bpf_core_read(s->ip, 16, &sk->__sk_common.skc_v6_daddr);
	/* fe80::/10: the kernel binds such a connection to its interface. */
	if (end.family == AFS_INET6 && s->ip[0] == 0xfe && (s->ip[1] & 0xc0) == 0x80)
		s->scope = BPF_CORE_READ(sk, __sk_common.skc_bound_dev_if);
	s->port = end.peer;
	s->family = end.family;
}

/*
 * Whether the server has read nothing of a connection yet, so that the next byte begins a frame.
 * If the socket cannot say: those of a process that is older than the watch are older, too.
 */
static __always_inline bool is_unread(const struct afs_process *p, const struct file___afs *file)
{
	__u64 before, received;
	__u32 next, copied;
	struct end end = {};
	const struct sock___afs *sk = end_of(&end, file);
	const struct tcp_sock___afs *tcp = (const void *)sk;

	if (end.family != AFS_INET && end.family != AFS_INET6)
		return !p->found;
	if (BPF_CORE_READ(sk, sk_protocol) != AFS_TCP ||
	    !bpf_core_field_exists(tcp->bytes_received))
		return !p->found;
	/* Bytes may arrive meanwhile. */
	for (int i = 0; i < 3; i++) {
		before = BPF_CORE_READ(tcp, bytes_received);
		copied = BPF_CORE_READ(tcp, copied_seq);
		next = BPF_CORE_READ(tcp, rcv_nxt);
		received = BPF_CORE_READ(tcp, bytes_received);
		if (received == before)
			return received == (__u32)(next - copied);
	}
	return false;
}

/* A slot for the connection; NULL: none left. */
static __always_inline struct afs_stream *stream_new(__u64 ino)
{
	__u32 i = pool_take(AFS_SLOTS_STREAM);
	struct afs_stream *s = bpf_map_lookup_elem(&stream, &i);

	if (!s) {
		AFS_COUNT(shared.lost.streams);
		return NULL;
	}
	if (!s->handle)
		AFS_COUNT(shared.n_streams);
	s->handle = (s->handle + AFS_N_CLIENTS) | i;
	if (s->handle < AFS_N_CLIENTS)
		s->handle += AFS_N_CLIENTS;
	s->ino = ino;
	s->begun_ns = bpf_ktime_get_ns();
	return s;
}

static __always_inline __u64 socket_of(const struct file___afs *file)
{
	return BPF_CORE_READ(file, f_inode, i_ino);
}

static __always_inline struct afs_stream *stream_known(__u64 ino)
{
	__u32 *handle = bpf_map_lookup_elem(&socket, &ino);
	struct afs_stream *s = handle ? stream_at(*handle) : NULL;

	return s && s->ino == ino ? s : NULL;
}

/* What is there in its place: another thread may look at the same moment. */
static __always_inline struct afs_stream *stream_publish(struct afs_stream *s, __u64 ino)
{
	struct afs_stream *first;
	__u32 handle = s->handle, i = AFS_CLIENT_SLOT(handle);

	if (!bpf_map_update_elem(&socket, &ino, &handle, BPF_NOEXIST))
		return s;
	first = stream_known(ino);
	if (!first) {
		bpf_map_update_elem(&socket, &ino, &handle, BPF_ANY);
		return s;
	}
	s->ino = 0;
	pool_give(AFS_SLOTS_STREAM, i);
	return first;
}

/*
 * The connection is this process's, which another one may have accepted, or greeted, and closed: it
 * has not ended then. User space looks at "held" first: it must not be 0 with the old process.
 */
static __always_inline void stream_served(struct afs_process *p, __u32 slot, struct afs_stream *s)
{
	if (s->process != slot + 1) {
		AFS_PUBLISH(s->ended, 0);
		AFS_PUBLISH(s->process, slot + 1);
		p->streams++;
		if (!p->stream)
			p->stream = s->handle;
	}
	if (AFS_RARE(s->held)) {
		s->ended_ns = 0;
		AFS_PUBLISH(s->held, 0);
	}
}

/*
 * The handle of a client's connection, which begins here if "begin"; 0: none. task: as for
 * object_look.
 */
__noinline __u32 stream_look(__u32 slot, __u64 task, __u32 fd, bool begin)
{
	struct afs_process *p = process_at(slot);
	struct afs_stream *s, *own;
	struct file___afs *file;
	__u64 ino;

	file = file_of_fd((const void *)(task ? task : bpf_get_current_task()), fd);
	if (!file || !p)
		return 0;
	ino = socket_of(file);
	s = stream_known(ino);
	if (s || !begin)
		return s ? s->handle : 0;
	own = stream_new(ino);
	if (!own)
		return 0;
	if (!datagrams())
		note_client(own, file);
	own->found = !is_unread(p, file);
	own->flow[0].lost = own->flow[1].lost = own->found;
	s = stream_publish(own, ino);
	if (s != own)
		return s->handle;
	stream_served(p, slot, s);
	return s->handle;
}

/* The same, faster for a descriptor that was looked at before. */
static __always_inline __u32 stream_of_fd(struct afs_process *p, __u32 slot, __u64 task, __u32 fd)
{
	__u64 *seen = &p->client[fd & (AFS_N_CLIENT_FDS - 1)], known = *seen;
	__u32 handle = known;

	if (known >> 32 == (__u64)fd + 1 && !p->shares && stream_at(handle))
		return handle;
	handle = stream_look(slot, task, fd, true);
	*seen = handle ? ((__u64)fd + 1) << 32 | handle : 0;
	return handle;
}

/* The server has closed it, or who read it has ended; if another thread goes on it begins again. */
static __always_inline void trace_served(const struct afs_process *p, struct afs_stream *s)
{
	if (!tracing(AFS_TRACE_SMALL) || !s->told)
		return;
	s->told = 0;
	trace_session(p, s, AFS_EVENT_END);
}

/*
 * Whether this descriptor is not the only one of an open file: another process has it open, or a
 * message that passes it on.
 */
static __always_inline bool file_is_held(const struct file___afs *file)
{
	if (bpf_core_field_exists(file->f_ref))
		return BPF_CORE_READ(file, f_ref.refcnt.counter) > 0;
	return BPF_CORE_READ(file, f_count.counter) > 1;
}

/* Before a call closes a descriptor of a client's connection. */
__noinline int stream_close(__u32 slot, __u32 fd)
{
	struct afs_stream *s = stream_at(stream_look(slot, 0, fd, false));
	struct afs_process *p = process_at(slot);
	const struct file___afs *file;
	bool held;

	if (!setup.objects_on || !p || !s || s->ended)
		return 0;
	file = file_of_fd((const void *)bpf_get_current_task(), fd);
	if (!file)
		return 0;
	held = file_is_held(file);
	if (s->process == slot + 1)
		trace_served(p, s);
	else if (!s->held || held)
		return 0;
	s->ended_ns = bpf_ktime_get_ns();
	AFS_PUBLISH(s->held, held);
	if (!held)
		AFS_PUBLISH(s->ended, 1); /* after that user space may collect it */
	return 0;
}

/* A thread of a process ends, and with the last one what it has open: notes what others hold. */
__noinline int stream_leave(__u32 slot)
{
	struct afs_process *p = process_at(slot);
	const struct file___afs *file;
	struct afs_stream *s;

	if (!setup.objects_on) /* nothing of a file can be read */
		return 0;
	for (__u32 i = 0; p && i < AFS_N_CLIENT_FDS; i++) {
		s = stream_at((__u32)p->client[i]);
		if (!s || s->process != slot + 1 || s->ended)
			continue;
		file = file_of_fd((const void *)bpf_get_current_task(), (p->client[i] >> 32) - 1);
		if (file && socket_of(file) == s->ino)
			AFS_PUBLISH(s->held, file_is_held(file));
	}
	return 0;
}

#endif
