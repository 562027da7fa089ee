/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens and ends a session, a step for each answer:
 *
 *	connect -> DSIOpenSession -> FPLogin, FPLoginCont ... -> FPGetSessionToken -> FPOpenVol ->
 *open refused -> FPGetSrvrParms -> why FPLogout -> DSICloseSession -> finished
 *
 * Nothing here waits but afp_open(), afp_open_other() and afp_close(), which drive the same steps.
 */
#include "afp/afp.h"
#include "afp/spelling.h"
#include "base/text.h"
#include "uam/uam.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* attributes and volume id, like the reference workloads */
#define VOLUME_BITMAP 0x0021

#define FIRST_UTF8    3 /* in the table: from here on names are UTF-8 */
#define LAST_VERSION  7
#define SLICE_NS      250000000u

#define OTHER_PASSWORD                                                                             \
	"; its passwords are not those of accounts (netatalk: afppasswd), which --uam dhx2 sends"
#define NO_ACCOUNT "; an account that is locked or has expired is refused in the same way"
#define AS_GIVEN   "; so was the name as it was given, with %XX"
#define OTHER_KEY  "; the server's keytab may not have the key of that service"

static const char *const versions[] = {
	[1] = "AFPVersion 2.1", [2] = "AFP2.2", [3] = "AFPX03", [4] = "AFP3.1",
	[5] = "AFP3.2",         [6] = "AFP3.3", [7] = "AFP3.4",
};

/* What is to be answered next. */
enum step {
	STEP_CONNECT,
	STEP_GREET,
	STEP_LOGIN,
	STEP_TOKEN, /* the session gets the run's name, which not every server takes */
	STEP_VOLUME,
	STEP_LIST, /* of volumes, for a message */
	STEP_LOGOUT,
};

struct afp_step {
	enum step at;
	const struct afp_server *server;
	const struct afp_login *login;
	const struct uam *method;
	struct uam_cred cred;
	struct uam_session *uam;
	const char *volume;
	uint16_t *id;                /* where its id goes */
	char spelling[SPELLING_MAX]; /* another of the volume, that is tried; "": none yet */
	char user[SPELLING_MAX];
	char service[AFP_SERVICE_MAX];
	bool volume_done;
	int32_t refused; /* why it was not opened */
	struct afp_op op;
	uint8_t reply[16384]; /* the longest: a list of volumes */
};

_Static_assert(2 * UAM_STEP_MAX <= 4096, "a login's reply has room");

/* ---- commands ---- */

static void open_begin(struct afp_step *s, struct wbuf *b, enum afp_command code)
{
	struct afp_op *op = &s->op;

	memset(op, 0, sizeof(*op));
	op->code = (uint8_t)code;
	op->dsi.command = DSI_COMMAND;
	op->dsi.reply = s->reply;
	op->dsi.reply_cap = sizeof(s->reply);
	*b = wbuf_of(op->dsi.wire + DSI_HEADER_LEN, DSI_COMMAND_MAX);
	wbuf_u8(b, op->code);
}

static int send_it(struct afp *a, const struct wbuf *b, struct err *e)
{
	struct afp_op *op = &a->step->op;

	if (b->bad)
		return err_set(e, -ENAMETOOLONG, "%s: longer than AFP allows", afp_op_name(op));
	op->dsi.len = (size_t)(b->at - (op->dsi.wire + DSI_HEADER_LEN));
	return afp_submit(a, op, e);
}

/* A name beyond ASCII needs FPLoginExt: FPLogin has it in the server's old character set. */
static int begin_login(struct afp *a, struct err *e)
{
	const char *offered[17] = { NULL };
	struct afp_step *s = a->step;
	struct uam_command command;
	struct wbuf b;
	bool ext;
	int r;

	a->stage = AFP_STAGE_LOGIN;
	s->at = STEP_LOGIN;
	s->cred = (struct uam_cred) { s->login->user, s->login->password, s->service };
	if (s->cred.user)
		s->cred.user = spelling_user(s->user, s->cred.user, s->server->decodes);
	for (unsigned int i = 0; i < s->server->n_uams; i++)
		offered[i] = s->server->uam[i];
	r = uam_choose(&s->method, offered, &s->cred,
		       s->login->uam ? s->login->uam : s->server->method, e);
	if (r)
		return r;
	a->uam = s->method->wire_name;
	ext = a->level >= FIRST_UTF8 && s->method->needs_user &&
	      (s->method->by_ticket || !spelling_is_ascii(s->cred.user));
	open_begin(s, &b, ext ? AFP_LoginExt : AFP_Login);
	if (ext)
		wbuf_zero(&b, 1 + 2); /* pad byte, flags */
	wbuf_pascal(&b, a->version);
	wbuf_pascal(&b, s->method->wire_name);
	command = (struct uam_command) { s->op.dsi.wire + DSI_HEADER_LEN, &b, ext };
	r = uam_start(&s->uam, s->method, &s->cred, &command, e);
	if (r && e && s->method->by_ticket)
		afp_add_principal(s->server, s->service, e->text);
	return r ? r : send_it(a, &b, e);
}

static int go_on_with_login(struct afp *a, struct err *e)
{
	struct afp_step *s = a->step;
	size_t len = s->op.dsi.reply_len;
	struct wbuf b;
	int r;

	open_begin(s, &b, AFP_LoginCont);
	wbuf_u8(&b, 0);
	r = uam_step(s->uam, s->reply, len, &b, e);
	s->op.dsi.data = uam_tail(s->uam, &s->op.dsi.data_len);
	return r > 0 ? send_it(a, &b, e) : r;
}

static int begin_volume(struct afp *a, const char *name, uint16_t *id, struct err *e)
{
	struct afp_step *s = a->step;
	struct wbuf b;

	s->at = STEP_VOLUME;
	if (name != s->spelling) {
		s->volume = name;
		s->spelling[0] = '\0';
	}
	s->id = id;
	s->volume_done = false;
	open_begin(s, &b, AFP_OpenVol);
	wbuf_u8(&b, 0);
	wbuf_u16(&b, VOLUME_BITMAP);
	wbuf_pascal(&b, name);
	if ((b.at - s->op.dsi.wire) % 2)
		wbuf_u8(&b, 0);
	return send_it(a, &b, e);
}

/* ---- the run's name ---- */

#define FIRST_NAMED 4 /* AFP 3.1 */
#define NAMED_TIMED 3 /* FPGetSessionToken: with a name and the time when the client began */
#define RUN_BEGAN   1

/* A session with the same name and another time has the server end those before it: for netatalk
 * and Apple's servers the client has been restarted. */
static void put_token(struct wbuf *b, const char *run, uint32_t began)
{
	size_t len = strlen(run);

	wbuf_u8(b, 0);
	wbuf_u16(b, NAMED_TIMED);
	wbuf_u32(b, (uint32_t)len);
	wbuf_u32(b, began);
	wbuf_bytes(b, run, len);
}

static int begin_token(struct afp *a, struct err *e)
{
	struct afp_step *s = a->step;
	struct wbuf b;

	if (!s->login->run || a->level < FIRST_NAMED)
		return begin_volume(a, s->volume, &a->volume, e);
	s->at = STEP_TOKEN;
	open_begin(s, &b, AFP_GetSessionToken);
	put_token(&b, s->login->run, RUN_BEGAN);
	return send_it(a, &b, e);
}

/* ---- answers ---- */

static int login_refused(const struct afp *a, int32_t result, struct err *e)
{
	const struct afp_step *s = a->step;
	const struct uam *u = s->method;

	/* at the first message nothing of the password was seen: the user is what is not known */
	bool no_user = u->own_passwords && s->op.code != AFP_LoginCont &&
		       (result == AFP_ERR_NOT_AUTHENTICATED || result == AFP_ERR_ACCESS_DENIED);
	bool is_user = result == AFP_ERR_WRONG_PROOF || result == AFP_ERR_PASSWORD_EXPIRED ||
		       result == AFP_ERR_PASSWORD_CHANGE;

	char decoded[SPELLING_MAX];
	bool encoded = s->login->user && spelling_decode(decoded, s->login->user);
	bool hint = encoded && !is_user && !s->server->decodes;

	return err_set(e,
		       no_user   ? -ENOKEY
		       : is_user ? -EKEYREJECTED
				 : -EACCES,
		       "login of %s by %s%s%s as %s refused: %s (AFP %d)%s%s%s%s",
		       s->cred.user && *s->cred.user ? s->cred.user : "guest", u->name,
		       u->by_ticket ? " for " : "", u->by_ticket ? s->service : "", a->version,
		       afp_result_text(result), result,
		       u->own_passwords                                           ? OTHER_PASSWORD
		       : u->by_ticket                                             ? OTHER_KEY
		       : result == AFP_ERR_NOT_AUTHENTICATED && u->needs_password ? NO_ACCOUNT
										  : "",
		       hint ? "; in a URL that is \"" : "", hint ? decoded : "",
		       hint                            ? "\", but here a name is sent as it is"
		       : encoded && s->server->decodes ? AS_GIVEN
						       : "");
}

static int login_answered(struct afp *a, struct err *e)
{
	struct afp_step *s = a->step;
	int32_t result = s->op.dsi.result;
	int r;

	explicit_bzero(s->op.dsi.wire, sizeof(s->op.dsi.wire)); /* may hold a password */
	if (result == AFP_ERR_CONTINUE)
		return go_on_with_login(a, e);
	if (result)
		return login_refused(a, result, e);
	a->logged_in = true; /* for the logout, whatever comes */
	r = uam_finish(s->uam, s->reply, s->op.dsi.reply_len, e);
	if (r)
		return r;
	uam_end(s->uam);
	s->uam = NULL;
	a->stage = AFP_STAGE_VOLUME;
	return begin_token(a, e);
}

static int volume_answered(struct afp *a, struct err *e)
{
	struct afp_step *s = a->step;
	struct rbuf in = rbuf_of(s->reply, s->op.dsi.reply_len);
	struct wbuf b;

	if (s->op.dsi.result) {
		if (!s->spelling[0])
			s->refused = s->op.dsi.result;
		s->at = STEP_LIST;
		open_begin(s, &b, AFP_GetSrvrParms);
		return send_it(a, &b, e);
	}
	rbuf_u16(&in); /* bitmap */
	rbuf_u16(&in); /* attributes */
	*s->id = rbuf_u16(&in);
	if (in.bad)
		return err_set(e, -EPROTO, "FPOpenVol: reply of %zu bytes", s->op.dsi.reply_len);
	s->volume_done = true;
	return 0;
}

/* The volumes that FPGetSrvrParms lists, one after another. */
struct volume_list {
	struct rbuf in;
	unsigned int left;
};

static struct volume_list volumes_begin(const struct afp_step *s)
{
	struct volume_list l = { .in = rbuf_of(s->reply, s->op.dsi.reply_len) };

	if (s->op.dsi.result)
		return l;
	rbuf_u32(&l.in); /* server's time */
	l.left = rbuf_u8(&l.in);
	return l;
}

static bool volumes_next(struct volume_list *l, char name[static AFP_NAME_MAX + 1])
{
	if (!l->left)
		return false;
	l->left--;
	rbuf_u8(&l->in); /* flags */
	afp_copy_pascal(name, AFP_NAME_MAX + 1, &l->in);
	return !l->in.bad;
}

static int no_volume(const struct afp_step *s, struct err *e)
{
	char list[ERR_TEXT_MAX / 2] = "", near[2 * SPELLING_MAX] = "", name[AFP_NAME_MAX + 1];
	struct volume_list l = volumes_begin(s);
	const char *how;
	size_t n = 0;

	while (volumes_next(&l, name)) {
		how = spelling_differs(s->volume, name);
		if (how && !*near)
			snprintf(near, sizeof(near), "; \"%s\" differs in %s only", name, how);
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s\"%s\"", n ? ", " : "",
					      name);
	}
	return err_set(e, -ENOENT, "cannot open volume \"%s\": %s (AFP %d)%s%s%s", s->volume,
		       afp_result_text(s->refused), s->refused, near,
		       *list ? "; the server offers " : "", list);
}

/* The volume may be in the list in another spelling: then that one is tried. */
static int volumes_answered(struct afp *a, struct err *e)
{
	struct volume_list l = volumes_begin(a->step);
	struct afp_step *s = a->step;
	char name[AFP_NAME_MAX + 1];

	while (!s->spelling[0] && s->refused == AFP_ERR_NO_OBJECT && volumes_next(&l, name)) {
		if (spelling_other(s->spelling, s->volume, name))
			return begin_volume(a, s->spelling, s->id, e);
		s->spelling[0] = '\0';
	}
	return no_volume(s, e);
}

static bool send_logout(struct afp *a)
{
	struct wbuf b;

	dsi_ignore_stop(a->dsi);
	a->step->at = STEP_LOGOUT;
	open_begin(a->step, &b, AFP_Logout);
	return !send_it(a, &b, NULL);
}

/* The answer that the end had to wait for. */
static int last_answered(struct afp *a)
{
	const struct afp_step *s = a->step;

	a->logged_in |= s->at == STEP_LOGIN && !s->op.dsi.result;
	if (s->at == STEP_LOGOUT || !a->logged_in || !send_logout(a))
		dsi_finish(a->dsi);
	return 0;
}

/* What follows once the step is complete. */
static int open_answered(struct afp *a, struct err *e)
{
	struct afp_step *s = a->step;

	if (a->ending)
		return last_answered(a);
	switch (s->at) {
	case STEP_LOGIN:
		return login_answered(a, e);
	case STEP_TOKEN: /* whatever it says */
		return begin_volume(a, s->volume, &a->volume, e);
	case STEP_VOLUME:
		return volume_answered(a, e);
	default:
		return volumes_answered(a, e);
	}
}

/* The list of volumes is only for a message: that goes on without it. */
static int broken(struct afp *a, int r, struct err *e)
{
	if (a->step->at != STEP_LIST || r == -EINTR)
		return r;
	a->step->op.dsi.result = r;
	return no_volume(a->step, e);
}

/* Goes on as far as possible. */
static int open_go_on(struct afp *a, struct err *e)
{
	struct afp_step *s = a->step;
	int r = 0;

	if (s->at == STEP_CONNECT && dsi_is_connected(a->dsi)) {
		s->at = STEP_GREET;
		r = dsi_greet(a->dsi, e);
	}
	if (!r && s->at == STEP_GREET && dsi_quantum(a->dsi))
		r = begin_login(a, e);
	while (!r && s->at >= STEP_LOGIN && afp_take(a))
		r = open_answered(a, e);
	if (!r && s->volume_done && a->stage == AFP_STAGE_VOLUME) {
		a->stage = AFP_STAGE_OPEN;
		a->volume_open = true;
	}
	return r;
}

static void free_step(struct afp *a)
{
	if (a->step) {
		uam_end(a->step->uam);
		explicit_bzero(a->step, sizeof(*a->step)); /* may hold a password */
	}
	free(a->step);
	a->step = NULL;
}

/* After an advance of the session, which returned r. */
static int open_after(struct afp *a, int r, struct err *e)
{
	if (!a->step || dsi_is_finished(a->dsi))
		return r;
	if (r && a->ending) {
		dsi_finish(a->dsi);
		return 0;
	}
	/* an answer that came before the end may say why: after it, nothing can be sent */
	if (r && r != -EINTR && a->step->at >= STEP_LOGIN && afp_take(a))
		r = open_answered(a, e);
	else
		r = r ? broken(a, r, e) : open_go_on(a, e);
	if (!r && a->step->volume_done)
		free_step(a);
	return r;
}

int afp_advance(struct afp *a, short events, struct err *e)
{
	return open_after(a, dsi_advance(a->dsi, events, e), e);
}

int afp_work(struct afp *a, uint64_t ns, struct err *e)
{
	return open_after(a, dsi_work(a->dsi, ns, e), e);
}

/* ---- opening ---- */

static bool offers_version(const struct afp_server *server, const char *version)
{
	for (unsigned int i = 0; i < server->n_versions; i++)
		if (!strcmp(server->version[i], version))
			return true;
	return false;
}

static int no_version(const struct afp_server *server, struct err *e)
{
	char list[ERR_TEXT_MAX / 2] = "none";
	size_t n = 0;

	for (unsigned int i = 0; i < server->n_versions && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
				      server->version[i]);
	text_clean(list);
	return err_set(e, -EOPNOTSUPP,
		       "the server offers no version of AFP from 3.0 to 3.4, only: %s "
		       "(speedtest -2 and -1 speak AFP 2.2 and 2.1)",
		       list);
}

/* The version asked for, also if the server does not list it, or the highest in common; 0: none. */
static unsigned int version_choose(const struct afp_server *server, unsigned int wanted)
{
	for (unsigned int i = LAST_VERSION; !wanted && i >= FIRST_UTF8; i--)
		if (offers_version(server, versions[i]))
			return i;
	return wanted;
}

static int new_step(struct afp *a, struct err *e)
{
	a->step = calloc(1, sizeof(*a->step));
	return a->step ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int afp_begin(struct afp *out, const struct dsi_opts *opts, const struct afp_server *server,
	      const struct afp_login *login, const char *volume, struct err *e)
{
	unsigned int version = version_choose(server, login->version);
	int r;

	memset(out, 0, sizeof(*out));
	out->stage = AFP_STAGE_LOGIN;
	if (!version)
		return no_version(server, e);
	out->stage = AFP_STAGE_CONNECT;
	out->path_type = version < FIRST_UTF8 ? 2 : 3;
	out->version = versions[version];
	out->level = (uint8_t)version;
	r = new_step(out, e);
	if (r)
		return r;
	out->step->server = server;
	out->step->login = login;
	out->step->volume = volume;
	afp_name_service(out->step->service, server, opts->host);
	return dsi_dial(&out->dsi, opts, e);
}

int afp_open(struct afp *out, const struct dsi_opts *opts, const struct afp_server *server,
	     const struct afp_login *login, const char *volume, enum afp_stage *stage,
	     struct err *e)
{
	int r = afp_begin(out, opts, server, login, volume, e);

	while (!r && out->stage != AFP_STAGE_OPEN)
		r = afp_work(out, SLICE_NS, e);
	*stage = out->stage;
	if (r)
		afp_close(out);
	return r;
}

int afp_open_other(struct afp *a, const char *name, uint16_t *id, struct err *e)
{
	int r = new_step(a, e);

	r = r ? r : begin_volume(a, name, id, e);
	while (!r && a->step)
		r = afp_work(a, SLICE_NS, e);
	free_step(a);
	return r;
}

int afp_end_others(struct afp *a, const char *run, struct err *e)
{
	uint32_t now = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	struct dsi_request *back;
	struct wbuf b;
	int r;

	if (a->level < FIRST_NAMED)
		return err_set(e, -EOPNOTSUPP, "%s cannot end sessions of others", a->version);
	r = new_step(a, e);
	if (r)
		return r;
	a->step->at = STEP_LIST;
	open_begin(a->step, &b, AFP_GetSessionToken);
	put_token(&b, run, now > RUN_BEGAN ? now : RUN_BEGAN + 1);
	r = send_it(a, &b, e);
	while (!r && (r = dsi_reap(a->dsi, &back, e)) == -EINTR)
		r = 0; /* its op must not stay lent */
	if (!r && a->step->op.dsi.result)
		r = err_set(e, -EOPNOTSUPP, "FPGetSessionToken: %s (AFP %d)",
			    afp_result_text(a->step->op.dsi.result), a->step->op.dsi.result);
	free_step(a);
	return r;
}

/* ---- the end ---- */

void afp_finish(struct afp *a)
{
	if (!a->dsi || a->ending)
		return;
	a->ending = true;
	if (a->step && a->step->at >= STEP_LOGIN && dsi_lent(a->dsi)) {
		dsi_ignore_stop(a->dsi); /* its answer comes first, then the logout */
		return;
	}
	free_step(a);
	if (!a->logged_in || dsi_lent(a->dsi) || new_step(a, NULL) || !send_logout(a))
		dsi_finish(a->dsi);
}

bool afp_is_finished(const struct afp *a)
{
	return !a->dsi || dsi_is_finished(a->dsi);
}

void afp_close(struct afp *a)
{
	afp_finish(a);
	while (!afp_is_finished(a))
		afp_work(a, SLICE_NS, NULL);
	dsi_close(a->dsi);
	free_step(a);
	memset(a, 0, sizeof(*a));
}
