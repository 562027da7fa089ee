/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of fields. */

#include "trace/fields.h"

const struct trace_type_def trace_types[TRACE_N_TYPES] = {
#define X(name, len, tsdl, text) { len, tsdl, text },
	TRACE_TYPES(X)
#undef X
};

#define FIELD(type, name, unit, meaning) { TRACE_##type, #name, unit, meaning },
#define X(NAME, name, meaning)                                                                     \
	static const struct trace_field name##_fields[] = { AFS_FIELDS_##NAME(FIELD) };
AFS_STREAMS(X)
#undef X

const struct trace_stream_def trace_streams[AFS_N_STREAMS] = {
#define X(NAME, name, meaning)                                                                     \
	{ #name, meaning, sizeof(struct afs_record_##name), name##_fields,                         \
	  sizeof(name##_fields) / sizeof(name##_fields[0]) },
	AFS_STREAMS(X)
#undef X
};
