/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_KIND_H
#define RUN_KIND_H

/* What kind of server was watched, as far as output needs to know. user/kinds has the kinds. */

#include "run/account.h"
#include "run/figures.h"
#include "run/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What texts call the things of a server, by kind. In a text that is for several kinds their keys
 * stand in braces: "{server} waited for its {backend}"; "{asked.lower}" and "{asked.upper}" are
 * small and capital letters. X(NAME, key, where a kind has no word)
 */
#define RUN_WORDS(X)                                                                               \
	X(SERVER, "server", "server")       /* a process that serves clients: role SERVER */       \
	X(HELPER, "helper", "backend")      /* a process of what it asks: role BACKEND */          \
	X(BACKEND, "backend", "backend")    /* what it asks, as a whole */                         \
	X(DATABASE, "database", "database") /* what it opens itself in place of that */            \
	X(ASKED, "asked", "backend")        /* either, as the head of a column */                  \
	X(PROTOCOL, "protocol", "its")      /* whose requests they are */                          \
	X(OPERATION, "operation", "operation of a client") /* whose time a client takes */         \
	X(LOG, "log", "its settings")                      /* where it is said what it logs */

enum run_word {
#define X(NAME, key, usual) RUN_WORD_##NAME,
	RUN_WORDS(X)
#undef X
	    RUN_N_WORDS
};

#define RUN_WORD_MAX 80 /* bytes of a word */

extern const char *const run_word_keys[RUN_N_WORDS];

struct run_kind {
	const char *name;              /* "afp" */
	const char *role[AFS_N_ROLES]; /* names of its processes; NULL: as bpf/events.h has it */
	const char
	    *word[RUN_N_WORDS]; /* of SERVER and HELPER, role is meant; NULL: the usual one */
	bool has_requests;      /* its protocol is decoded: requests by account */
	bool has_threads;       /* its threads' names say what they are for */
	/*
	 * A session has a thread of its own, which serves one request after the other: what it did
	 * and waited for is known of each request. All of run/run.h, findings, records.
	 */
	bool by_session;
	bool has_live; /* its requests can be followed as they happen: top, slow, exporter, records
			*/
	bool has_diagnosis;
	enum run_judged judged;               /* of has_diagnosis */
	const struct account_names *accounts; /* NULL: AFP's */
	/* What its results mean, and those that are not among them (which may return NULL: it has
	 * no name). Both NULL: as AFP's. */
	const struct result_name *results;
	size_t n_results;
	const char *(*result_text)(int32_t code);
	bool has_hex_results; /* people know them as 0xc0000034 */
	bool parks;           /* bpf/park.h */
};

/* The words of AFP, which is the kind of a run that names none. */
#define RUN_WORDS_AFP                                                                              \
	{                                                                                          \
		[RUN_WORD_BACKEND] = "CNID server", [RUN_WORD_DATABASE] = "CNID database",         \
		[RUN_WORD_ASKED] = "CNID", [RUN_WORD_PROTOCOL] = "AFP",                            \
		[RUN_WORD_OPERATION] = "AFP command", [RUN_WORD_LOG] = "'log level' in afp.conf"   \
	}

struct run;

/* "afp" */
const char *run_kind_name(const struct run *r);
/* Whether its requests are known. */
bool run_has_requests(const struct run *r);
/* Whether its threads are shown by name. */
bool run_has_threads(const struct run *r);
/* Whether its sessions are known one by one: all metrics and findings have a meaning. */
bool run_is_by_session(const struct run *r);
/* Whether its processes ask a backend that is watched with them. */
bool run_has_backend(const struct run *r);
/* The name of an account. Returns buf or a constant. */
const char *run_account_name(const struct run *r, unsigned int number, char buf[ACCOUNT_NAME_MAX]);
/* Whether a metric has a meaning for this kind of server. */
bool run_has_metric(const struct run *r, unsigned int metric);
/* The name of a role's processes. */
const char *run_role_name(const struct run *r, unsigned int role);

/* "another server's " before the name of a process that is none of the server that is watched, if
 * it is called as one of these; else "". kind NULL: AFP's. */
const char *run_kind_another(const struct run_kind *kind, const char *comm);
/* The head of a column of account_columns. */
const char *run_column_name(const struct run *r, unsigned int column);
const char *run_word(const struct run *r, enum run_word w);
/* NULL: its kind has none. */
const char *run_own_word(const struct run *r, enum run_word w);
/* The same of a kind of which there is no run; k NULL: of AFP. */
const char *run_kind_word(const struct run_kind *k, enum run_word w);
/* text with the words of the run's kind; out: room for len bytes. Returns out. */
const char *run_text(const struct run *r, const char *text, char *out, size_t len);
const char *run_kind_text(const struct run_kind *k, const char *text, char *out, size_t len);
/* The names of its accounts, for account_*_of(); k NULL: of AFP. */
const struct account_names *run_kind_accounts(const struct run_kind *k);
/*
 * What the time of requests is called that is in no part: of a kind whose threads park them, for
 * which nearly all of it is that. k NULL: of AFP.
 */
const char *run_kind_rest(const struct run_kind *k);
/* What a result of a request means; NULL: no name. k NULL: of AFP. */
const char *run_kind_result_text(const struct run_kind *k, int32_t code);
/* Those of its results that a table names: *n. */
const struct result_name *run_kind_results(const struct run_kind *k, size_t *n);
/* The result as people know it. Returns out. */
#define RUN_RESULT_MAX 16
char *run_kind_result(const struct run_kind *k, int32_t code, char out[RUN_RESULT_MAX]);
/* Which figures and rules a server of this kind is judged by; k NULL: of AFP. */
enum run_judged run_kind_judged(const struct run_kind *k);

#endif
