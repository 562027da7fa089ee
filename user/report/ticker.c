/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/ticker.h"

#include "report/cell.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEVELS    8
#define CURVE_MIN 8 /* columns: fewer say nothing */
#define LINE_LEN  1024

const char *const ticker_choices[] = { "on", "off", "json", NULL };

static bool ticker_is_utf8(void)
{
	locale_t l = newlocale(LC_CTYPE_MASK, "", NULL);
	bool is = l && !strcmp(nl_langinfo_l(CODESET, l), "UTF-8");

	if (l)
		freelocale(l);
	return is;
}

void ticker_begin(struct ticker *l, FILE *out, enum ticker_how how)
{
	struct winsize size;

	*l = (struct ticker) { .out = out, .how = how, .width = 80 };
	if (how == TICKER_OFF)
		return;
	l->terminal = isatty(fileno(out));
	l->utf8 = ticker_is_utf8();
	if (l->terminal && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col)
		l->width = size.ws_col;
}

/* ---- a line ---- */

/* Pieces; from the first that has no room on, which matters less, none is shown. */
struct ticker_text {
	char *text;
	size_t len, at;
	const char *between;
	size_t most; /* columns */
	bool full;
};

static void ticker_put(struct ticker_text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void ticker_put(struct ticker_text *t, const char *fmt, ...)
{
	const char *between = t->at ? t->between : "";
	char piece[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(piece, sizeof(piece), fmt, args);
	va_end(args);
	t->full |= text_columns(t->text) + strlen(between) + text_columns(piece) > t->most;
	if (t->full)
		return;
	snprintf(t->text + t->at, t->len - t->at, "%s%s", between, piece);
	t->at += strlen(t->text + t->at);
}

/* Of the actions that did not fail, as sum_ns. */
static uint64_t ticker_mean(const struct run_second *s)
{
	return s->n > s->failed ? s->sum_ns / (s->n - s->failed) : 0;
}

/* "1.20ms"; "-": nothing ended. */
static const char *ticker_time(char out[40], uint64_t ns, bool utf8)
{
	char *micro;

	snprintf(out, 40, "%s", ns ? cell_time((double)ns).text : "-");
	micro = utf8 ? NULL : strstr(out, "µ");
	if (micro) {
		*micro = 'u';
		memmove(micro + 1, micro + strlen("µ"), strlen(micro + strlen("µ")) + 1);
	}
	return out;
}

/* All but the curve. */
static void ticker_figures(const struct ticker *l, const struct ticker_second *s,
			   struct ticker_text *t)
{
	const struct run_second *c = &s->clients;
	bool brief = !strcmp(t->between, " ");
	char text[40];

	if (s->phase)
		ticker_put(t, "%s", s->phase);
	ticker_put(t, "%us", s->number);
	if (s->progress && l->terminal)
		ticker_put(t, "%s", s->progress);
	if (strcmp(s->state, "measuring") != 0)
		ticker_put(t, "(%s)", s->state);
	ticker_put(t, "%s/s", cell_rate((double)(c->n - c->failed) / s->seconds).text);
	if (s->mixed) {
		ticker_put(t, "mean %s", ticker_time(text, ticker_mean(c), l->utf8));
		ticker_put(t, "max %s", ticker_time(text, c->max_ns, l->utf8));
	} else {
		ticker_put(t, "p50 %s", ticker_time(text, run_second_quantile(c, 0.5), l->utf8));
		ticker_put(t, "p99 %s", ticker_time(text, run_second_quantile(c, 0.99), l->utf8));
	}
	ticker_put(t, brief ? "%s fail" : "%s failed", cell_count(c->failed).text);
	if (s->drops)
		ticker_put(t, brief ? "%s drop" : "%s dropped", cell_count(c->dropped).text);
	ticker_put(t, brief ? "%sMB/s" : "%s MB/s",
		   cell_rate((double)c->bytes / 1e6 / s->seconds).text);
	if (s->has_probe)
		ticker_put(t, brief ? "probe %s" : "probe max %s",
			   ticker_time(text, s->probe.max_ns, l->utf8));
}

/* In that many columns, scaled by the highest of them. */
static void ticker_put_curve(const struct ticker *l, struct ticker_text *t, size_t columns)
{
	static const char *const blocks[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[LEVELS] = { "_", ".", "-", ":", "=", "+", "*", "#" };
	size_t n = l->n_curve < columns ? l->n_curve : columns;
	const double *v = &l->curve[l->n_curve - n];
	double most = 0;

	ticker_put(t, "%s", "");
	t->between = "";
	for (size_t i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	for (size_t i = 0; i < n; i++) {
		size_t level = most > 0 ? (size_t)(v[i] / most * (LEVELS - 1) + 0.5) : 0;

		ticker_put(t, "%s", l->utf8 ? blocks[level] : plain[level]);
	}
}

void ticker_line(const struct ticker *l, const struct ticker_second *s, char *out, size_t len)
{
	struct ticker_text t = { out, len, 0, "  ", l->terminal ? l->width - 1 : LINE_LEN, false };
	size_t used;

	*out = '\0';
	ticker_figures(l, s, &t);
	if (!l->terminal)
		return;
	if (t.full || text_columns(out) + 2 + CURVE_MIN > t.most) {
		*out = '\0';
		t = (struct ticker_text) { out, len, 0, " ", l->width - 1, false };
		ticker_figures(l, s, &t);
	}
	used = text_columns(out) + strlen(t.between);
	if (!t.full && used + CURVE_MIN <= t.most)
		ticker_put_curve(l, &t, t.most - used);
}

/* ---- JSON ---- */

static void ticker_json_ns(FILE *out, const char *key, uint64_t ns)
{
	if (ns)
		fprintf(out, ",\"%s\":%llu", key, (unsigned long long)ns);
	else
		fprintf(out, ",\"%s\":null", key);
}

/* The object, with a line's end. */
static void ticker_json(const struct ticker_second *s, FILE *out)
{
	const struct run_second *c = &s->clients;

	fprintf(out,
		"{\"second\":%u,\"state\":\"%s\",\"actions\":%u,\"failed\":%u,\"dropped\":%u,"
		"\"bytes\":%llu,\"silent_s\":%u",
		s->number, s->state, c->n, c->failed, c->dropped, (unsigned long long)c->bytes,
		s->silent);
	ticker_json_ns(out, "mean_ns", ticker_mean(c));
	ticker_json_ns(out, "p50_ns", run_second_quantile(c, 0.5));
	ticker_json_ns(out, "p99_ns", run_second_quantile(c, 0.99));
	ticker_json_ns(out, "max_ns", c->max_ns);
	ticker_json_ns(out, "probe_p99_ns",
		       s->has_probe ? run_second_quantile(&s->probe, 0.99) : 0);
	if (s->phase)
		fprintf(out, ",\"phase\":\"%s\"", s->phase);
	fputs("}\n", out);
}

/* ---- second by second ---- */

static void ticker_remember(struct ticker *l, const struct ticker_second *s)
{
	if (l->n_curve == TICKER_CURVE)
		memmove(l->curve, l->curve + 1, --l->n_curve * sizeof(*l->curve));
	l->curve[l->n_curve++] = s->clients.n - s->clients.failed;
}

/* Of a log: several seconds in one line. */
static void ticker_log(struct ticker *l, const struct ticker_second *s)
{
	char text[LINE_LEN];

	l->sum.number = s->number;
	l->sum.state = s->state;
	l->sum.phase = s->phase;
	l->sum.has_probe = s->has_probe;
	l->sum.drops = s->drops;
	l->sum.mixed = s->mixed;
	run_second_add(&l->sum.clients, &s->clients);
	run_second_add(&l->sum.probe, &s->probe);
	if (++l->sum.seconds < TICKER_LOG_S)
		return;
	ticker_line(l, &l->sum, text, sizeof(text));
	fprintf(l->out, "%s\n", text);
	l->sum = (struct ticker_second) { 0 };
}

void ticker_add(struct ticker *l, const struct ticker_second *s)
{
	char text[LINE_LEN];

	if (l->how == TICKER_OFF)
		return;
	ticker_remember(l, s);
	if (l->how == TICKER_JSON) {
		ticker_json(s, l->out);
	} else if (l->terminal) {
		ticker_line(l, s, text, sizeof(text));
		fprintf(l->out, "\r\033[K%s", text);
	} else {
		ticker_log(l, s);
	}
	fflush(l->out);
}

void ticker_end(struct ticker *l)
{
	l->n_curve = 0;
	l->sum = (struct ticker_second) { 0 };
	if (l->how != TICKER_SHOWN || !l->terminal)
		return;
	fputs("\r\033[K", l->out);
	fflush(l->out);
}
