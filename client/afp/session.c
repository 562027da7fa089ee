/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Server information, and the submit / reap pair that everything else uses. Opening and closing:
 * open.c. Commands on files: command.c.
 */
#include "afp/afp.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static struct rbuf block_at(const uint8_t *block, size_t len, uint16_t offset)
{
	struct rbuf b = rbuf_of(block, len);

	rbuf_bytes(&b, offset);
	return b;
}

#define HAS_DIRECTORY_NAMES 0x100 /* a flag */

/* Behind the name: offsets of signature, addresses, names in directories. It may be absent. */
static void parse_principal(struct afp_server *out, const uint8_t *block, size_t len,
			    struct rbuf *behind_name)
{
	struct rbuf b;

	if ((behind_name->at - block) % 2)
		rbuf_u8(behind_name);
	rbuf_u16(behind_name);
	rbuf_u16(behind_name);
	b = block_at(block, len, rbuf_u16(behind_name));
	if (!behind_name->bad && rbuf_u8(&b))
		afp_copy_pascal(out->principal, sizeof(out->principal), &b);
	if (behind_name->bad || b.bad)
		*out->principal = '\0';
	text_clean(out->principal);
}

/* Layout: AFP 3.x reference, FPGetSrvrInfo. */
static int parse_info(struct afp_server *out, const uint8_t *block, size_t len)
{
	struct rbuf head = rbuf_of(block, len), b;
	uint16_t flags;
	uint16_t machine = rbuf_u16(&head), version = rbuf_u16(&head), uam = rbuf_u16(&head);

	rbuf_u16(&head); /* icon */
	flags = rbuf_u16(&head);
	afp_copy_pascal(out->name, sizeof(out->name), &head);
	b = head;
	if (flags & HAS_DIRECTORY_NAMES)
		parse_principal(out, block, len, &b);
	b = block_at(block, len, machine);
	afp_copy_pascal(out->machine, sizeof(out->machine), &b);
	head.bad |= b.bad;
	b = block_at(block, len, version);
	for (unsigned int n = rbuf_u8(&b); n && out->n_versions < 16; n--)
		afp_copy_pascal(out->version[out->n_versions++], sizeof(out->version[0]), &b);
	head.bad |= b.bad;
	b = block_at(block, len, uam);
	for (unsigned int n = rbuf_u8(&b); n && out->n_uams < 16; n--)
		afp_copy_pascal(out->uam[out->n_uams++], sizeof(out->uam[0]), &b);
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

#define SERVICE "afpserver"

void afp_name_service(char out[static AFP_SERVICE_MAX], const struct afp_server *server,
		      const char *host)
{
	const char *service = server->principal;
	size_t len = strcspn(service, "/@");

	if (!len || service[len] != '/')
		service = SERVICE, len = sizeof(SERVICE) - 1;
	snprintf(out, AFP_SERVICE_MAX, "%.*s@%s", (int)len, service, host);
}

void afp_add_principal(const struct afp_server *server, const char *service, char *text)
{
	size_t len = strcspn(service, "@"), host = strlen(service + len);

	if (*server->principal &&
	    strncasecmp(server->principal + len + 1, service + len + 1, host - 1))
		err_append(text, "; the server calls itself %s", server->principal);
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

struct afp_op *afp_take(struct afp *a)
{
	struct afp_op *op = (struct afp_op *)dsi_take(a->dsi);

	if (op && a->seen)
		a->seen(a->seen_user, op);
	return op;
}

void afp_wait(struct afp *a, struct io_wait *w)
{
	dsi_wait(a->dsi, w);
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
