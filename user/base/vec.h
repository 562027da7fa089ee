/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_VEC_H
#define BASE_VEC_H

/* Arrays that grow: a pointer, and how many elements it has. */

#include <errno.h>
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

/* The same with a value: 0 or -ENOMEM. */
#define VEC_PUSH(array, n, ...)                                                                    \
	({                                                                                         \
		__typeof__(array) vec_new = VEC_ADD(array, n);                                     \
		if (vec_new)                                                                       \
			*vec_new = (__VA_ARGS__);                                                  \
		vec_new ? 0 : -ENOMEM;                                                             \
	})

/* The first element, called "one" in the condition, for which that is true; NULL: none. */
#define VEC_FIND(one, array, n, condition)                                                         \
	({                                                                                         \
		__typeof__(&*(array)) vec_found = NULL;                                            \
		for (size_t vec_i = 0; vec_i < (n) && !vec_found; vec_i++) {                       \
			__typeof__(&*(array)) one = &(array)[vec_i];                               \
			if (condition)                                                             \
				vec_found = one;                                                   \
		}                                                                                  \
		vec_found;                                                                         \
	})

#endif
