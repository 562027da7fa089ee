// SPDX-License-Identifier: GPL-2.0-or-later
/* TSDL, the language of CTF 1.8's metadata. Fields begin at bytes: records lie as in memory. */

#include "trace/metadata.h"

#include "base/account.h"
#include "trace/fields.h"

#include <inttypes.h>
#include <string.h>

static void write_types(FILE *out)
{
	static const struct {
		unsigned int bits;
		const char *sign, *name, *more;
	} integer[] = {
		{ 8, "false", "uint8_t", "" },
		{ 16, "false", "uint16_t", "" },
		{ 32, "false", "uint32_t", "" },
		{ 64, "false", "uint64_t", "" },
		{ 32, "true", "int32_t", "" },
		{ 64, "true", "int64_t", "" },
		{ 64, "false", "uint64_clock_t", " map = clock.monotonic.value;" },
		{ 8, "false", "char_t", " encoding = UTF8;" },
	};

	for (size_t i = 0; i < sizeof(integer) / sizeof(integer[0]); i++)
		fprintf(
		    out,
		    "typealias integer { size = %u; align = 8; signed = %s; byte_order = le;%s } "
		    ":= %s;\n",
		    integer[i].bits, integer[i].sign, integer[i].more, integer[i].name);
	fputc('\n', out);
}

static void enum_begin(FILE *out, const char *base)
{
	fprintf(out, "typealias enum : %s {\n", base);
}

static void enum_value(FILE *out, unsigned int value, const char *text)
{
	fprintf(out, "\t\"%s\" = %u,\n", text, value);
}

static void enum_end(FILE *out, enum trace_type type)
{
	fprintf(out, "} := %s;\n\n", trace_types[type].tsdl);
}

static void write_enums(FILE *out)
{
	enum_begin(out, "uint16_t");
	for (unsigned int i = 0; i < AFS_N_ACCOUNTS; i++)
		if (account_known_name(i))
			enum_value(out, i, account_known_name(i));
	enum_end(out, TRACE_command);
	enum_begin(out, "uint8_t");
	for (unsigned int i = 0; i < AFS_N_ROLES; i++)
		enum_value(out, i, ledger_role_name(i));
	enum_end(out, TRACE_role);
	enum_begin(out, "uint8_t");
	for (unsigned int i = 0; i < AFS_N_CLASSES; i++)
		enum_value(out, i, ledger_class_name(i));
	enum_value(out, AFS_CLASS_USER, "user");
	enum_end(out, TRACE_class);
	enum_begin(out, "uint8_t");
	for (unsigned int i = 0; i < AFS_N_OBJECTS; i++)
		enum_value(out, i, ledger_object_name(i));
	enum_end(out, TRACE_object);
#define X(name, value, text) enum_value(out, value, text);
	enum_begin(out, "uint8_t");
	AFS_KINDS(X)
	enum_end(out, TRACE_kind);
	enum_begin(out, "uint8_t");
	AFS_EVENTS(X)
	enum_end(out, TRACE_event);
#undef X
}

static void write_head(FILE *out, const struct trace_about *about)
{
	const uint8_t *u = about->uuid;
	int64_t offset_s = about->offset_ns / 1000000000;

	fputs("/* CTF 1.8 */\n\n", out);
	write_types(out);
	fprintf(out,
		"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = "
		"\"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\";\n"
		"\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
		"\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\n",
		u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		u[13], u[14], u[15]);
	fprintf(out,
		"env {\n\ttracer_name = \"afpscope\";\n\ttracer_version = \"%s\";\n\trun = "
		"\"%s\";\n\tcommand = \"%s\";\n\thostname = \"%s\";\n\tformat = 1;\n};\n\n",
		AFPSCOPE_VERSION, about->run, about->command, about->host);
	fprintf(out,
		"clock {\n\tname = \"monotonic\";\n\tdescription = \"CLOCK_MONOTONIC\";\n\tfreq = "
		"1000000000;\n\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n"
		"\tabsolute = TRUE;\n};\n\n",
		offset_s, about->offset_ns - offset_s * 1000000000);
}

static void write_field(FILE *out, const struct trace_field *f)
{
	char array[16] = "";

	if (f->type == TRACE_address || f->type == TRACE_text)
		snprintf(array, sizeof(array), "[%zu]", trace_types[f->type].len);
	/* Names that are words of the language carry an underscore, which readers take away. */
	fprintf(out, "\t\t%s %s%s%s;\n", trace_types[f->type].tsdl,
		strcmp(f->name, "event") ? "" : "_", f->name, array);
}

static void write_stream(FILE *out, unsigned int number)
{
	const struct trace_stream_def *s = &trace_streams[number];

	fprintf(out,
		"/* %s */\nstream {\n\tid = %u;\n\tpacket.context := struct {\n"
		"\t\tuint64_clock_t timestamp_begin;\n\t\tuint64_clock_t timestamp_end;\n"
		"\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
		"\t\tuint64_t events_discarded;\n\t\tuint64_t packet_seq_num;\n"
		"\t\tuint32_t crc32;\n\t\tuint32_t pad;\n\t};\n"
		"\tevent.header := struct {\n",
		s->meaning, number);
	write_field(out, &s->field[0]);
	fprintf(out,
		"\t};\n};\n\nevent {\n\tid = 0;\n\tname = \"%s\";\n\tstream_id = %u;\n"
		"\tfields := struct {\n",
		s->name, number);
	for (size_t i = 1; i < s->n_fields; i++)
		write_field(out, &s->field[i]);
	fputs("\t};\n};\n\n", out);
}

void metadata_write(FILE *out, const struct trace_about *about)
{
	write_head(out, about);
	write_enums(out);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		write_stream(out, i);
}

void metadata_document(FILE *out)
{
	const struct trace_stream_def *s;
	const struct trace_field *f;
	size_t at;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &trace_streams[i];
		fprintf(out,
			"### %s\n\nStream %u, %zu bytes a record: %s.\n\n"
			"| Offset | Field | Type | Unit | Meaning |\n|---|---|---|---|---|\n",
			s->name, i, s->len, s->meaning);
		at = 0;
		for (size_t k = 0; k < s->n_fields; k++) {
			f = &s->field[k];
			fprintf(out, "| %zu | `%s` | %s | %s | %s |\n", at, f->name,
				trace_types[f->type].text, f->unit, f->meaning);
			at += trace_types[f->type].len;
		}
		fputc('\n', out);
	}
}
