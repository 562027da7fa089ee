/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_CONNECT_H
#define DRIVE_CONNECT_H

/* Options that name a server, and the way from them to an open volume. */

#include "afp/afp.h"
#include "app/cmd.h"
#include "base/opt.h"

struct connect_cfg {
	const char *host, *user, *password, *password_file, *volume, *uam;
	unsigned int port, timeout_s;
	int version;   /* 3..7: AFP 3.0 to 3.4 */
	char url[600]; /* what the pointers above point into when a URL was given */
	char me[256];  /* the user who runs this */
	/*
	 * The password, once connect_complete() has it: in a pipe, outside this program's memory,
	 * which others may see in a core dump or a swap file. A new session may need it to clean
	 * up.
	 */
	bool has_password;
	size_t password_len;
	int pipe[2];
};

#define CONNECT_PASSWORD_MAX 258 /* 256 bytes, the end of a line, NUL */

#define CONNECT_DEFAULTS                                                                           \
	{                                                                                          \
		.host = "localhost", .port = 548, .timeout_s = 60, .version = 7                    \
	}

/* clang-format off */
/* Rows for a table of options over a struct that has the connect_cfg as member "member". */
#define CONNECT_OPTIONS(cfg_type, member)                                                            \
	{ .type = OPT_HEADING, .help = "Server:" },                                              \
	{ 'h', "host", "HOST", OPT_STRING, offsetof(cfg_type, member.host),                          \
	  "server's name or address (default: localhost)", 0, 0, 0, NULL, NULL },                \
	{ 'p', "port", "PORT", OPT_UINT, offsetof(cfg_type, member.port),                            \
	  "its TCP port (default: 548)", 1, 65535, 0, NULL, NULL },                              \
	{ 's', "volume", "VOLUME", OPT_STRING, offsetof(cfg_type, member.volume),                    \
	  "AFP volume, by the name that clients see", 0, 0, 0, NULL, NULL },                     \
	{ 'u', "user", "USER", OPT_STRING, offsetof(cfg_type, member.user),                          \
	  "user (default: you)", 0, 0, 0, NULL, NULL },                                          \
	{ 'w', "password", "PASSWORD", OPT_STRING, offsetof(cfg_type, member.password),              \
	  "password; everybody sees it in ps: better --password-file, AFPSCOPE_PASSWORD or the prompt", \
	  0, 0, 0, NULL, NULL },                                                                 \
	{ 0, "password-file", "FILE", OPT_STRING, offsetof(cfg_type, member.password_file),          \
	  "first line of FILE is the password", 0, 0, 0, NULL, NULL },                           \
	{ 0, "uam", "METHOD", OPT_STRING, offsetof(cfg_type, member.uam),                            \
	  "login method: dhx2, cleartext or guest (default: the best that both sides have)",     \
	  0, 0, 0, NULL, NULL },                                                                 \
	{ 0, "timeout", "SECONDS", OPT_UINT, offsetof(cfg_type, member.timeout_s),                   \
	  "give up when a request makes no progress for this long (default: 60)", 1, 86400, 0,   \
	  NULL, NULL },                                                                          \
	{ '3', NULL, NULL, OPT_VALUE, offsetof(cfg_type, member.version), "AFP 3.0", 0, 0, 3, NULL, NULL }, \
	{ '4', NULL, NULL, OPT_VALUE, offsetof(cfg_type, member.version), "AFP 3.1", 0, 0, 4, NULL, NULL }, \
	{ '5', NULL, NULL, OPT_VALUE, offsetof(cfg_type, member.version), "AFP 3.2", 0, 0, 5, NULL, NULL }, \
	{ '6', NULL, NULL, OPT_VALUE, offsetof(cfg_type, member.version), "AFP 3.3", 0, 0, 6, NULL, NULL }, \
	{ '7', NULL, NULL, OPT_VALUE, offsetof(cfg_type, member.version), "AFP 3.4 (default)", 0, 0, 7, NULL, NULL }
/* clang-format on */

/*
 * Parses afp://user@host:port/Volume (each part but the host may be missing; %XX is decoded);
 * its parts replace those of the options. -EINVAL with a text.
 */
int connect_url(struct connect_cfg *c, const char *url, struct err *e);

/*
 * What follows the options: nothing, or one URL, whose password is overwritten there
 * (ps shows it to everybody). -EINVAL with a text.
 */
int connect_operands(struct connect_cfg *c, int n, char **operand, struct err *e);

/*
 * Completes volume, user and password, which it asks for on a terminal. The password is
 * overwritten wherever it was: on the command line, in the environment. -EINVAL.
 */
int connect_complete(struct connect_cfg *c, struct err *e);

/*
 * Our end of the connection of an AFP store, as a run has it: out has room for RUN_ADDRESS_LEN
 * bytes; "" for NULL and other stores.
 */
struct store;
void connect_address(struct store *s, char *out);

/* The password in out, or NULL: there is no password. Wipe out after use. */
const char *connect_password(const struct connect_cfg *c, char out[static CONNECT_PASSWORD_MAX]);

/*
 * Logs in and opens the volume. OUTCOME_OK, or what happened with the text in e; *stage is
 * how far it got.
 */
enum outcome connect_open(struct afp *out, struct afp_server *server, const struct connect_cfg *c,
			  unsigned int window, enum afp_stage *stage, struct err *e);

#endif
