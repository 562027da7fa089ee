/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_FIELDS_H
#define TRACE_FIELDS_H

/* The table of bpf/records.h as data. */

#include "bpf/records.h"

#include <stddef.h>

/* X(type, bytes, name in the metadata, name in the documentation) */
#define TRACE_TYPES(X)                                                                             \
	X(clock, 8, "uint64_clock_t", "u64, clock")                                                \
	X(u64, 8, "uint64_t", "u64")                                                               \
	X(s64, 8, "int64_t", "s64")                                                                \
	X(u32, 4, "uint32_t", "u32")                                                               \
	X(s32, 4, "int32_t", "s32")                                                                \
	X(u16, 2, "uint16_t", "u16")                                                               \
	X(u8, 1, "uint8_t", "u8")                                                                  \
	X(command, 2, "command_t", "u16, enum")                                                    \
	X(role, 1, "role_t", "u8, enum")                                                           \
	X(class, 1, "class_t", "u8, enum")                                                         \
	X(object, 1, "object_t", "u8, enum")                                                       \
	X(kind, 1, "kind_t", "u8, enum")                                                           \
	X(event, 1, "event_t", "u8, enum")                                                         \
	X(address, 16, "uint8_t", "u8[16]")                                                        \
	X(text, AFS_TEXT_LEN, "char_t", "char[256], UTF-8")

enum trace_type {
#define X(name, len, tsdl, text) TRACE_##name,
	TRACE_TYPES(X)
#undef X
	    TRACE_N_TYPES
};

struct trace_type_def {
	size_t len;
	const char *tsdl, *text;
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

#endif
