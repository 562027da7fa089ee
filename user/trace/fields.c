/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of fields, and the names of numbers. */

#include "trace/fields.h"

#include "run/account.h"
#include "run/kind.h"

const struct trace_type_def trace_types[TRACE_N_TYPES] = {
#define X(name, len, base, tsdl, text) { len, base, tsdl, text },
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

const struct trace_field trace_head[TRACE_N_HEAD] = {
	{ TRACE_u32, "magic", "", "" },
	{ TRACE_address, "uuid", "", "" },
	{ TRACE_u32, "stream_id", "", "" },
	{ TRACE_clock, "timestamp_begin", "ns", "" },
	{ TRACE_clock, "timestamp_end", "ns", "" },
	{ TRACE_u64, "content_size", "bits", "" },
	{ TRACE_u64, "packet_size", "bits", "" },
	{ TRACE_u64, "events_discarded", "", "" },
	{ TRACE_u64, "packet_seq_num", "", "" },
	{ TRACE_u32, "crc32", "", "" },
	{ TRACE_u32, "pad", "", "" },
};

void trace_enum_names(enum trace_type type, const struct run_kind *kind,
		      void (*put)(void *user, unsigned int number, const char *name), void *user)
{
	const struct account_names *names = run_kind_accounts(kind);

#define X(NAME, number, name) put(user, number, name);
	switch (type) {
	case TRACE_command:
		for (unsigned int i = 0; i < AFS_N_ACCOUNTS; i++)
			if (account_known_name_of(names, i))
				put(user, i, account_known_name_of(names, i));
		break;
	case TRACE_role:
		for (unsigned int i = 0; i < AFS_N_ROLES; i++)
			put(user, i, ledger_role_name(i));
		break;
	case TRACE_class:
		for (unsigned int i = 0; i < AFS_N_CLASSES; i++)
			put(user, i, ledger_class_name(i));
		put(user, AFS_CLASS_USER, "user");
		break;
	case TRACE_object:
		for (unsigned int i = 0; i < AFS_N_OBJECTS; i++)
			put(user, i, ledger_object_name(i));
		break;
	case TRACE_kind:
		AFS_KINDS(X)
		break;
	case TRACE_event:
		AFS_EVENTS(X)
		break;
	default:
		break;
	}
#undef X
}
