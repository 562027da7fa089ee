/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other programs make of a run: when it is asked for, checked, made, and said to be missing.
 */
#include "app/beside.h"

#include "app/external.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/typed.h"

#include <errno.h>

int beside_check(const struct runs_cfg *cfg, struct err *e)
{
	int r = 0;

	if ((cfg->lake || cfg->bundle) && cfg->not_kept && !cfg->folder)
		return err_set(e, -EINVAL, "--%s needs a run that is kept: leave --no-save out",
			       cfg->lake ? "into" : "bundle");
	if (cfg->lake)
		r = external_lake_check(cfg->lake, e);
	if (r || !cfg->bundle)
		return r;
	r = external_bundle_check(cfg->bundle, e);
	if (r)
		return r;
	r = file_check(cfg->bundle, FILE_RESULT, e);
	return r ? err_prefix(e, r, "--bundle") : 0;
}

/* Whether the run is in the lake now. */
static bool beside_put(const char *lake, const char *folder, FILE *out)
{
	char word[ERR_TEXT_MAX];
	struct err e = { 0 };

	if (external_lake_put(lake, folder, &e)) {
		cmd_say("%s", e.text);
		return false;
	}
	typed_print(out, "\nThe run is in the lake %s, too: afpscope query --lake %s\n", lake,
		    shell_word(word, sizeof(word), lake));
	return true;
}

bool beside_make(const struct runs_cfg *cfg, const char *folder, FILE *out)
{
	bool made = !cfg->lake || beside_put(cfg->lake, folder, out);
	struct err e = { 0 };

	if (!cfg->bundle)
		return made;
	if (external_bundle_make(cfg->bundle, folder, &e)) {
		cmd_say("%s", e.text);
		return false;
	}
	fprintf(out, "\nThe run without names is in %s\n", cfg->bundle);
	return made;
}

bool beside_lack(const struct runs_cfg *cfg)
{
	if (cfg->lake)
		cmd_say("the run is not in the lake %s: it is not kept", cfg->lake);
	if (cfg->bundle)
		cmd_say("there is no bundle %s: the run is not kept", cfg->bundle);
	return cfg->lake || cfg->bundle;
}
