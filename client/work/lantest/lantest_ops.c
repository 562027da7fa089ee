/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lantest's AFP commands, one checked command each. lantest_tests.c makes tests of them. */
#include "work/lantest/lantest_priv.h"

#include <stdarg.h>
#include <stdio.h>

int lt_refuse(struct lantest *t, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->load->refused = t->op.code;
	if (t->load->phase)
		load_add_error(t->load);
	return err_set(t->e, LOAD_REFUSED, "%s", text);
}

/* Sends t->op; name is for the message only. */
static int send_checked(struct lantest *t, const char *name, enum afp_result expected)
{
	int r = load_call(t->load, &t->op, t->e);

	if (r || t->op.dsi.result == expected)
		return r;
	return lt_refuse(t, "%s%s%s: %s (AFP %d)%s", afp_op_name(&t->op), *name ? " " : "", name,
			 afp_result_text(t->op.dsi.result), t->op.dsi.result,
			 expected ? ", where it must not exist" : "");
}

static int malformed(struct lantest *t, const char *name)
{
	return lt_refuse(t, "%s%s%s: reply of %zu bytes does not hold what was asked for",
			 afp_op_name(&t->op), *name ? " " : "", name, t->op.dsi.reply_len);
}

int lt_probe(struct lantest *t, uint32_t dir, const char *name, enum afp_result expected)
{
	const uint16_t bitmap = AFP_BIT_LONG_NAME | AFP_BIT_PARENT;

	afp_prep_get_params(&t->op, t->load->afp, dir, name, bitmap, bitmap);
	return send_checked(t, name, expected);
}

int lt_params(struct lantest *t, uint32_t dir, const char *name, uint16_t file_bitmap,
	      uint16_t dir_bitmap)
{
	afp_prep_get_params(&t->op, t->load->afp, dir, name, file_bitmap, dir_bitmap);
	return send_checked(t, name, AFP_ERR_OK);
}

int lt_create_in(struct lantest *t, uint32_t dir, const char *name)
{
	afp_prep_create_file(&t->op, t->load->afp, dir, name);
	return send_checked(t, name, AFP_ERR_OK);
}

int lt_create(struct lantest *t, const char *name)
{
	return lt_create_in(t, t->base, name);
}

int lt_mkdir(struct lantest *t, uint32_t parent, const char *name, uint32_t *dir)
{
	int r;

	afp_prep_create_dir(&t->op, t->load->afp, parent, name);
	r = send_checked(t, name, AFP_ERR_OK);
	if (!r && !afp_get_created_dir(&t->op, dir))
		r = malformed(t, name);
	return r;
}

int lt_delete(struct lantest *t, uint32_t dir, const char *name)
{
	afp_prep_delete(&t->op, t->load->afp, dir, name);
	return send_checked(t, name, AFP_ERR_OK);
}

int lt_copy(struct lantest *t, const char *name, const char *to)
{
	const struct afp_copy what = { t->base, name, t->load->afp->volume, t->base, to };

	afp_prep_copy_file(&t->op, t->load->afp, &what);
	return send_checked(t, name, AFP_ERR_OK);
}

int lt_open(struct lantest *t, uint32_t dir, const char *name, uint16_t bitmap, uint16_t access)
{
	struct afp_params p;
	int r;

	afp_prep_open_fork(&t->op, t->load->afp, dir, name, bitmap, access);
	r = send_checked(t, name, AFP_ERR_OK);
	if (!r && !afp_get_opened_fork(&t->op, &t->fork, &p))
		r = malformed(t, name);
	t->fork_open = !r;
	return r;
}

int lt_close(struct lantest *t)
{
	int r;

	afp_prep_close_fork(&t->op, t->fork);
	r = send_checked(t, "", AFP_ERR_OK);
	t->fork_open = r; /* refused, or never sent: clean_up() closes it once more */
	return r;
}

int lt_fork_params(struct lantest *t, uint16_t bitmap)
{
	afp_prep_get_fork(&t->op, t->fork, bitmap);
	return send_checked(t, "", AFP_ERR_OK);
}

int lt_volume_params(struct lantest *t, uint16_t bitmap)
{
	afp_prep_get_volume(&t->op, t->load->afp, bitmap);
	return send_checked(t, "", AFP_ERR_OK);
}

int lt_read(struct lantest *t, uint32_t len)
{
	int r;

	afp_prep_read(&t->op, t->fork, 0, t->sink, len);
	r = send_checked(t, "", AFP_ERR_OK);
	if (!r && t->op.dsi.reply_len != len)
		r = malformed(t, "");
	load_add_bytes(t->load, r ? 0 : len);
	return r;
}

int lt_write(struct lantest *t, uint32_t len)
{
	uint64_t end;
	int r;

	afp_prep_write(&t->op, t->fork, 0, t->zeros, len);
	r = send_checked(t, "", AFP_ERR_OK);
	if (!r && !afp_get_written(&t->op, &end))
		r = malformed(t, "");
	else if (!r && end != len)
		r = lt_refuse(t, "%s: written up to byte %llu only: is the volume full?",
			      afp_op_name(&t->op), (unsigned long long)end);
	load_add_bytes(t->load, r ? 0 : len);
	return r;
}

int lt_lock(struct lantest *t, bool unlock, uint32_t offset, uint32_t len)
{
	afp_prep_lock(&t->op, t->fork, unlock, offset, len);
	return send_checked(t, unlock ? "(unlock)" : "(lock)", AFP_ERR_OK);
}

int lt_enumerate(struct lantest *t, unsigned int i, const struct afp_enumerate *what)
{
	struct afp_entries it;
	int r;

	afp_prep_enumerate(&t->op, t->load->afp, what, t->listing[i]);
	r = send_checked(t, "of the test directory", AFP_ERR_OK);
	t->listing_len[i] = t->op.dsi.reply_len;
	t->listing_code = t->op.code;
	if (!r && !afp_entries_begin(&it, &t->op))
		r = malformed(t, "of the test directory");
	return r;
}

void lt_listing(const struct lantest *t, unsigned int i, struct afp_entries *it)
{
	struct afp_op op = { .code = t->listing_code,
			     .dsi = { .reply = (void *)(uintptr_t)t->listing[i],
				      .reply_len = t->listing_len[i] } };

	afp_entries_begin(it, &op);
}
