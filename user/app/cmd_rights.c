/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of app/cmd.h what needs a run: small programs that have none are linked without it. */
#include "app/cmd.h"

#include "run/run.h"

void cmd_note_rights(int dropped, struct run_notes *warnings)
{
	static const char text[] = "could not drop root privileges; running with them until exit";

	if (dropped && warnings)
		run_note(warnings, "rights", "%s", text);
	else if (dropped)
		cmd_say("%s", text);
}
