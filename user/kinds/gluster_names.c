/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/gluster_names.h"

#include "bpf/programs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	static const struct {
		const char *name;
		unsigned int first, n;
	} programs[] = {
#define X(NAME, number, first, n, status) { #NAME, first, n },
		AFS_RPC_PROGRAMS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (number - programs[i].first >= programs[i].n)
			continue;
		snprintf(buf, ACCOUNT_NAME_MAX, "%s procedure %u", programs[i].name,
			 number - programs[i].first);
		return;
	}
	snprintf(buf, ACCOUNT_NAME_MAX, "account %u", number);
}

/* What a client looks up before it makes it; attributes that a file does not have. */
static const struct account_normal normal[] = {
	{ AFS_RPC_FOP + 27, ENOENT },  /* LOOKUP */
	{ AFS_RPC_FOP + 18, ENODATA }, /* GETXATTR */
	{ AFS_RPC_FOP + 35, ENODATA }, /* FGETXATTR */
};

/* clang-format off */
const struct account_names gluster_accounts = {
	.unnamed = unnamed,
	.normal = normal,
	.n_normal = sizeof(normal) / sizeof(normal[0]),
	.name = {
		"NULL", "STAT", "READLINK", "MKNOD", "MKDIR", "UNLINK", "RMDIR", "SYMLINK",
		"RENAME", "LINK", "TRUNCATE", "OPEN", "READ", "WRITE", "STATFS", "FLUSH", "FSYNC",
		"SETXATTR", "GETXATTR", "REMOVEXATTR", "OPENDIR", "FSYNCDIR", "ACCESS", "CREATE",
		"FTRUNCATE", "FSTAT", "LK", "LOOKUP", "READDIR", "INODELK", "FINODELK", "ENTRYLK",
		"FENTRYLK", "XATTROP", "FXATTROP", "FGETXATTR", "FSETXATTR", "RCHECKSUM",
		"SETATTR", "FSETATTR", "READDIRP", "RELEASE", "RELEASEDIR", "FREMOVEXATTR",
		"FALLOCATE", "DISCARD", "ZEROFILL", "IPC", "SEEK",
		[56] = "COPY_FILE_RANGE", [63] = "other file operations",
		[AFS_RPC_HANDSHAKE] = "HANDSHAKE NULL", "SETVOLUME", "GETSPEC", "PING",
		"LOCK VERSION", "EVENTNOTIFY", "GETVOLUMEINFO", "other HANDSHAKE",
		[AFS_RPC_PORTMAP] = "PORTMAP NULL", "PORTBYBRICK", "BRICKBYPORT", "SIGNUP",
		"SIGNIN", "SIGNOUT", [AFS_RPC_PORTMAP + 7] = "other PORTMAP",
		[AFS_RPC_DUMP] = "DUMP NULL", "DUMP", "DUMP PING", "other DUMP",
		[AFS_RPC_CALLBACK] = "CALLBACK", [AFS_RPC_CLI] = "CLI",
		[AFS_RPC_MANAGE] = "MANAGEMENT", [AFS_RPC_FRIEND] = "FRIEND",
		[AFS_RPC_BRICK_OP] = "BRICK OPERATION", [AFS_RPC_OTHER] = "other programs",
		[AFS_ACCOUNT_BETWEEN] = "between requests",
		[AFS_ACCOUNT_THREADS] = "all threads but the first",
		[AFS_ACCOUNT_NONE] = "first threads", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

const char *gluster_result(int32_t code)
{
	static const char *const accepted[] = {
		"",
		"program unavailable",
		"program version unavailable",
		"procedure unavailable",
		"arguments cannot be decoded",
		"system error",
	};

	if (code > 0)
		return strerrordesc_np(code);
	if (code == AFS_RPC_DENIED(0))
		return "RPC version unavailable";
	if (code == AFS_RPC_DENIED(1))
		return "authentication error";
	if (code < 0 && -code < (int32_t)(sizeof(accepted) / sizeof(accepted[0])))
		return accepted[-code];
	return NULL;
}
