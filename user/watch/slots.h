/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_SLOTS_H
#define WATCH_SLOTS_H

/*
 * Gives the slots of processes and threads that have ended back to the programs, so that a watch
 * can go on for any number of them. What they counted stays in the view's sums.
 */

#include "watch/bpf_view.h"

struct slots;

/* Takes over what only the slot of an ended process knows; it is cleared afterwards. 0 or -ENOMEM.
 */
typedef int slots_end(void *arg, uint32_t process);

struct slots *slots_new(void); /* NULL: no memory */
void slots_free(struct slots *s);

/*
 * Takes over who has ended since the last call: "end" is called for each such process. 0 or what
 * "end" returned.
 */
int slots_collect(struct slots *s, struct bpf_view *v, slots_end *end, void *arg);

/*
 * Frees the slots of those that were collected. To be called some time after slots_collect: what
 * is still going on in one of its threads shall have ended. 0 or a negative errno.
 */
int slots_release(struct slots *s, struct bpf_view *v, struct bpf_load *l);

#endif
