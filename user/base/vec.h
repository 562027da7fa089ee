/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_VEC_H
#define BASE_VEC_H

/* Arrays that grow: a pointer, and how many elements it has. */

#include <stdlib.h>

/* Room for one more element after n; NULL without memory, then the old array stays valid. */
static inline void *vec_grown(void *array, size_t n, size_t size)
{
	/* Full at a power of two: double it. */
	return n & (n - 1) ? array : reallocarray(array, n ? 2 * n : 1, size);
}

/* A new last element, all 0, for which n is raised; NULL without memory. */
#define VEC_ADD(array, n)                                                                          \
	({                                                                                         \
		__typeof__(array) vec_more = vec_grown((array), (n), sizeof(*(array)));            \
		if (vec_more) {                                                                    \
			(array) = vec_more;                                                        \
			vec_more += (n)++;                                                         \
			*vec_more = (__typeof__(*(array))) { 0 };                                  \
		}                                                                                  \
		vec_more;                                                                          \
	})

#endif
