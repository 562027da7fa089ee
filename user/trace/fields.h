/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_FIELDS_H
#define TRACE_FIELDS_H

/* The tables of bpf/records.h as data, and how a packet begins. */

#include "bpf/records.h"

#include <stdbool.h>
#include <stddef.h>

/* X(type, bytes, element in the layout, name in the metadata, name in the documentation) */
#define TRACE_TYPES(X)                                                                             \
	X(clock, 8, "u64", "uint64_clock_t", "u64, clock")                                         \
	X(u64, 8, "u64", "uint64_t", "u64")                                                        \
	X(s64, 8, "s64", "int64_t", "s64")                                                         \
	X(u32, 4, "u32", "uint32_t", "u32")                                                        \
	X(s32, 4, "s32", "int32_t", "s32")                                                         \
	X(u16, 2, "u16", "uint16_t", "u16")                                                        \
	X(u8, 1, "u8", "uint8_t", "u8")                                                            \
	X(command, 2, "u16", "command_t", "u16, enum")                                             \
	X(role, 1, "u8", "role_t", "u8, enum")                                                     \
	X(class, 1, "u8", "class_t", "u8, enum")                                                   \
	X(object, 1, "u8", "object_t", "u8, enum")                                                 \
	X(kind, 1, "u8", "kind_t", "u8, enum")                                                     \
	X(event, 1, "u8", "event_t", "u8, enum")                                                   \
	X(address, 16, "u8", "uint8_t", "u8[16]")                                                  \
	X(text, AFS_TEXT_LEN, "char", "char_t", "char[256], UTF-8")

enum trace_type {
#define X(name, len, base, tsdl, text) TRACE_##name,
	TRACE_TYPES(X)
#undef X
	    TRACE_N_TYPES
};

struct trace_type_def {
	size_t len;
	const char *base, *tsdl, *text;
};

struct trace_field {
	enum trace_type type;
	const char *name, *unit, *meaning;
};

/* A stream, its one kind of record. */
struct trace_stream_def {
	const char *name, *meaning;
	size_t len;
	const struct trace_field *field; /* the first is the header: the clock */
	size_t n_fields;
};

extern const struct trace_type_def trace_types[TRACE_N_TYPES];
extern const struct trace_stream_def trace_streams[AFS_N_STREAMS];

/*
 * How a packet begins: the fields of struct trace_packet_head, in their order. To CTF the first
 * TRACE_N_HEADER are the header, the others the context of a packet.
 */
#define TRACE_N_HEAD   11
#define TRACE_N_HEADER 3
extern const struct trace_field trace_head[TRACE_N_HEAD];

static inline bool trace_is_array(enum trace_type type)
{
	return type == TRACE_address || type == TRACE_text;
}

static inline bool trace_is_enum(enum trace_type type)
{
	return type >= TRACE_command && type <= TRACE_event;
}

struct run_kind;

/* Calls put for each number of an enum that has a name. kind: the server's, NULL: AFP's. */
void trace_enum_names(enum trace_type type, const struct run_kind *kind,
		      void (*put)(void *user, unsigned int number, const char *name), void *user);

#endif
