/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Damaged traces: what is given out was written, and the rest is told.
 * Tests user/trace/reader.c.
 */
#include "unit/trace_rig.h"

#define N_DAMAGES 1000

static size_t below(unsigned int *seed, size_t n)
{
	return ((size_t)rand_r(seed) << 31 | (size_t)rand_r(seed)) % n;
}

/* Some bytes of f are replaced by n others. */
static void patch(struct file *f, size_t at, size_t gone, const uint8_t *bytes, size_t n)
{
	struct file g = { malloc(f->len - gone + n + 1), f->len - gone + n };

	memcpy(g.bytes, f->bytes, at);
	memcpy(g.bytes + at, bytes, n);
	memcpy(g.bytes + at + n, f->bytes + at + gone, f->len - at - gone);
	free(f->bytes);
	*f = g;
}

static void damage_bytes(struct file *f, unsigned int *seed)
{
	size_t at = below(seed, f->len), n = 1 + below(seed, f->len - at);
	uint8_t noise[3000];

	switch (below(seed, 7)) {
	case 0: /* one bit */
		f->bytes[at] ^= (uint8_t)(1u << below(seed, 8));
		break;
	case 1: /* some bytes */
		for (size_t i = 1 + below(seed, 64); i; i--)
			f->bytes[below(seed, f->len)] ^= (uint8_t)(1 + below(seed, 255));
		break;
	case 2:
		f->len = at;
		break;
	case 3:
		memset(f->bytes + at, 0, n);
		break;
	case 4:
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)below(seed, 256);
		patch(f, at, 0, noise, 1 + below(seed, sizeof(noise)));
		break;
	case 5:
		patch(f, at, n, noise, 0);
		break;
	default: /* in a head */
		at = below(seed, (f->len + TRACE_PACKET_LEN - 1) / TRACE_PACKET_LEN);
		at = at * TRACE_PACKET_LEN + below(seed, HEAD_LEN);
		if (at + 8 <= f->len)
			memset(f->bytes + at, below(seed, 2) ? 0xff : 0, 8);
	}
}

/* Whole packets: gone, there twice, exchanged. */
static void damage_packets(struct file *f, unsigned int *seed)
{
	size_t n = f->len / TRACE_PACKET_LEN, a = below(seed, n), b = below(seed, n);
	uint8_t *packet = malloc(TRACE_PACKET_LEN);

	a *= TRACE_PACKET_LEN;
	b *= TRACE_PACKET_LEN;
	memcpy(packet, f->bytes + a, TRACE_PACKET_LEN);
	switch (below(seed, 3)) {
	case 0:
		patch(f, a, TRACE_PACKET_LEN, packet, 0);
		break;
	case 1:
		patch(f, b, 0, packet, TRACE_PACKET_LEN);
		break;
	default:
		memcpy(f->bytes + a, f->bytes + b, TRACE_PACKET_LEN);
		memcpy(f->bytes + b, packet, TRACE_PACKET_LEN);
	}
	free(packet);
}

static bool packet_differs(const struct rig *x, unsigned int file, const struct file *f,
			   size_t slot)
{
	return memcmp(f->bytes + slot * TRACE_PACKET_LEN,
		      x->sound[file].bytes + slot * TRACE_PACKET_LEN, TRACE_PACKET_LEN);
}

/* What was given of a stream and what was told must be all of it. */
static void check_sum(const struct rig *x, unsigned int file, const struct file *f, bool moved)
{
	const struct trace_read *read = trace_reader_read(x->r, file);
	const struct file *sound = &x->sound[file];
	uint64_t damaged = 0, gone = 0;

	/* A packet in another's place makes those between them look late. */
	if (f->len == sound->len && !moved) {
		for (size_t i = 0; i < f->len / TRACE_PACKET_LEN; i++) {
			if (!packet_differs(x, file, f, i))
				continue;
			damaged++;
			gone += records_in(x, file, i);
		}
		assert_int_equal(read->damaged, damaged);
		assert_int_equal(read->missing, 0);
		assert_int_equal(read->records + gone, n_made[file]);
	}
	if (read->records == n_made[file] || read->damaged || read->missing || read->torn_len)
		return;
	/* Nothing told: whole packets are gone from the end, which nothing in a trace can tell. */
	assert_true(f->len < sound->len && f->len % TRACE_PACKET_LEN == 0);
	assert_memory_equal(f->bytes, sound->bytes, f->len);
}

static void copy_sound(const struct rig *x, struct file f[N_FILES])
{
	for (unsigned int i = 0; i < N_FILES; i++) {
		f[i].len = x->sound[i].len;
		f[i].bytes = malloc(f[i].len + 1);
		memcpy(f[i].bytes, x->sound[i].bytes, f[i].len);
	}
}

/* Of file a, or a and b. True: whole packets of one changed places. */
static bool damage(struct file f[N_FILES], unsigned int *seed, unsigned int *a, unsigned int *b)
{
	struct file other;

	*a = *b = (unsigned int)below(seed, N_FILES);
	switch (*a == METADATA ? 0 : below(seed, 8)) {
	case 0:
		*b = (unsigned int)below(seed, N_FILES);
		other = f[*a];
		f[*a] = f[*b];
		f[*b] = other;
		if (*a != *b)
			break;
		/* fall through */
	default:
		damage_bytes(&f[*a], seed);
		break;
	case 1:
	case 2:
		damage_packets(&f[*a], seed);
		return true;
	}
	return false;
}

static void a_thousand_damages_never_give_a_wrong_record(void **state)
{
	unsigned int seed, a, b, opened = 0, refused = 0, silent = 0;
	struct rig *x = *state;
	struct file f[N_FILES];
	struct err e = { 0 };
	bool same, moved;

	for (unsigned int i = 0; i < N_DAMAGES; i++) {
		seed = i;
		copy_sound(x, f);
		moved = damage(f, &seed, &a, &b);
		put_file(x, a, &f[a]);
		put_file(x, b, &f[b]);
		same = f[METADATA].len == x->sound[METADATA].len &&
		       !memcmp(f[METADATA].bytes, x->sound[METADATA].bytes, f[METADATA].len);
		e.text[0] = '\0';
		if (try_open(x, &e)) {
			refused++;
			assert_true(!same && e.text[0]);
		} else {
			opened++;
			assert_true(same);
			take_all(x);
			silent += x->n_said == 1; /* what is lost of calls is told always */
			for (unsigned int k = 0; k < AFS_N_STREAMS; k++)
				check_sum(x, k, &f[k], moved);
		}
		put_file(x, a, &x->sound[a]);
		put_file(x, b, &x->sound[b]);
		for (unsigned int k = 0; k < N_FILES; k++)
			free(f[k].bytes);
	}
	print_message("%u damages: %u opened (%u of them said nothing new), %u refused\n",
		      N_DAMAGES, opened, silent, refused);
	assert_true(opened > N_DAMAGES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_thousand_damages_never_give_a_wrong_record, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
