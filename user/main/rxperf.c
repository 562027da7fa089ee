/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rxperf as a program of its own, with the few parts of this one that it needs: hundreds of them
 * are begun at once, and what afpscope loads to watch servers would cost more than the calls.
 */
#include "drive/rxperf.h"
#include "app/cmd.h"

int main(int argc, char **argv)
{
	cmd_hold_standard();
	signal(SIGXFSZ, SIG_IGN);
	return cmd_end(cmd_rxperf_tool(argc, argv), OUTCOME_FAILED);
}
