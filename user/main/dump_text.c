/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats records as columns. Does not choose records. */
#include "main/dump_text.h"

#include "base/text.h"
#include "report/cell.h"
#include "report/result.h"
#include "report/slow.h"
#include "run/account.h"
#include "trace/fields.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define NAME_WIDTH 9
#define TIME_WIDTH 27 /* 2026-11-21T17:22:05.123456Z */

/* Negative: left-aligned. 0: not shown. */
static int dump_text_width_of(const struct trace_field *f)
{
	static const int widths[TRACE_N_TYPES] = {
		[TRACE_u64] = 10,  [TRACE_s64] = 10,   [TRACE_u32] = 8,
		[TRACE_s32] = 6,   [TRACE_u16] = 6,    [TRACE_command] = -23,
		[TRACE_role] = -8, [TRACE_class] = -8, [TRACE_object] = -13,
		[TRACE_kind] = -9, [TRACE_event] = -6, [TRACE_address] = -15,
	};

	if (!strcmp(f->name, "t"))
		return -TIME_WIDTH;
	if (!strcmp(f->name, "name"))
		return -16;
	if (!strncmp(f->name, "pad", 3) || !strncmp(f->meaning, "of it: ", 7))
		return 0;
	return !strcmp(f->unit, "ns") && f->type == TRACE_u64 ? 8 : widths[f->type];
}

static uint64_t dump_text_value_of(enum trace_type type, const uint8_t *at)
{
	uint64_t v = 0;
	int32_t s32;

	if (type == TRACE_s32) {
		memcpy(&s32, at, sizeof(s32));
		return (uint64_t)(int64_t)s32;
	}
	memcpy(&v, at, trace_types[type].len < sizeof(v) ? trace_types[type].len : sizeof(v));
	return v;
}

bool dump_field(unsigned int stream, const char *name, const void *record, uint64_t *out)
{
	const struct trace_stream_def *s = &trace_streams[stream];
	const uint8_t *at = record;

	for (size_t i = 0; i < s->n_fields; at += trace_types[s->field[i++].type].len) {
		if (strcmp(s->field[i].name, name))
			continue;
		*out = dump_text_value_of(s->field[i].type, at);
		return true;
	}
	return false;
}

bool dump_length(unsigned int stream, const void *record, uint64_t *ns)
{
	return dump_field(stream, "time_ns", record, ns) || dump_field(stream, "ns", record, ns) ||
	       dump_field(stream, "last_ns", record, ns);
}

static struct cell dump_text_wall(uint64_t at_ns)
{
	time_t s = (time_t)((int64_t)at_ns / 1000000000);
	struct cell c = { 0 };
	struct tm tm;
	size_t n;

	if (!gmtime_r(&s, &tm))
		return cell_na();
	n = strftime(c.text, sizeof(c.text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(c.text + n, sizeof(c.text) - n, ".%06dZ",
		 (int)((int64_t)at_ns % 1000000000 / 1000));
	return c;
}

static struct cell when(uint64_t at_ns, const struct dump_view *v)
{
	struct cell c = { "-" }, length;

	if (!v->relative)
		return dump_text_wall(at_ns + (uint64_t)v->offset_ns);
	length = cell_time(
	    (double)(at_ns < v->since_ns ? v->since_ns - at_ns : at_ns - v->since_ns));
	if (at_ns >= v->since_ns)
		c.text[0] = '+';
	memcpy(c.text + 1, length.text, sizeof(c.text) - 2);
	return c;
}

static const char *enum_name(enum trace_type type, uint64_t value, char buf[ACCOUNT_NAME_MAX])
{
	const char *name = "?";

#define X(NAME, number, text)                                                                      \
	case number:                                                                               \
		return text;
	switch (type) {
	case TRACE_command:
		return account_name((unsigned int)value, buf);
	case TRACE_role:
		name = ledger_role_name((unsigned int)value);
		break;
	case TRACE_class:
		name = value == AFS_CLASS_USER ? "user" : ledger_class_name((unsigned int)value);
		break;
	case TRACE_object:
		name = ledger_object_name((unsigned int)value);
		break;
	case TRACE_kind:
		switch (value) {
			AFS_KINDS(X)
		}
		break;
	case TRACE_event:
		switch (value) {
			AFS_EVENTS(X)
		}
		break;
	default:
		break;
	}
#undef X
	if (strcmp(name, "?"))
		return name;
	snprintf(buf, ACCOUNT_NAME_MAX, "%" PRIu64, value);
	return buf;
}

static struct cell cell_of(unsigned int stream, const void *record, const struct trace_field *f,
			   const uint8_t *at, const struct dump_view *v)
{
	uint64_t value = dump_text_value_of(f->type, at), family = 0;
	char buf[ACCOUNT_NAME_MAX];
	struct cell c;

	if (!strcmp(f->name, "t"))
		return when(value, v);
	if (!strcmp(f->unit, "ns"))
		return cell_time((double)value);
	if (f->type == TRACE_s32 || f->type == TRACE_s64)
		snprintf(c.text, sizeof(c.text), "%" PRId64, (int64_t)value);
	else if (f->type >= TRACE_command && f->type <= TRACE_event)
		snprintf(c.text, sizeof(c.text), "%s", enum_name(f->type, value, buf));
	else if (!strcmp(f->name, "name"))
		snprintf(c.text, sizeof(c.text), "%016" PRIx64, value);
	else if (f->type != TRACE_address)
		snprintf(c.text, sizeof(c.text), "%" PRIu64, value);
	else if (!dump_field(stream, "family", record, &family) ||
		 (family != AF_INET && family != AF_INET6) ||
		 !inet_ntop((int)family, at, c.text, sizeof(c.text)))
		c = (struct cell) { "-" };
	return c;
}

static void dump_text_put_parts(FILE *out, const struct afs_record_requests *r)
{
	struct slow_part part[SLOW_PARTS];
	size_t n = slow_parts(r, part);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s %s", i ? ", " : "", part[i].text,
			cell_time((double)part[i].ns).text);
}

void dump_name(FILE *out, const char *text)
{
	text_put(out, text, AFS_TEXT_LEN);
}

void dump_head(FILE *out, unsigned int stream, const struct dump_view *v)
{
	const struct trace_stream_def *s = &trace_streams[stream];
	char name[32];
	int width;

	put_text(out, v->named ? s->name : "", v->named ? -NAME_WIDTH - 1 : 0);
	for (size_t i = 0; i < s->n_fields; i++) {
		width = s->field[i].type == TRACE_text ? -1 : dump_text_width_of(&s->field[i]);
		if (!width)
			continue;
		snprintf(name, sizeof(name), "%s",
			 strcmp(s->field[i].name, "t") ? s->field[i].name : "begin");
		if (strlen(name) > 3 && !strcmp(name + strlen(name) - 3, "_ns"))
			name[strlen(name) - 3] = '\0';
		put_text(out, name, width);
		fputc(' ', out);
	}
	fputs(stream == AFS_STREAM_REQUESTS ? "where the time went\n" : "\n", out);
}

void dump_record(FILE *out, unsigned int stream, const void *record, const struct dump_view *v)
{
	const struct trace_stream_def *s = &trace_streams[stream];
	const uint8_t *at = record;
	uint64_t result = 0;
	const char *text;
	int width;

	put_text(out, v->named ? s->name : "", v->named ? -NAME_WIDTH - 1 : 0);
	for (size_t i = 0; i < s->n_fields; at += trace_types[s->field[i++].type].len) {
		width = dump_text_width_of(&s->field[i]);
		if (s->field[i].type == TRACE_text)
			dump_name(out, (const char *)at);
		if (!width)
			continue;
		put_text(out, cell_of(stream, record, &s->field[i], at, v).text, width);
		fputc(' ', out);
	}
	if (stream == AFS_STREAM_REQUESTS)
		dump_text_put_parts(out, record);
	dump_field(stream, "result", record, &result);
	text = result ? result_text((int32_t)result) : NULL;
	if (text)
		fprintf(out, " (%s)", text);
	fputc('\n', out);
}
