/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_ASK_H
#define AFS_ASK_H

/*
 * Questions of sessions to their CNID server, and which of them the same session had asked before;
 * only with AFS_TRACE_ASKED.
 */

#include "bpf/cursor.h"
#include "bpf/hist.h"
#include "bpf/trace.h"

/* What a question begins with: netatalk's struct cnid_dbd_rqst (3.1 to 4.5), of 64 bits. */
struct afs_question {
	__u32 op, cnid;
	__u64 dev, ino;
	__u32 type, did;
	__u64 name; /* where the asker has it */
	__u64 name_len;
};

/* Questions about one file or folder, which its inode or its id names. */
enum {
	AFS_QUESTION_ADD = 3, /* its id; it gets one if it has none */
	AFS_QUESTION_RESOLVE = 5,
	AFS_QUESTION_LOOKUP = 6,
};

static __always_inline __u64 ask_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* All of it but the address. */
static __always_inline __u64 ask_hash(const struct afs_process *p, const struct afs_question *q)
{
	__u64 hash = ask_mix(p->begun_ns, (__u64)q->op << 32 | q->cnid);

	hash = ask_mix(hash, q->dev);
	hash = ask_mix(hash, q->ino);
	hash = ask_mix(hash, (__u64)q->type << 32 | q->did);
	return ask_mix(hash, q->name_len);
}

static __always_inline bool ask_read(struct afs_question *q, const struct afs_thread *t)
{
	struct afs_cursor c;

	if (!cursor_open(&c, t, t->data == AFS_DATA_BUF ? t->len : sizeof(*q), NULL))
		return false;
	if (!c.left && !next_piece(&c))
		return false;
	if (c.left < sizeof(*q) || bpf_probe_read_user(q, sizeof(*q), (void *)c.at))
		return false;
	return q->op == AFS_QUESTION_ADD || q->op == AFS_QUESTION_RESOLVE ||
	       q->op == AFS_QUESTION_LOOKUP;
}

/* 1 or 0: whether it is 0. */
static __always_inline __u64 ask_is_none(__u64 word)
{
	return is_negative(~word & (word - 1));
}

/* place becomes i if "when" is 1, and stays if it is 0. */
static __always_inline void ask_choose(__u64 *place, __u64 i, __u64 when)
{
	*place += (i - *place) * when;
}

/*
 * Where a question is, else where it goes: to a free place, or to that of another one. Without
 * branches: of each place that they choose the verifier follows all that comes after.
 */
static __always_inline __u32 ask_find(const struct afs_asked *set, __u32 half, __u32 n)
{
	__u64 place = n & (AFS_ASKED_SET - 1), one;

	for (__u32 i = 0; i < AFS_ASKED_SET; i++)
		ask_choose(&place, i, ask_is_none(set->question[i]));
	for (__u32 i = 0; i < AFS_ASKED_SET; i++) {
		one = set->question[i];
		ask_choose(&place, i, ask_is_none(one >> 32 ^ half) & ~ask_is_none(one));
	}
	return place;
}

/* A session's thread is about to send what t->data says. */
__noinline int ask_note(__u32 slot)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_process *p = t ? process_of(t) : NULL;
	struct afs_question q;
	struct afs_asked *set;
	__u64 hash, before;
	__u32 bucket, i;

	if (!t || !p || !ask_read(&q, t))
		return 0;
	hash = ask_hash(p, &q);
	i = hash & (AFS_N_ASKED - 1);
	set = bpf_map_lookup_elem(&asked, &i);
	if (!set)
		return 0;
	p->asking.n++;
	i = ask_find(set, hash >> 32, p->asking.n);
	if (!AFS_BELOW(i, AFS_ASKED_SET))
		return 0;
	before = set->question[i];
	set->question[i] = hash >> 32 << 32 | p->asking.n;
	if (!before || before >> 32 != hash >> 32)
		return 0;
	bucket = afs_hist_index(p->asking.n - (__u32)before, 0, AFS_ASKING_BUCKETS);
	if (AFS_BELOW(bucket, AFS_ASKING_BUCKETS))
		p->asking.again[bucket]++;
	return 0;
}

/* Only in requests that change nothing: what they change would be asked for again. */
static __always_inline void ask(struct afs_thread *t, const struct afs_call *call,
				const unsigned long arg[AFS_N_ARGS])
{
	__u32 account = t->account;

	if (!tracing(AFS_TRACE_ASKED) || !AFS_BELOW(account, AFS_ACCOUNT_BETWEEN) ||
	    !setup.looks[account])
		return;
	if (call->class != AFS_CLASS_WRITE && call->class != AFS_CLASS_SEND)
		return;
	t->data = call->data;
	t->buf = arg[1];
	t->len = arg[2];
	ask_note(t->slot);
}

#endif
