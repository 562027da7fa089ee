/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_CONNECT_H
#define DRIVE_CONNECT_H

/* Options that name a server, and the way from them to an open volume. */

#include "afp/afp.h"
#include "app/cmd.h"
#include "base/opt.h"
#include "dsi/sources.h"
#include "uam/uam.h"

struct connect_cfg {
	const char *host, *user, *password, *password_file, *volume, *uam;
	unsigned int port, timeout_s;
	int version; /* 3..7: AFP 3.0 to 3.4; 0: the highest that both sides have */
	struct sources sources;
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
	struct dsi_marks *marks; /* where its session is marked; NULL: nowhere */
	const char *run;         /* for afp_login; NULL: nobody ends its session */
};

#define CONNECT_PASSWORD_MAX 258 /* 256 bytes, the end of a line, NUL */

#define CONNECT_PORT         548
#define CONNECT_TIMEOUT_S    60

#define CONNECT_DEFAULTS                                                                           \
	{                                                                                          \
		.host = "localhost", .port = CONNECT_PORT, .timeout_s = CONNECT_TIMEOUT_S          \
	}

/* clang-format off */
/* Rows for a table of options over a struct that has the connect_cfg as member "member". */
#define CONNECT_OPTIONS(cfg_type, member)                                                           \
	{ .type = OPT_HEADING, .help = "Server:" },                                                 \
	{ .letter = 'h', .name = "host", .arg = "HOST", .type = OPT_STRING,                         \
	  .offset = offsetof(cfg_type, member.host),                                                \
	  .help = "server's name or address (default: localhost)" },                                \
	{ .letter = 'p', .name = "port", .arg = "PORT", .type = OPT_UINT,                           \
	  .offset = offsetof(cfg_type, member.port),                                                \
	  .min = 1, .max = 65535,                                                                   \
	  .help = "its TCP port (default: " OPT_TEXT(CONNECT_PORT) ")" },                                                  \
	{ .name = "source", .arg = "ADDRESS[,...]", .type = OPT_CALL, .call = sources_parse,        \
	  .offset = offsetof(cfg_type, member.sources),                                             \
	  .help = "this host's address that connections begin at; of several, in turn",             \
	  .more = "One address has at most as many connections to one server as "                   \
		  "net.ipv4.ip_local_port_range has ports, 28,232 by default: more clients need "   \
		  "several." },                                                                     \
	{ .letter = 's', .name = "volume", .arg = "VOLUME", .type = OPT_STRING,                     \
	  .offset = offsetof(cfg_type, member.volume),                                              \
	  .help = "AFP volume, by the name that clients see" },                                     \
	{ .letter = 'u', .name = "user", .arg = "USER", .type = OPT_STRING,                         \
	  .offset = offsetof(cfg_type, member.user),                                                \
	  .help = "user (default: you)",                                                            \
	  .more = "Where the server refuses a name with %XX in it, what that stands for in a URL "  \
		  "is tried, too." },                                                               \
	{ .letter = 'w', .name = "password", .arg = "PASSWORD", .type = OPT_STRING,                 \
	  .job = OPT_JOB_NEVER,                                                                     \
	  .offset = offsetof(cfg_type, member.password),                                            \
	  .help = "password; everybody sees it in ps: better --password-file, AFPSCOPE_PASSWORD "   \
		  "or the prompt",                                                                  \
	  .more = "It can be seen there for a moment: then it is overwritten." },                   \
	{ .name = "password-file", .arg = "FILE", .type = OPT_STRING,                               \
	  .offset = offsetof(cfg_type, member.password_file),                                       \
	  .help = "first line of FILE is the password",                                             \
	  .more = "However it was given, the password is overwritten in the arguments, the "        \
		  "environment and the memory of this program, and kept in a pipe in case a new "   \
		  "session has to clean up." },                                                     \
	{ .letter = 'A', .name = "uam", .arg = "METHOD", .type = OPT_STRING,                        \
	  .offset = offsetof(cfg_type, member.uam),                                                 \
	  .help = "login method: " UAM_NAMES " (default: the strongest that both sides have)",      \
	  .more = "The first is the strongest. Kerberos, which needs the user's ticket (kinit) and "  \
		  "no password, and clear text, which everybody on the way can read, are used "     \
		  "only where they are asked for. Also understood: clrtxt, DHCAST128, DHX2. "       \
		  "-v and run.json say what was used." },                                           \
	{ .name = "timeout", .arg = "SECONDS", .type = OPT_SECONDS,                                 \
	  .offset = offsetof(cfg_type, member.timeout_s),                                           \
	  .min = 1, .max = 86400,                                                                   \
	  .help = "give up when a request makes no progress for this long (default: " OPT_TEXT(CONNECT_TIMEOUT_S) ")",           \
	  .more = "That is: nothing of it is sent, and nothing of its answer arrives. Tickles "     \
		  "and answers to other requests do not count. The session is lost then (exit "     \
		  "code 6)." },                                                                     \
	{ .letter = '3', .type = OPT_VALUE, .offset = offsetof(cfg_type, member.version), .value = 3, \
	  .help = "AFP 3.0" },                                                                      \
	{ .letter = '4', .type = OPT_VALUE, .offset = offsetof(cfg_type, member.version), .value = 4, \
	  .help = "AFP 3.1" },                                                                      \
	{ .letter = '5', .type = OPT_VALUE, .offset = offsetof(cfg_type, member.version), .value = 5, \
	  .help = "AFP 3.2" },                                                                      \
	{ .letter = '6', .type = OPT_VALUE, .offset = offsetof(cfg_type, member.version), .value = 6, \
	  .help = "AFP 3.3" },                                                                      \
	{ .letter = '7', .type = OPT_VALUE, .offset = offsetof(cfg_type, member.version), .value = 7, \
	  .help = "AFP 3.4",                                                                        \
	  .more = "Without one of these the highest version that both sides have is spoken." }
/* clang-format on */

/*
 * Parses afp://user@host:port/Volume (each part but the host may be missing; %XX is decoded);
 * its parts replace those of the options. -EINVAL with a text.
 */
int connect_url(struct connect_cfg *c, const char *url, struct err *e);

/* What the options say of a server, taken together; asks nobody. -EINVAL with a text. */
int connect_check(const struct connect_cfg *c, struct err *e);

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
 * The same for a place: where it has a login, stores that are opened from now on have the password,
 * which is asked for as above. 0, or a negative errno with a text.
 */
int connect_place(const struct connect_cfg *c, const char *place, struct err *e);

/*
 * Our end of the connection of an AFP store, as a run has it: out has room for RUN_ADDRESS_LEN
 * bytes; "" for NULL and other stores.
 */
struct store;
void connect_address(struct store *s, char *out);
void connect_session_address(const struct afp *session, char *out); /* the same */

/* The password in out, or NULL: there is no password. Wipe out after use. */
const char *connect_password(const struct connect_cfg *c, char out[static CONNECT_PASSWORD_MAX]);

/*
 * Logs in and opens the volume. OUTCOME_OK, or what happened with the text in e; *stage is
 * how far it got.
 */
enum outcome connect_open(struct afp *out, struct afp_server *server, const struct connect_cfg *c,
			  unsigned int window, enum afp_stage *stage, struct err *e);

#endif
