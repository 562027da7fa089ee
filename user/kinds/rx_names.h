/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_RX_NAMES_H
#define KINDS_RX_NAMES_H

/*
 * Operations of services over Rx by account (bpf/services.h), and their results. Operations have
 * the names that the file server's own statistics have, else those that Wireshark shows.
 */

#include "run/account.h"

#include <stdint.h>

extern const struct account_names rx_accounts;

/* What a call's code means; NULL: no name. */
const char *rx_result(int32_t code);

#endif
