/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be wrong with what was watched, whatever kind of server it was taken for. */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "not-the-server", .name = "relay watched in place of the server", .kind = DOCTOR_FAILS,
		TESTS(LEAST(PASSED_ON, 0.5)), HARM(PASSED_ON, 0.5), UNSURE,
		EVIDENCE(F(PASSED_ON), F(REQUESTS)),
		.says = "what was watched may be a relay in front of the server: {passed_on.who}, and {passed_on} of what its clients sent went on through it",
		.todo = "if it is a relay, give the port of the server behind it",
		.disproof = "ls -l /proc/{pid}/exe shows the server's own program",
		.next = "ss -tulnp",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_way = { .of = OF(SESSIONS) | OF(BRICKS) | OF(CALLS) |
						     OF(SHARES) | OF(EXPORTS),
					       .n = sizeof(rules) / sizeof(rules[0]),
					       .rule = rules };
