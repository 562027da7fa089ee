/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/about.h"

const struct report_about *report_about(const struct run *r)
{
	static const struct report_about *const abouts[] = {
#define X(NAME, name) &report_about_##name,
		RUN_ABOUTS(X)
#undef X
	};

	return abouts[r->about];
}
