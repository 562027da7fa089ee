/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of small calls. */
#include "work/rxperf/rx_calls.h"

#include "rx/stats.h"
#include "store/rx.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#define FILES     1 /* services */
#define LOCATIONS 52

/* FetchStatus: what is known of a file, 21 numbers, and more that may change. */
static const struct rx_small_call calls[] = {
	{ "GetTime", FILES, 7000, 153, true, false, 0, 8 },
	{ "GetCapabilities", FILES, 7000, 65540, true, false, 0, 4 },
	{ "FetchStatus", FILES, 7000, 132, true, true, 0, 84 },
	{ "VL_Probe", LOCATIONS, 7003, 514, false, false, 0, 0 },
	{ "rxdebug", 0, 7000, RX_STATS_BASIC, false, false, STORE_RX_ASK, 28 },
	{ "version", 0, 7000, 0, false, false, STORE_RX_ASK_VERSION, RX_VERSION_LEN },
};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

int rx_small_call_find(const struct rx_small_call **out, const char *name, struct err *e)
{
	char all[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < N_CALLS; i++) {
		if (!strcasecmp(calls[i].name, name)) {
			*out = &calls[i];
			return 0;
		}
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
					calls[i].name);
	}
	return err_set(e, -ENOENT, "there is no call '%s': %s", name, all);
}

void rx_small_call_put(struct wbuf *b, const struct rx_small_call *c, uint32_t volume)
{
	if (c->apart == STORE_RX_ASK_VERSION)
		return; /* nothing but its packet's type */
	wbuf_u32(b, c->opcode);
	if (c->apart)
		wbuf_u32(b, 0);
	if (!c->of_volume)
		return;
	/* a volume's root directory has the numbers 1 and 1 */
	wbuf_u32(b, volume);
	wbuf_u32(b, 1);
	wbuf_u32(b, 1);
}
