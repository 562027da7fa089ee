/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TSDL, the language of CTF 1.8's metadata. Fields are byte-aligned: records are as in memory. */

#include "trace/metadata.h"

#include "run/account.h"
#include "trace/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

static void metadata_put_name(void *out, unsigned int number, const char *name)
{
	fprintf(out, "\t\"%s\" = %u,\n", name, number);
}

static void write_enums(FILE *out, const struct run_kind *kind)
{
	for (enum trace_type type = 0; type < TRACE_N_TYPES; type++) {
		if (!trace_is_enum(type))
			continue;
		fprintf(out, "typealias enum : uint%zu_t {\n", trace_types[type].len * 8);
		trace_enum_names(type, kind, metadata_put_name, out);
		fprintf(out, "} := %s;\n\n", trace_types[type].tsdl);
	}
}

static void write_field(FILE *out, const struct trace_field *f)
{
	char array[16] = "";

	if (trace_is_array(f->type))
		snprintf(array, sizeof(array), "[%zu]", trace_types[f->type].len);
	/* Names that are keywords of TSDL get an underscore, which readers remove. */
	fprintf(out, "\t\t%s %s%s%s;\n", trace_types[f->type].tsdl,
		strcmp(f->name, "event") ? "" : "_", f->name, array);
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
		"\tbyte_order = le;\n\tpacket.header := struct {\n",
		u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		u[13], u[14], u[15]);
	for (size_t i = 0; i < TRACE_N_HEADER; i++)
		write_field(out, &trace_head[i]);
	fputs("\t};\n};\n\n", out);
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

static void write_stream(FILE *out, unsigned int number)
{
	const struct trace_stream_def *s = &trace_streams[number];

	fprintf(out, "/* %s */\nstream {\n\tid = %u;\n\tpacket.context := struct {\n", s->meaning,
		number);
	for (size_t i = TRACE_N_HEADER; i < TRACE_N_HEAD; i++)
		write_field(out, &trace_head[i]);
	fputs("\t};\n\tevent.header := struct {\n", out);
	write_field(out, &s->field[0]);
	fprintf(out,
		"\t};\n};\n\nevent {\n\tid = 0;\n\tname = \"%s\";\n\tstream_id = %u;\n"
		"\tfields := struct {\n",
		s->name, number);
	for (size_t i = 1; i < s->n_fields; i++)
		write_field(out, &s->field[i]);
	fputs("\t};\n};\n\n", out);
}

static void metadata_put(FILE *out, const struct trace_about *about)
{
	write_head(out, about);
	write_enums(out, about->kind);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		write_stream(out, i);
}

char *metadata_summed(void (*put)(FILE *out, const struct trace_about *about),
		      const struct trace_about *about, const char *before, const char *after)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out)
		return NULL;
	put(out, about);
	failed = fflush(out);
	if (!failed)
		fprintf(out, "%s%08x%s", before,
			(unsigned int)crc32(0, (const uint8_t *)text, (uInt)len), after);
	failed |= !!fclose(out);
	if (!failed)
		return text;
	free(text);
	return NULL;
}

int metadata_write(FILE *out, const struct trace_about *about)
{
	/* The last line; to CTF a comment. */
	char *text = metadata_summed(metadata_put, about, "/* crc32 ", " */\n");

	if (!text)
		return -ENOMEM;
	fputs(text, out);
	free(text);
	return 0;
}
