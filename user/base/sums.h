/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_SUMS_H
#define BASE_SUMS_H

/* Structs and arrays of nothing but totals of 64 bits, of size bytes. */

#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((may_alias)) sums_total;

static inline void sums_add(void *to, const void *from, size_t size)
{
	const sums_total *b = from;
	sums_total *a = to;

	for (size_t i = 0; i < size / sizeof(*a); i++)
		a[i] += b[i];
}

/* from -= what; a total that would be negative wraps. */
static inline void sums_subtract(void *from, const void *what, size_t size)
{
	const sums_total *b = what;
	sums_total *a = from;

	for (size_t i = 0; i < size / sizeof(*a); i++)
		a[i] -= b[i];
}

#endif
