/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_NOTABLE_H
#define DOCTOR_NOTABLE_H

/*
 * What stands out in the server's time, as sentences (doctor/rules/rules_time.c): what a screen
 * calls "Notable", and "findings" of run.json.
 */

#include "run/run.h"

/*
 * Adds to out, which starts zeroed and is freed with run_notes_fini; keys are for scripts. Nothing
 * of a run without figures, nor of transfers, which have verdicts (doctor/verdict.h). 0 or -ENOMEM.
 */
int doctor_notable(struct run_notes *out, const struct run *r);

#endif
