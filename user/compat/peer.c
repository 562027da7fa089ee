/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exit codes of afp_lantest and afp_speedtest 4.5 and of gfapi_perf_tool, by what happened. Those
 * of afpscope: docs/exit-codes.md. */
#include "compat/peer.h"

#include <libgen.h>
#include <string.h>

enum peer_exit {
	PEER_USAGE = 1,
	PEER_CONNECT = 2,
	PEER_NAMES = 3, /* create, delete, stat */
	PEER_FORKS = 4, /* open, parameters of a fork */
	PEER_DATA = 5,  /* read, write, lock, close, enumerate */
	PEER_PROGRAM = 7,
	PEER_RANGE = 8,
	PEER_VOLUME = 9,
	PEER_LOGIN = 10,
	PEER_UNTRUSTED = 11, /* ours: netatalk's tools have no cross-checks */
};

bool peer_name(const char *argv0, const char *name)
{
	const char *slash = strrchr(argv0, '/');

	return !strcmp(slash ? slash + 1 : argv0, name);
}

static int refused_code(uint8_t command)
{
	switch (command) {
	case AFP_CreateFile:
	case AFP_CreateDir:
	case AFP_Delete:
	case AFP_GetFileDirParms:
	case AFP_GetVolParms:
		return PEER_NAMES;
	case AFP_OpenFork:
	case AFP_GetForkParms:
		return PEER_FORKS;
	default:
		return PEER_DATA;
	}
}

static int session_code(enum afp_stage stage)
{
	switch (stage) {
	case AFP_STAGE_LOGIN:
		return PEER_LOGIN;
	case AFP_STAGE_VOLUME:
		return PEER_VOLUME;
	default:
		return PEER_CONNECT;
	}
}

int peer_exit_code(enum outcome o, enum afp_stage stage, uint8_t refused, bool range)
{
	switch (o) {
	case OUTCOME_OK:
		return 0;
	case OUTCOME_USAGE:
		return range ? PEER_RANGE : PEER_USAGE;
	case OUTCOME_REFUSED:
		return refused_code(refused);
	case OUTCOME_NO_SESSION:
		return session_code(stage);
	case OUTCOME_LOST:
		return PEER_DATA;
	case OUTCOME_UNTRUSTED:
		return PEER_UNTRUSTED;
	case OUTCOME_INTERRUPTED:
		return OUTCOME_INTERRUPTED;
	case OUTCOME_FAILED:
	case OUTCOME_SLOW: /* not of netatalk's tools */
	case OUTCOME_UNSURE:
		break;
	}
	return PEER_PROGRAM;
}

int peer_speedtest_exit_code(enum outcome o)
{
	switch (o) {
	case OUTCOME_OK:
		return 0;
	case OUTCOME_NO_SESSION:
		return 2; /* "not tested" */
	case OUTCOME_UNTRUSTED:
		return PEER_UNTRUSTED;
	case OUTCOME_INTERRUPTED:
		return OUTCOME_INTERRUPTED;
	default:
		return 1;
	}
}

int peer_plain_exit_code(enum outcome o)
{
	if (o == OUTCOME_OK || o == OUTCOME_INTERRUPTED)
		return (int)o;
	return 1;
}
