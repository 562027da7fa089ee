/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/PID/net/snmp, snmp6, sockstat, sockstat6; and /sys/class/net. */
#include "host/net/netcounts.h"

#include "base/file.h"
#include "host/proc/proctext.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 8192

static bool net_text(char out[TEXT_MAX], const char *root, pid_t pid, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/net/%s", root, pid, file);
	return file_text(out, TEXT_MAX, path) > 0;
}

/* The word under "name" in the two lines that begin with a protocol: "Tcp: ". */
static bool word_below(uint64_t *out, const char *text, const char *protocol, const char *name)
{
	const char *head = strstr(text, protocol), *value;
	size_t len = strlen(name);

	value = head ? strstr(head + 1, protocol) : NULL;
	while (head && value) {
		head += strcspn(head, " \n");
		value += strcspn(value, " \n");
		if (*head != ' ' || *value != ' ')
			return false;
		head++;
		value++;
		if (!strncmp(head, name, len) && strchr(" \n", head[len])) {
			*out = strtoull(value, NULL, 10);
			return true;
		}
	}
	return false;
}

void netcounts_read(struct netcounts *out, const char *root, pid_t pid)
{
	uint64_t failed = 0, inuse = 0;
	char text[TEXT_MAX];

	*out = (struct netcounts) { 0 };
	out->has_tcp = net_text(text, root, pid, "snmp") &&
		       word_below(&out->segments, text, "Tcp: ", "OutSegs") &&
		       word_below(&out->retransmitted, text, "Tcp: ", "RetransSegs");
	/* One that is given up is counted as failed and, by most kernels, as too late as well. */
	out->has_fragments = net_text(text, root, pid, "snmp") &&
			     word_below(&out->given_up, text, "Ip: ", "ReasmFails") &&
			     net_text(text, root, pid, "sockstat") &&
			     proctext_number(&out->waiting, text, "FRAG: inuse");
	if (net_text(text, root, pid, "snmp6") && proctext_number(&failed, text, "Ip6ReasmFails"))
		out->given_up += failed;
	if (net_text(text, root, pid, "sockstat6") && proctext_number(&inuse, text, "FRAG6: inuse"))
		out->waiting += inuse;
}

/* Interfaces */

/* false: there is none, or it is negative, as the speed of an interface that has none. */
static bool link_number(uint64_t *out, const char *folder, const char *file)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", folder, file) < (int)sizeof(path) &&
	       file_first_number(out, path);
}

static bool link_read(struct links_entry *out, const char *folder)
{
	const char *name = strrchr(folder, '/') + 1;

	*out = (struct links_entry) { 0 };
	if (strlen(name) >= sizeof(out->name))
		return false;
	strcpy(out->name, name);
	link_number(&out->speed_mbit, folder, "speed");
	return link_number(&out->received_b, folder, "statistics/rx_bytes") &&
	       link_number(&out->sent_b, folder, "statistics/tx_bytes");
}

void links_read(struct links *out, const char *root)
{
	char path[PATH_MAX];
	glob_t found;

	out->n = 0;
	snprintf(path, sizeof(path), "%s/sys/class/net/*/device", root);
	if (glob(path, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && out->n < LINKS_MAX; i++) {
		*strrchr(found.gl_pathv[i], '/') = '\0';
		out->n += link_read(&out->entry[out->n], found.gl_pathv[i]);
	}
	globfree(&found);
}
