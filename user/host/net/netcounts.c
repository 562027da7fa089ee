/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/PID/net/snmp, snmp6, sockstat, sockstat6. */
#include "host/net/netcounts.h"

#include "base/file.h"
#include "host/proc/proctext.h"

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

/* A datagram that is given up is counted as failed and, by most kernels, as too late as well. */
static void read_fragments(struct netcounts *out, const char *root, pid_t pid)
{
	uint64_t failed = 0, inuse = 0;
	char text[TEXT_MAX];

	out->has_fragments = net_text(text, root, pid, "snmp") &&
			     word_below(&out->given_up, text, "Ip: ", "ReasmFails") &&
			     net_text(text, root, pid, "sockstat") &&
			     proctext_number(&out->waiting, text, "FRAG: inuse");
	if (net_text(text, root, pid, "snmp6") && proctext_number(&failed, text, "Ip6ReasmFails"))
		out->given_up += failed;
	if (net_text(text, root, pid, "sockstat6") && proctext_number(&inuse, text, "FRAG6: inuse"))
		out->waiting += inuse;
}

void netcounts_read(struct netcounts *out, const char *root, pid_t pid)
{
	char text[TEXT_MAX];

	*out = (struct netcounts) { 0 };
	out->has_tcp = net_text(text, root, pid, "snmp") &&
		       word_below(&out->segments, text, "Tcp: ", "OutSegs") &&
		       word_below(&out->retransmitted, text, "Tcp: ", "RetransSegs");
	read_fragments(out, root, pid);
}
