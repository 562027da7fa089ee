/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kerberos ("Client Krb v2"): the user's ticket instead of a password, and the server's answer to
 * it, which only who has the service's key can give. Both are made by libgssapi_krb5, which is
 * loaded when the method is first used; it may ask the KDC for the service's ticket, and wait for
 * it as long as krb5.conf says.
 *
 *	server	id(2)
 *	client	id, user with its length(1) and a NUL, padded to even, length(2) ticket
 *	server	success: length(2) answer
 *
 * Layout: netatalk 3.1 to 4.5, which read the user up to the NUL.
 */
#include "uam/methods.h"

#include "base/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define METHOD    "Kerberos"
#define LIBRARY   "libgssapi_krb5.so.2"
#define TOKEN_MAX UINT16_MAX

/* Of GSS-API, C bindings (RFC 2744). */
struct gss_text {
	size_t len;
	void *at;
};

struct gss_oid {
	uint32_t len;
	const void *at;
};

#define GSS_MUTUAL       2u
#define GSS_INITIATE     1
#define GSS_FOREVER      UINT32_MAX
#define GSS_CONTINUE     1u
#define GSS_FAILED(code) ((code) >> 16)
#define GSS_OF_CALL      1 /* whose code a text is for: GSS-API's own, or the mechanism's */
#define GSS_OF_MECHANISM 2

static const struct gss_oid gss_krb5 = { 9, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" };
static const struct gss_oid gss_of_host = { 10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04" };
static const struct gss_oid gss_of_user = { 10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x01" };

struct gss_oids {
	size_t n;
	const struct gss_oid *oid;
};

struct gss_calls {
	uint32_t (*import_name)(uint32_t *minor, const struct gss_text *name,
				const struct gss_oid *type, void **out);
	uint32_t (*acquire_cred)(uint32_t *minor, void *name, uint32_t time_s,
				 const struct gss_oids *mechanisms, int usage, void **out,
				 void *mechanisms_out, uint32_t *time_out_s);
	uint32_t (*init_sec_context)(uint32_t *minor, void *cred, void **context, void *target,
				     const struct gss_oid *mechanism, uint32_t flags,
				     uint32_t time_s, const void *bindings,
				     const struct gss_text *in, void *mechanism_out,
				     struct gss_text *out, uint32_t *flags_out,
				     uint32_t *time_out_s);
	uint32_t (*display_status)(uint32_t *minor, uint32_t code, int of,
				   const struct gss_oid *mechanism, uint32_t *more,
				   struct gss_text *out);
	uint32_t (*release_buffer)(uint32_t *minor, struct gss_text *text);
	uint32_t (*release_name)(uint32_t *minor, void **name);
	uint32_t (*release_cred)(uint32_t *minor, void **cred);
	uint32_t (*delete_sec_context)(uint32_t *minor, void **context, struct gss_text *out);
};

static const struct library_row gss_rows[] = {
#define X(call)                                                                                    \
	{                                                                                          \
		"gss_" #call, NULL, offsetof(struct gss_calls, call)                               \
	}
	X(import_name),    X(acquire_cred), X(init_sec_context), X(display_status),
	X(release_buffer), X(release_name), X(release_cred),     X(delete_sec_context),
#undef X
};

struct kerberos {
	struct gss_calls gss; /* zeros: not loaded yet */
	void *cred, *service, *context;
	struct gss_text ticket;
	uint32_t flags; /* what the context has, once it is complete */
};

static int gss_load(struct gss_calls *out, struct err *e)
{
	static const char *const files[] = { LIBRARY, NULL };
	struct library_failure failure;

	if (!library_load(out, files, gss_rows, sizeof(gss_rows) / sizeof(gss_rows[0]), &failure))
		return 0;
	if (failure.lacks)
		return err_set(e, -EOPNOTSUPP, METHOD ": " LIBRARY " has no %s",
			       failure.lacks->name);
	return err_set(e, -EOPNOTSUPP,
		       METHOD " needs the library " LIBRARY " (Debian: libgssapi-krb5-2): %s",
		       failure.why);
}

/* The library's own sentence, the mechanism's if it has one. */
static int gss_error(const struct kerberos *k, const char *what, uint32_t major, uint32_t minor,
		     struct err *e)
{
	struct gss_text text = { 0 };
	uint32_t ignored, more = 0;
	int r;

	if (minor)
		k->gss.display_status(&ignored, minor, GSS_OF_MECHANISM, &gss_krb5, &more, &text);
	if (!text.len)
		k->gss.display_status(&ignored, major, GSS_OF_CALL, &gss_krb5, &more, &text);
	r = err_set(e, -EACCES, METHOD ": %s: %.*s", what, (int)text.len,
		    text.at ? (const char *)text.at : "");
	k->gss.release_buffer(&ignored, &text);
	return r;
}

static int gss_name(const struct kerberos *k, const char *text, const struct gss_oid *type,
		    void **out, struct err *e)
{
	const struct gss_text name = { strlen(text), (void *)(uintptr_t)text };
	uint32_t minor, major = k->gss.import_name(&minor, &name, type, out);
	char what[320];

	if (!GSS_FAILED(major))
		return 0;
	snprintf(what, sizeof(what), "the name %s", text);
	return gss_error(k, what, major, minor, e);
}

/* The ticket of this very user: another user's would be another login. */
static int gss_find_ticket(struct kerberos *k, const char *user, struct err *e)
{
	const struct gss_oids only = { 1, &gss_krb5 };
	uint32_t minor, major, ignored;
	void *name = NULL;
	char what[320];
	int r = gss_name(k, user, &gss_of_user, &name, e);

	if (r)
		return r;
	major = k->gss.acquire_cred(&minor, name, GSS_FOREVER, &only, GSS_INITIATE, &k->cred, NULL,
				    NULL);
	k->gss.release_name(&ignored, &name);
	if (!GSS_FAILED(major))
		return 0;
	snprintf(what, sizeof(what), "no valid ticket of %s (kinit gets one)", user);
	return gss_error(k, what, major, minor, e);
}

/* One message of ours, which answers the server's (NULL at first). */
static uint32_t gss_go_on(struct kerberos *k, const struct gss_text *in, struct gss_text *out,
			  uint32_t *minor)
{
	return k->gss.init_sec_context(minor, k->cred, &k->context, k->service, &gss_krb5,
				       GSS_MUTUAL, 0, NULL, in, NULL, out, &k->flags, NULL);
}

static int gss_make_ticket(struct kerberos *k, const struct uam_cred *cred, struct err *e)
{
	uint32_t minor, major;
	char what[640];
	int r = gss_name(k, cred->service, &gss_of_host, &k->service, e);

	if (r)
		return r;
	major = gss_go_on(k, NULL, &k->ticket, &minor);
	if (GSS_FAILED(major)) {
		snprintf(what, sizeof(what), "no ticket of %s for the service %s", cred->user,
			 cred->service);
		return gss_error(k, what, major, minor, e);
	}
	if (!(major & GSS_CONTINUE))
		return err_set(e, -EPROTO,
			       METHOD ": " LIBRARY " does not ask for a proof of the server");
	if (!k->ticket.len || k->ticket.len > TOKEN_MAX)
		return err_set(e, -EOPNOTSUPP, METHOD ": ticket of %zu bytes: AFP takes 1 to %d",
			       k->ticket.len, TOKEN_MAX);
	return 0;
}

/* All that needs no server, so that none is left in the middle of a login. */
static int kerberos_start(void *state, const struct uam_cred *cred, struct wbuf *first,
			  struct err *e)
{
	struct kerberos *k = state;
	int r = gss_load(&k->gss, e);

	(void)first;
	if (!r && !cred->service)
		r = err_set(e, -EINVAL, METHOD ": the server's name is not known");
	r = r ? r : gss_find_ticket(k, cred->user, e);
	return r ? r : gss_make_ticket(k, cred, e);
}

static int kerberos_step(void *state, const struct uam_cred *cred, struct rbuf *reply,
			 struct wbuf *next, struct err *e)
{
	const struct kerberos *k = state;
	uint16_t id = rbuf_u16(reply);

	if (reply->bad)
		return err_set(e, -EPROTO, METHOD ": server's reply ends too early");
	wbuf_u16(next, id);
	wbuf_pascal(next, cred->user);
	wbuf_zero(next, 1 + strlen(cred->user) % 2);
	wbuf_u16(next, (uint16_t)k->ticket.len);
	return 0;
}

static const void *kerberos_tail(const void *state, size_t *len)
{
	const struct kerberos *k = state;

	*len = k->ticket.len;
	return k->ticket.at;
}

static int kerberos_finish(void *state, const struct uam_cred *cred, struct rbuf *reply,
			   struct err *e)
{
	struct gss_text proof = { .len = rbuf_u16(reply) }, more = { 0 };
	struct kerberos *k = state;
	uint32_t minor, major;

	(void)cred;
	proof.at = (void *)(uintptr_t)rbuf_bytes(reply, proof.len);
	if (!proof.at || !proof.len)
		return uam_no_proof(METHOD, NULL, e);
	major = gss_go_on(k, &proof, &more, &minor);
	k->gss.release_buffer(&minor, &more);
	if (major || !(k->flags & GSS_MUTUAL))
		return uam_no_proof(METHOD, proof.at, e);
	return 0;
}

static void kerberos_fini(void *state)
{
	struct kerberos *k = state;
	uint32_t ignored;

	if (!k->gss.delete_sec_context) /* the last of the table */
		return;
	k->gss.release_buffer(&ignored, &k->ticket);
	k->gss.delete_sec_context(&ignored, &k->context, NULL);
	k->gss.release_name(&ignored, &k->service);
	k->gss.release_cred(&ignored, &k->cred);
}

const struct uam uam_kerberos = {
	.wire_name = "Client Krb v2",
	.name = "kerberos",
	.strength = 10,
	.n_steps = 1,
	.needs_user = true,
	.only_wanted = true, /* the user has given a password, or wants another method's prompt */
	.by_ticket = true,
	.state_size = sizeof(struct kerberos),
	.start = kerberos_start,
	.step = kerberos_step,
	.tail = kerberos_tail,
	.finish = kerberos_finish,
	.fini = kerberos_fini,
};
