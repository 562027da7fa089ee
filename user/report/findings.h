/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

/*
 * What stands out in the server's time: a sentence for each cause that takes an unusual share of
 * what requests took, with the number that shows it, and one on stalls. Derived from the ledger of
 * all complete phases; nothing is found where requests were not counted, nor in a run of transfers,
 * which has verdicts (report/verdict.h).
 */

#include "report/view.h"

/*
 * Requests that took about this long, or longer, are stalls: a person notices. These are counted in
 * the histogram's buckets that begin here or later, the first at 100.7 ms.
 */
#define FINDINGS_STALL_NS 100000000u

/*
 * Adds to out, which starts zeroed and is freed with run_notes_fini: stalls first, then causes,
 * the largest share first. Keys are for scripts. 0 or -ENOMEM.
 */
int findings_of(struct run_notes *out, const struct view *v);

#endif
