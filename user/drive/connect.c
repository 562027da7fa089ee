/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who and where: URL, user, password, login. The same for every command that loads a server. */
#include "drive/connect.h"

#include "afp/spelling.h"
#include "host/net/sockets.h"
#include "host/usernames.h"
#include "run/load.h"
#include "store/store.h"
#include "uam/uam.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

/* Decodes %XX in place. */
static int connect_decode(char *text, struct err *e)
{
	char *to = text, hex[3] = "";

	for (const char *p = text; *p; p++) {
		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		if (!isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
			return err_set(e, -EINVAL,
				       "'%.3s' in the URL: %% must be followed by two hex digits",
				       p);
		hex[0] = p[1];
		hex[1] = p[2];
		*to = (char)strtoul(hex, NULL, 16);
		if (!*to++)
			return err_set(e, -EINVAL, "%%00 in the URL: a name cannot contain a NUL");
		p += 2;
	}
	*to = '\0';
	return 0;
}

/* user[:password]@ in front of the host; returns the host. */
static char *split_user(struct connect_cfg *c, char *authority)
{
	char *at = strrchr(authority, '@'), *colon;

	if (!at)
		return authority;
	*at = '\0';
	colon = strchr(authority, ':');
	if (colon) {
		*colon = '\0';
		c->password = colon + 1;
	}
	c->user = authority;
	return at + 1;
}

static int split_port(struct connect_cfg *c, char *host, struct err *e)
{
	char *end = host + (*host == '[' ? strcspn(host, "]") : 0);
	char *colon = strchr(end, ':'), *rest;
	unsigned long port;

	/* Several colons: an address of IPv6, as which port is not clear. */
	if (*host != '[' && colon && strchr(colon + 1, ':'))
		return err_set(e, -EINVAL,
			       "'%s' has several colons: write an IPv6 address in brackets, as in "
			       "afp://user@[::1]:548/Volume",
			       host);
	if (*host == '[' && (*end != ']' || (end[1] && end[1] != ':')))
		return err_set(e, -EINVAL, "host '%s' is not closed by ']'", host);
	if (colon) {
		*colon = '\0';
		port = strtoul(colon + 1, &rest, 10);
		if (*rest || !isdigit((unsigned char)colon[1]) || port < 1 || port > 65535)
			return err_set(e, -EINVAL, "port '%s' is not in 1..65535", colon + 1);
		c->port = (unsigned int)port;
	}
	if (*host == '[') {
		host++;
		host[strcspn(host, "]")] = '\0';
		/* "%eth0", the interface of a link's address, is "%25eth0" in a URL. */
		colon = strstr(host, "%25");
		if (colon && colon[3])
			memmove(colon + 1, colon + 3, strlen(colon + 3) + 1);
	}
	if (!*host)
		return err_set(e, -EINVAL, "no host in the URL; give it as afp://user@host/Volume");
	c->host = host;
	return 0;
}

int connect_url(struct connect_cfg *c, const char *url, struct err *e)
{
	char *authority, *slash;
	int r;

	if (strncasecmp(url, "afp://", 6))
		return err_set(e, -EINVAL,
			       "'%s' is not a server; give it as afp://user@host:548/Volume", url);
	if (strlen(url) >= sizeof(c->url))
		return err_set(e, -EINVAL, "the URL is longer than %zu bytes", sizeof(c->url) - 1);
	authority = strcpy(c->url, url + 6);
	slash = strchr(authority, '/');
	if (slash) {
		*slash = '\0';
		if (slash[1])
			c->volume = slash + 1;
	}
	r = split_port(c, split_user(c, authority), e);
	if (!r && c->volume)
		r = slash ? connect_decode(slash + 1, e) : 0;
	if (!r && c->user == authority)
		r = connect_decode(authority, e);
	if (!r && c->password && c->password > c->url && c->password < c->url + sizeof(c->url))
		r = connect_decode((char *)(uintptr_t)c->password, e);
	return r;
}

/* Overwrites the password in a URL of the command line, where ps shows it to everybody. */
static void hide_in_url(char *url)
{
	size_t len = strlen(url) > 6 ? 6 + strcspn(url + 6, "/") : 0;
	char *at = memrchr(url, '@', len), *colon = len ? memchr(url + 6, ':', len - 6) : NULL;

	if (at && colon && colon < at)
		memset(colon + 1, 'x', (size_t)(at - colon - 1));
}

int connect_operands(struct connect_cfg *c, int n, char **operand, struct err *e)
{
	int r;

	if (n > 1)
		return err_set(e, -EINVAL, "only one server can be given, but there is also '%s'",
			       operand[1]);
	if (n < 1)
		return 0;
	r = connect_url(c, operand[0], e);
	hide_in_url(operand[0]);
	return r;
}

/* The first line of a stream, without its end; no buffer of the stream holds it afterwards. */
static bool read_password(char out[static CONNECT_PASSWORD_MAX], FILE *f)
{
	setvbuf(f, NULL, _IONBF, 0);
	if (!fgets(out, CONNECT_PASSWORD_MAX, f))
		return false;
	out[strcspn(out, "\r\n")] = '\0';
	return true;
}

static int password_from_file(const struct connect_cfg *c, char *out, struct err *e)
{
	FILE *f = fopen(c->password_file, "re");
	bool ok = f && read_password(out, f), failed = !f || ferror(f);
	int why = errno;

	if (f)
		fclose(f);
	if (failed)
		return err_set(e, -EINVAL, "cannot read the password file %s: %s", c->password_file,
			       strerror(why));
	if (!ok)
		return err_set(e, -EINVAL, "the password file %s is empty", c->password_file);
	return 0;
}

static int password_from_terminal(const struct connect_cfg *c, char *out, struct err *e)
{
	struct termios old, quiet;
	FILE *tty = fopen("/dev/tty", "r+e");
	bool ok;

	if (!tty)
		return err_set(
		    e, -EINVAL,
		    "no password: give --password-file FILE, or set AFPSCOPE_PASSWORD (guest: --uam guest)");
	/* An interrupt here must still restore the terminal's echo. */
	cmd_catch_signals();
	fprintf(tty, "Password of %s on %s: ", c->user, c->host);
	fflush(tty);
	tcgetattr(fileno(tty), &old);
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(fileno(tty), TCSAFLUSH, &quiet);
	ok = read_password(out, tty);
	tcsetattr(fileno(tty), TCSAFLUSH, &old);
	fputc('\n', tty);
	fclose(tty);
	return ok ? 0 : err_set(e, -EINVAL, "no password was typed");
}

/* Out of argv or the environment, where ps shows it: overwritten there. */
static int take_password(char *out, char *seen, char fill, struct err *e)
{
	size_t len = strlen(seen);

	if (len >= CONNECT_PASSWORD_MAX)
		return err_set(e, -EINVAL, "the password is longer than %d bytes",
			       CONNECT_PASSWORD_MAX - 1);
	memcpy(out, seen, len + 1);
	memset(seen, fill, len);
	return 0;
}

static int find_password(const struct connect_cfg *c, char *out, struct err *e)
{
	char *set = getenv("AFPSCOPE_PASSWORD");

	if (c->password_file)
		return password_from_file(c, out, e);
	if (*out || c->password)
		return 0;
	return set ? take_password(out, set, '\0', e) : password_from_terminal(c, out, e);
}

static int keep_password(struct connect_cfg *c, const char *password, struct err *e)
{
	size_t len = strlen(password);

	if (pipe2(c->pipe, O_CLOEXEC))
		return err_set(e, -errno, "cannot keep the password: pipe: %s", strerror(errno));
	if (len && write(c->pipe[1], password, len) != (ssize_t)len)
		return err_set(e, -EIO, "cannot keep the password: the pipe takes no data");
	c->password_len = len;
	c->has_password = true;
	return 0;
}

void connect_address(struct store *s, char *out)
{
	connect_session_address(s ? store_afp_session(s) : NULL, out);
}

void connect_session_address(const struct afp *session, char *out)
{
	struct sockaddr_storage local, peer;
	struct sockets_addr at;

	*out = '\0';
	if (!session)
		return;
	dsi_ends(session->dsi, &local, &peer);
	if (sockets_addr(&at, &local))
		sockets_text(out, RUN_ADDRESS_LEN, &at);
}

const char *connect_password(const struct connect_cfg *c, char out[static CONNECT_PASSWORD_MAX])
{
	ssize_t len = (ssize_t)c->password_len;

	if (!c->has_password)
		return NULL;
	if (len && (read(c->pipe[0], out, (size_t)len) != len ||
		    write(c->pipe[1], out, (size_t)len) != len))
		return NULL;
	out[len] = '\0';
	return out;
}

int connect_check(const struct connect_cfg *c, struct err *e)
{
	if (!c->volume || !*c->volume)
		return err_set(e, -EINVAL, "which volume? give -s VOLUME or afp://host/VOLUME");
	if (strlen(c->volume) > AFP_NAME_MAX)
		return err_set(e, -EINVAL, "volume name of %zu bytes: at most %d are allowed",
			       strlen(c->volume), AFP_NAME_MAX);
	if (c->uam && !uam_find(c->uam))
		return err_set(e, -EINVAL, "--uam: '%s' is not one of " UAM_NAMES, c->uam);
	if (c->user && !*c->user && !(c->uam && !uam_find(c->uam)->needs_user))
		return err_set(e, -EINVAL, "which user? give -u USER");
	return 0;
}

static int complete_user(struct connect_cfg *c, struct err *e)
{
	struct usernames_own me;

	if (!c->user) {
		usernames_own(&me);
		memcpy(c->me, me.name, sizeof(c->me));
		c->user = c->me;
	}
	return *c->user ? 0 : err_set(e, -EINVAL, "which user? give -u USER");
}

int connect_complete(struct connect_cfg *c, struct err *e)
{
	const struct uam *u = c->uam ? uam_find(c->uam) : NULL;
	bool guest = u && !u->needs_user, no_password = u && !u->needs_password;
	char secret[CONNECT_PASSWORD_MAX] = "";
	int r = 0;

	if (c->password)
		r = take_password(secret, (char *)(uintptr_t)c->password, 'x', e);
	r = r ? r : sources_check(&c->sources, e);
	r = r ? r : connect_check(c, e);
	if (!r && !guest)
		r = complete_user(c, e);
	if (!r && !no_password)
		r = find_password(c, secret, e);
	if (!r && !no_password)
		r = keep_password(c, secret, e);
	c->password = NULL;
	explicit_bzero(secret, sizeof(secret));
	return r;
}

int connect_place(const struct connect_cfg *c, const char *place, struct err *e)
{
	char secret[CONNECT_PASSWORD_MAX] = "";
	struct store_place_login login;
	struct connect_cfg who = *c;
	int r = store_place_login(&login, place, e);

	if (r <= 0)
		return r;
	who.user = *login.user ? login.user : c->user;
	who.host = login.host;
	r = c->password ? take_password(secret, (char *)(uintptr_t)c->password, 'x', e) : 0;
	r = r ? r : complete_user(&who, e);
	r = r ? r : find_password(&who, secret, e);
	if (!r)
		store_keep_password(who.user, secret);
	explicit_bzero(secret, sizeof(secret));
	return r;
}

#define SECOND "dhx2"

/*
 * Whether to try DHX2 after a method that has no password of this user. Whoever forges that refusal
 * gains nothing: they could as well have taken the method from the server's list. A weaker method
 * than DHX2 is left to the user to ask for.
 */
static bool has_second(const struct afp_server *server, const struct connect_cfg *c)
{
	for (unsigned int i = 0; !c->uam && i < server->n_uams; i++)
		if (uam_find(server->uam[i]) == uam_find(SECOND))
			return true;
	return false;
}

/* Whether the login was refused for the user's name, or could not be tried with it. */
static bool user_refused(int r, enum afp_stage stage)
{
	return stage == AFP_STAGE_LOGIN && (r == -ENOKEY || r == -EACCES || r == -EINVAL ||
					    r == -ENAMETOOLONG || r == -ENOBUFS);
}

/*
 * A user is tried as given, and then, if there is %XX in the name, as what that stands for in a
 * URL. No list of users says which it is, and afpd ends a session whose login it refuses.
 */
static int connect_try(struct afp *out, struct afp_server *server, const struct connect_cfg *c,
		       const struct dsi_opts *opts, const struct afp_login *login,
		       enum afp_stage *stage, struct err *e)
{
	char decoded[SPELLING_MAX];
	int r;

	for (;;) {
		r = afp_open(out, opts, server, login, c->volume, stage, e);
		if (r == -ENOKEY && has_second(server, c)) {
			server->method = SECOND;
			r = afp_open(out, opts, server, login, c->volume, stage, e);
		}
		if (!user_refused(r, *stage) || server->decodes || !login->user ||
		    !spelling_decode(decoded, login->user))
			return r;
		server->method = NULL;
		server->decodes = true;
	}
}

enum outcome connect_open(struct afp *out, struct afp_server *server, const struct connect_cfg *c,
			  unsigned int window, enum afp_stage *stage, struct err *e)
{
	char port[8], secret[CONNECT_PASSWORD_MAX];
	const struct dsi_opts opts = { .host = c->host,
				       .port = port,
				       .window = window,
				       .timeout_ms = c->timeout_s * 1000,
				       .sources = &c->sources,
				       .stop = &cmd_stop,
				       .marks = c->marks };
	const struct afp_login login = { c->user, connect_password(c, secret), c->uam,
					 (unsigned int)c->version, c->run };
	int r;

	snprintf(port, sizeof(port), "%u", c->port);
	memset(out, 0, sizeof(*out));
	*stage = AFP_STAGE_CONNECT;
	r = afp_server_info(server, &opts, e);
	r = r ? r : connect_try(out, server, c, &opts, &login, stage, e);
	explicit_bzero(secret, sizeof(secret));
	if (!r)
		return OUTCOME_OK;
	if (cmd_stop)
		return OUTCOME_INTERRUPTED;
	return r == -ENOMEM ? OUTCOME_FAILED : OUTCOME_NO_SESSION;
}
