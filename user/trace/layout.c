/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same tables as the metadata's, as JSON. No name in them needs an escape. */

#include "trace/layout.h"

#include "run/account.h"
#include "run/kind.h"
#include "trace/fields.h"
#include "trace/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Raised when a reader of the one before would misread it. */
#define FORMAT 1

static void layout_put_fields(FILE *out, const struct trace_field *field, size_t n)
{
	const struct trace_type_def *type;
	size_t at = 0;

	fputs("\"fields\": [\n", out);
	for (size_t i = 0; i < n; i++) {
		type = &trace_types[field[i].type];
		fprintf(out, "  {\"name\": \"%s\", \"type\": \"%s\", \"offset\": %zu",
			field[i].name, type->base, at);
		if (trace_is_array(field[i].type))
			fprintf(out, ", \"length\": %zu", type->len);
		if (trace_is_enum(field[i].type))
			fprintf(out, ", \"names\": \"%s\"", type->tsdl);
		fprintf(out, "}%s\n", i + 1 < n ? "," : "");
		at += type->len;
	}
	fputs(" ]}", out);
}

static void layout_put_streams(FILE *out)
{
	const struct trace_stream_def *s;

	fputs("\"streams\": [\n", out);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &trace_streams[i];
		fprintf(out, " {\"id\": %u, \"name\": \"%s\", \"bytes\": %zu, ", i, s->name,
			s->len);
		layout_put_fields(out, s->field, s->n_fields);
		fputs(i + 1 < AFS_N_STREAMS ? ",\n" : "\n", out);
	}
	fputs("],\n", out);
}

/* A comma stands before each but the first. */
struct layout_names {
	FILE *out;
	const char *comma;
};

/* What programs print for results, and for the fields with the parts of a request's time. */
static void layout_put_words(FILE *out, const struct run_kind *kind)
{
	static const char *const field[ACCOUNT_N_COLUMNS] = {
#define X(type, name, unit, meaning) #name,
		AFS_COLUMNS(X)
#undef X
	};
	char text[RUN_WORD_MAX];
	size_t n;
	const struct result_name *all = run_kind_results(kind, &n);

	fputs("\"results\": {", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s\n \"%" PRId32 "\": \"%s\"", i ? "," : "", all[i].code,
			all[i].text);
	fputs("\n},\n\"parts\": {", out);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		fprintf(out, "%s\n \"%s\": \"%s\"", i ? "," : "", field[i],
			run_kind_text(kind, account_columns[i].text, text, sizeof(text)));
	fputs("\n},\n", out);
}

static void layout_put_name(void *user, unsigned int number, const char *name)
{
	struct layout_names *names = user;

	fprintf(names->out, "%s\n  \"%u\": \"%s\"", names->comma, number, name);
	names->comma = ",";
}

static void layout_put_enums(FILE *out, const struct run_kind *kind)
{
	const char *comma = "";
	struct layout_names names;

	fputs("\"names\": {", out);
	for (enum trace_type type = 0; type < TRACE_N_TYPES; type++) {
		if (!trace_is_enum(type))
			continue;
		fprintf(out, "%s\n \"%s\": {", comma, trace_types[type].tsdl);
		names = (struct layout_names) { .out = out, .comma = "" };
		trace_enum_names(type, kind, layout_put_name, &names);
		fputs("\n }", out);
		comma = ",";
	}
	fputs("\n},\n", out);
}

static void layout_put(FILE *out, const struct trace_about *about)
{
	fprintf(out, "{\"format\": %d,\n\"uuid\": \"", FORMAT);
	for (size_t i = 0; i < sizeof(about->uuid); i++)
		fprintf(out, "%02x", about->uuid[i]);
	fprintf(out,
		"\",\n\"clock\": {\"freq\": 1000000000, \"offset_ns\": %" PRId64 "},\n"
		"\"head\": {\"bytes\": %zu, ",
		about->offset_ns, sizeof(struct trace_packet_head));
	layout_put_fields(out, trace_head, TRACE_N_HEAD);
	fputs(",\n", out);
	layout_put_streams(out);
	layout_put_enums(out, about->kind);
	layout_put_words(out, about->kind);
}

int layout_write(FILE *out, const struct trace_about *about)
{
	char *text = metadata_summed(layout_put, about, "\"crc32\": \"", "\"}\n");

	if (!text)
		return -ENOMEM;
	fputs(text, out);
	free(text);
	return 0;
}
