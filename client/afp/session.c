/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens and closes a session: server information, login, FPOpenVol, and the submit / reap pair that
 * everything else uses. Commands on files: command.c.
 */
#include "afp/afp.h"
#include "uam/uam.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* attributes and volume id, like the reference workloads */
#define VOLUME_BITMAP 0x0021

#define FIRST_UTF8    3 /* in the table: from here on names are UTF-8 */

static const char *const versions[] = {
	[1] = "AFPVersion 2.1", [2] = "AFP2.2", [3] = "AFPX03", [4] = "AFP3.1",
	[5] = "AFP3.2",         [6] = "AFP3.3", [7] = "AFP3.4",
};

/* One Pascal string at an offset of the block, cut to the room there is. */
static void copy_pascal(char *out, size_t room, struct rbuf *b)
{
	size_t len = rbuf_u8(b);
	const uint8_t *p = rbuf_bytes(b, len);

	if (len >= room)
		len = room - 1;
	if (p)
		memcpy(out, p, len);
	out[p ? len : 0] = '\0';
}

static struct rbuf block_at(const uint8_t *block, size_t len, uint16_t offset)
{
	struct rbuf b = rbuf_of(block, len);

	rbuf_bytes(&b, offset);
	return b;
}

/* Layout: AFP 3.x reference, FPGetSrvrInfo. */
static int parse_info(struct afp_server *out, const uint8_t *block, size_t len)
{
	struct rbuf head = rbuf_of(block, len), b;
	uint16_t machine = rbuf_u16(&head), version = rbuf_u16(&head), uam = rbuf_u16(&head);

	rbuf_u16(&head); /* icon */
	rbuf_u16(&head); /* flags */
	copy_pascal(out->name, sizeof(out->name), &head);
	b = block_at(block, len, machine);
	copy_pascal(out->machine, sizeof(out->machine), &b);
	head.bad |= b.bad;
	b = block_at(block, len, version);
	for (unsigned int n = rbuf_u8(&b); n && out->n_versions < 16; n--)
		copy_pascal(out->version[out->n_versions++], sizeof(out->version[0]), &b);
	head.bad |= b.bad;
	b = block_at(block, len, uam);
	for (unsigned int n = rbuf_u8(&b); n && out->n_uams < 16; n--)
		copy_pascal(out->uam[out->n_uams++], sizeof(out->uam[0]), &b);
	return head.bad || b.bad ? -EPROTO : 0;
}

int afp_server_info(struct afp_server *out, const struct dsi_opts *opts, struct err *e)
{
	uint8_t block[8192];
	size_t len = sizeof(block);
	struct dsi *d;
	int r;

	memset(out, 0, sizeof(*out));
	r = dsi_connect(&d, opts, e);
	if (r)
		return r;
	r = dsi_status(d, block, &len, e);
	dsi_close(d);
	if (!r && parse_info(out, block, len))
		r = err_set(
		    e, -EPROTO,
		    "%s port %s: its server information makes no sense: is this an AFP server?",
		    opts->host, opts->port);
	return r;
}

int afp_submit(struct afp *a, struct afp_op *op, struct err *e)
{
	return dsi_submit(a->dsi, &op->dsi, e);
}

int afp_reap(struct afp *a, struct afp_op **out, struct err *e)
{
	struct dsi_request *r;
	int rc = dsi_reap(a->dsi, &r, e);

	_Static_assert(offsetof(struct afp_op, dsi) == 0, "a request is the head of its op");
	if (rc)
		return rc;
	*out = (struct afp_op *)r;
	if (a->seen)
		a->seen(a->seen_user, *out);
	return 0;
}

int afp_call(struct afp *a, struct afp_op *op, struct err *e)
{
	struct afp_op *back;
	int r = afp_submit(a, op, e);

	if (r)
		return r;
	do
		r = afp_reap(a, &back, e);
	while (r == -EINTR); /* the op may be on a stack: it must not stay lent */
	return r;
}

const char *afp_op_name(const struct afp_op *op)
{
	const char *name = afp_command_name(op->code);

	return name ? name : "AFP command";
}

static void begin(struct afp_op *op, struct wbuf *b, enum afp_command code)
{
	memset(op, 0, sizeof(*op));
	op->code = (uint8_t)code;
	op->dsi.command = DSI_COMMAND;
	op->dsi.reply = op->reply;
	op->dsi.reply_cap = sizeof(op->reply);
	*b = wbuf_of(op->dsi.wire + DSI_HEADER_LEN, DSI_COMMAND_MAX);
	wbuf_u8(b, op->code);
}

static int call(struct afp *a, struct afp_op *op, const struct wbuf *b, struct err *e)
{
	int r;

	if (b->bad)
		return err_set(e, -ENAMETOOLONG, "%s: longer than AFP allows", afp_op_name(op));
	op->dsi.len = (size_t)(b->at - (op->dsi.wire + DSI_HEADER_LEN));
	r = afp_call(a, op, e);
	explicit_bzero(op->dsi.wire, sizeof(op->dsi.wire)); /* may hold a password */
	return r;
}

static int login_steps(struct afp *a, struct afp_op *op, const struct uam *u,
		       const struct uam_cred *cred, struct err *e)
{
	uint8_t reply[2 * UAM_STEP_MAX];
	struct uam_session *s = NULL;
	struct uam_command command;
	struct wbuf b;
	size_t len;
	int r;

	begin(op, &b, AFP_Login);
	wbuf_pascal(&b, a->version);
	wbuf_pascal(&b, u->wire_name);
	command = (struct uam_command) { op->dsi.wire + DSI_HEADER_LEN, &b };
	r = uam_start(&s, u, cred, &command, e);
	while (!r) {
		op->dsi.reply = reply;
		op->dsi.reply_cap = sizeof(reply);
		r = call(a, op, &b, e);
		if (r || op->dsi.result != AFP_ERR_CONTINUE)
			break;
		len = op->dsi.reply_len;
		begin(op, &b, AFP_LoginCont);
		wbuf_u8(&b, 0);
		r = uam_step(s, reply, len, &b, e);
		r = r > 0 ? 0 : r;
	}
	uam_end(s);
	return r;
}

static int log_in(struct afp *a, const struct afp_server *server, const struct afp_login *login,
		  struct err *e)
{
	const struct uam_cred cred = { login->user, login->password };
	const char *offered[17] = { NULL };
	const struct uam *u;
	struct afp_op op;
	int r;

	for (unsigned int i = 0; i < server->n_uams; i++)
		offered[i] = server->uam[i];
	r = uam_choose(&u, offered, &cred, login->uam, e);
	if (r)
		return r;
	a->uam = u->wire_name;
	r = login_steps(a, &op, u, &cred, e);
	if (r)
		return r;
	if (op.dsi.result)
		return err_set(e, -EACCES, "login of %s by %s as %s refused: %s (AFP %d)",
			       cred.user && *cred.user ? cred.user : "guest", u->name, a->version,
			       afp_result_text(op.dsi.result), op.dsi.result);
	a->logged_in = true;
	return 0;
}

/* "vol1", "vol2": what FPGetSrvrParms lists. */
static void list_volumes(struct afp *a, char *out, size_t room)
{
	uint8_t reply[4096];
	char name[256];
	struct afp_op op;
	struct wbuf b;
	struct rbuf in;
	size_t n = 0;

	*out = '\0';
	begin(&op, &b, AFP_GetSrvrParms);
	op.dsi.reply = reply;
	op.dsi.reply_cap = sizeof(reply);
	if (call(a, &op, &b, NULL) || op.dsi.result)
		return;
	in = rbuf_of(reply, op.dsi.reply_len);
	rbuf_u32(&in); /* server's time */
	for (unsigned int left = rbuf_u8(&in); left; left--) {
		rbuf_u8(&in); /* flags */
		copy_pascal(name, sizeof(name), &in);
		if (in.bad || n >= room)
			return;
		n += (size_t)snprintf(out + n, room - n, "%s\"%s\"", n ? ", " : "", name);
	}
}

int afp_open_other(struct afp *a, const char *name, uint16_t *id, struct err *e)
{
	char volumes[ERR_TEXT_MAX / 2];
	struct afp_op op;
	struct wbuf b;
	struct rbuf in;
	int r;

	begin(&op, &b, AFP_OpenVol);
	wbuf_u8(&b, 0);
	wbuf_u16(&b, VOLUME_BITMAP);
	wbuf_pascal(&b, name);
	if ((b.at - op.dsi.wire) % 2)
		wbuf_u8(&b, 0);
	r = call(a, &op, &b, e);
	if (r)
		return r;
	if (op.dsi.result) {
		list_volumes(a, volumes, sizeof(volumes));
		return err_set(e, -ENOENT, "cannot open volume \"%s\": %s (AFP %d)%s%s", name,
			       afp_result_text(op.dsi.result), op.dsi.result,
			       *volumes ? "; the server offers " : "", volumes);
	}
	in = rbuf_of(op.reply, op.dsi.reply_len);
	rbuf_u16(&in); /* bitmap */
	rbuf_u16(&in); /* attributes */
	*id = rbuf_u16(&in);
	if (in.bad)
		return err_set(e, -EPROTO, "FPOpenVol: reply of %zu bytes", op.dsi.reply_len);
	return 0;
}

int afp_close_volume(struct afp *a, uint16_t id, struct err *e)
{
	struct afp_op op;
	int r;

	afp_prep_close_volume(&op, id);
	r = afp_call(a, &op, e);
	if (!r && id == a->volume)
		a->volume_open = false;
	return r;
}

int afp_open(struct afp *out, const struct dsi_opts *opts, const struct afp_server *server,
	     const struct afp_login *login, const char *volume, enum afp_stage *stage,
	     struct err *e)
{
	int r;

	memset(out, 0, sizeof(*out));
	out->path_type = login->version < FIRST_UTF8 ? 2 : 3;
	out->version = versions[login->version];
	*stage = AFP_STAGE_CONNECT;
	r = dsi_connect(&out->dsi, opts, e);
	if (!r)
		r = dsi_open(out->dsi, e);
	if (!r) {
		*stage = AFP_STAGE_LOGIN;
		r = log_in(out, server, login, e);
	}
	if (!r) {
		*stage = AFP_STAGE_VOLUME;
		r = afp_open_other(out, volume, &out->volume, e);
	}
	out->volume_open = !r;
	if (!r)
		*stage = AFP_STAGE_OPEN;
	else
		afp_close(out);
	return r;
}

void afp_close(struct afp *a)
{
	struct afp_op op;
	struct wbuf b;

	if (a->logged_in) {
		dsi_ignore_stop(a->dsi);
		begin(&op, &b, AFP_Logout);
		call(a, &op, &b, NULL);
	}
	dsi_close(a->dsi);
	memset(a, 0, sizeof(*a));
}
