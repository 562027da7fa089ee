/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_RX_SERVE_H
#define DRIVE_RX_SERVE_H

/* The server's half of afpscope rx. */

#include "app/cmd.h"

extern const struct opt rx_serve_options[];

/* Whether --serve is among the options. */
bool rx_serve_is_asked(int argc, char **argv);
int cmd_rx_serve(int argc, char **argv);

#endif
