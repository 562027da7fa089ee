/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints how each layer was observed, and why not in a better way. */
#include "report/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LABEL    "Observed by"
#define INDENT   (sizeof(LABEL)) /* of the layers' names: the label and a blank */

#define NOT      ".not"
#define LADDER   "not."
#define OFF      "off: "
#define KEY_PART 32

/* The order of the layers; others follow in their own order. */
static const char *const layers[] = { "calls", "requests", "times", "storage" };
#define N_LAYERS (sizeof(layers) / sizeof(layers[0]))

/* A note's key taken apart: "storage.file" is layer "storage", part "file". */
struct place {
	char layer[KEY_PART], part[KEY_PART];
};

/* The reason in a note that begins with "off"; NULL: another note. */
static const char *off(const char *text)
{
	return text && !strncmp(text, OFF, strlen(OFF)) ? text + strlen(OFF) : NULL;
}

/* Whether anything is said of this layer. */
static bool rungs_is_there(const struct run_notes *in, const char *layer)
{
	size_t len = strlen(layer);

	for (size_t i = 0; i < in->n; i++) {
		const char *key = in->note[i].key ? in->note[i].key : "";

		if (!strncmp(key, layer, len) && (!key[len] || key[len] == '.'))
			return true;
	}
	return false;
}

static bool any_complete(const struct run *r)
{
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->complete)
			return true;
	return false;
}

const char *rungs_why(const struct run *r, const char *key)
{
	const char *why = run_note_find(&r->absent, key);

	if (!why)
		why = off(run_note_find(&r->rungs, key));
	if (!why)
		why = run_note_find(&r->absent, "*");
	if (!why)
		why = run_note_find(&r->rungs, LADDER "bpf");
	if (!why && rungs_is_there(&r->rungs, layers[0]) && !rungs_is_there(&r->rungs, key))
		why = "only watching by BPF shows this";
	if (!why && r->n_phases && !any_complete(r))
		why = "no iteration was completed";
	return why ? why : "not measured";
}

/* false: the note has no place in the list. */
static bool rungs_place_of(const struct run_notes *in, size_t i, struct place *out)
{
	static const char *const costs[] = { RUNGS_PRICE, RUNGS_PRICE_NS, RUNGS_OWN_NS,
					     RUNGS_WATCHED_NS };
	const char *key = in->note[i].key ? in->note[i].key : "";
	size_t len = strlen(key), layer = strcspn(key, ".");
	char of[2 * KEY_PART];

	*out = (struct place) { 0 };
	for (size_t k = 0; k < sizeof(costs) / sizeof(costs[0]); k++)
		if (!strcmp(key, costs[k]))
			return false;
	if (len > strlen(NOT) && !strcmp(key + len - strlen(NOT), NOT)) {
		snprintf(of, sizeof(of), "%.*s", (int)(len - strlen(NOT)), key);
		if (run_note_find(in, of))
			return false; /* printed after that note */
	}
	if (!strncmp(key, LADDER, strlen(LADDER))) {
		snprintf(out->layer, sizeof(out->layer), "%s", layers[0]);
		snprintf(out->part, sizeof(out->part), "not %s", key + strlen(LADDER));
		return true;
	}
	snprintf(out->layer, sizeof(out->layer), "%.*s", (int)layer, key);
	snprintf(out->part, sizeof(out->part), "%s", key[layer] ? key + layer + 1 : "");
	return true;
}

/* "fentry/fexit vfs_read, vfs_readv: not permitted; kprobe ...": prints each way's first word.
 */
static void print_short(FILE *to, const char *why)
{
	while (*why) {
		const char *end = strstr(why, "; "), *at, *colon = NULL;

		if (!end)
			end = why + strlen(why);
		for (at = why; (at = strstr(at, ": ")) && at < end; at += 2)
			colon = at;
		if (colon)
			fprintf(to, "%.*s", (int)strcspn(why, " :"), why);
		else
			colon = why;
		fprintf(to, "%.*s", (int)(end - colon), colon);
		why = end;
		if (*why) {
			fputs("; ", to);
			why += 2;
		}
	}
}

/* The text of a note that follows its part. To be freed; NULL without memory. */
static char *rungs_say(const struct run_notes *in, size_t i, const struct place *at)
{
	const struct run_note *n = &in->note[i];
	char *text = NULL, key[2 * KEY_PART];
	const char *why;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	if (!strcmp(at->layer, "times") && !at->part[0])
		fputs("in requests: ", to);
	fputs(n->text, to);
	snprintf(key, sizeof(key), "%s" NOT, n->key ? n->key : "");
	why = run_note_find(in, key);
	if (why) {
		fputs(" (", to);
		if (at->part[0])
			print_short(to, why);
		else
			fputs(why, to);
		fputc(')', to);
	}
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

struct list {
	struct section *s;
	const struct run_notes *in;
	size_t width;    /* of the layers' names */
	bool any;        /* the label was printed */
	bool *done;      /* notes that were printed together with another */
	const char *now; /* the layer whose name was printed last */
};

/* The parts of all notes of this layer that say the same, and what they say. */
static int rungs_say_alike(struct list *l, size_t first, const struct place *at)
{
	char *text = rungs_say(l->in, first, at), *other;

	if (!text)
		return -ENOMEM;
	section_more(l->s, "%s", at->part);
	for (size_t i = first + 1; i < l->in->n && at->part[0]; i++) {
		struct place more;

		if (!rungs_place_of(l->in, i, &more) || strcmp(more.layer, at->layer))
			continue;
		other = rungs_say(l->in, i, &more);
		if (other && !strcmp(other, text)) {
			section_more(l->s, ", %s", more.part);
			l->done[i] = true;
		}
		free(other);
	}
	section_more(l->s, "%s%s", at->part[0] ? ": " : "", text);
	free(text);
	return 0;
}

static int rungs_put_note(struct list *l, size_t i, const struct place *at)
{
	bool named = l->now && !strcmp(l->now, at->layer);
	char label[sizeof(LABEL) + KEY_PART];

	snprintf(label, sizeof(label), "%-*s%s", (int)INDENT, l->any ? "" : LABEL,
		 named ? "" : at->layer);
	l->any = true;
	section_indented(l->s, label, INDENT + l->width + 1);
	return rungs_say_alike(l, i, at);
}

/* Notes of this layer; NULL: of all that have no place in the order. */
static int put_layer(struct list *l, const char *layer)
{
	struct place at;
	int e = 0;

	l->now = NULL;
	for (size_t i = 0; i < l->in->n && !e; i++) {
		if (l->done[i] || !rungs_place_of(l->in, i, &at) ||
		    (layer && strcmp(layer, at.layer) != 0))
			continue;
		e = rungs_put_note(l, i, &at);
		l->done[i] = true;
		l->now = layer;
	}
	return e;
}

int paint_rungs(struct section *s)
{
	struct list l = { .s = s, .in = &s->p->view.run->rungs };
	struct place at;
	int e = 0;

	l.done = calloc(l.in->n + 1, sizeof(*l.done));
	if (!l.done)
		return -ENOMEM;
	for (size_t i = 0; i < l.in->n; i++)
		if (rungs_place_of(l.in, i, &at) && text_columns(at.layer) > l.width)
			l.width = text_columns(at.layer);
	for (size_t i = 0; i < N_LAYERS && !e; i++)
		e = put_layer(&l, layers[i]);
	if (!e)
		e = put_layer(&l, NULL);
	free(l.done);
	return e;
}
