/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope rx: rxperf's calls, as client or as server. */
#include "drive/rx_serve.h"
#include "drive/rxperf.h"

int cmd_rx(int argc, char **argv)
{
	return rx_serve_is_asked(argc, argv) ? cmd_rx_serve(argc, argv) : cmd_rxperf(argc, argv);
}
