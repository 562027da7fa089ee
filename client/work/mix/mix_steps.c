/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work/mix/mix_steps.h"

/* clang-format off */
#define END		  { .verb = N_STORE_VERBS }
#define OPEN_READ(which)  { .verb = STORE_OPEN, .name = which, .how = STORE_FOR_READ }
#define OPEN_WRITE(which) { .verb = STORE_OPEN, .name = which, .how = STORE_FOR_READ | STORE_FOR_WRITE }
#define RSRC		  (STORE_FOR_READ | STORE_FOR_WRITE | STORE_RSRC)
#define DO(what)	  { .verb = STORE_##what }
#define ON(what, which)	  { .verb = STORE_##what, .name = which }
#define MOVE(from, onto)  { .verb = STORE_RENAME, .name = from, .to = onto }
#define TRY(what, which)  { .verb = STORE_##what, .name = which, .any = true }
/* clang-format on */

/* clang-format off */
const struct mix_step mix_steps[][MIX_STEPS_MAX] = {
	[MIX_LIST] = { DO(LIST), END },
	[MIX_LOOK] = { ON(PROBE, OF_FILE), END },
	[MIX_READ] = { OPEN_READ(OF_FILE), DO(READ), DO(CLOSE), END },
	[MIX_WRITE] = { OPEN_WRITE(OF_FILE), DO(WRITE), DO(CLOSE), END },
	[MIX_SAVE] = { OPEN_READ(OF_FILE), DO(READ), DO(CLOSE),
		       ON(CREATE, OF_NEW), OPEN_WRITE(OF_NEW), DO(WRITE), DO(FLUSH), DO(CLOSE),
		       MOVE(OF_FILE, OF_OLD), MOVE(OF_NEW, OF_FILE), ON(DELETE, OF_OLD), END },
	[MIX_CREATE] = { ON(CREATE, OF_TEMP), ON(PROBE, OF_TEMP), MOVE(OF_TEMP, OF_TEMP_NEW),
			 ON(DELETE, OF_TEMP_NEW), END },
	[MIX_BAND] = { OPEN_WRITE(OF_FILE), DO(WRITE), DO(FLUSH), DO(CLOSE), END },
	[MIX_RANDOM_READ] = { OPEN_READ(OF_FILE), DO(READ), DO(CLOSE), END },
	[MIX_RANDOM_WRITE] = { OPEN_WRITE(OF_FILE), DO(WRITE), DO(CLOSE), END },
	[MIX_LOCK] = { OPEN_WRITE(OF_FILE), DO(LOCK), DO(READ), DO(UNLOCK), DO(CLOSE), END },
	[MIX_MAC_SAVE] = { ON(PROBE, OF_FILE), ON(CREATE, OF_NEW), OPEN_WRITE(OF_NEW), DO(WRITE),
			   DO(FLUSH), DO(CLOSE), ON(SET_XATTR, OF_NEW), ON(SET_FINDER, OF_NEW),
			   { .verb = STORE_OPEN, .name = OF_NEW, .how = RSRC },
			   { .verb = STORE_WRITE, .how = RSRC }, DO(CLOSE),
			   { .verb = STORE_SWAP, .name = OF_NEW, .to = OF_FILE },
			   ON(PROBE, OF_FILE), ON(DELETE, OF_NEW), END },
	[MIX_SEARCH] = { ON(SEARCH, OF_FILE), END },
	[MIX_LOGIN] = { DO(LOGIN), END },
	[MIX_LOGOUT] = { DO(LOGOUT), END },
	[MAKE] = { ON(LOOKUP, OF_BASE), ON(MKDIR, OF_HOME), END },
	[MAKE_MORE] = { ON(MKDIR, OF_HOME), END },
	[FIND] = { ON(LOOKUP, OF_BASE), ON(LOOKUP, OF_HOME), END },
	[FIND_MORE] = { ON(LOOKUP, OF_HOME), END },
	[MAKE_FILES] = { ON(CREATE, OF_FILE), OPEN_WRITE(OF_FILE), DO(WRITE), DO(CLOSE), END },
	[CLEAR] = { TRY(DELETE, OF_FILE), END },
	[CLEAR_ALL] = { TRY(DELETE, OF_FILE), TRY(DELETE, OF_NEW), TRY(DELETE, OF_OLD), END },
	[CLEAR_TEMP] = { TRY(DELETE, OF_TEMP), TRY(DELETE, OF_TEMP_NEW), END },
	[CLEAR_HOME] = { ON(DELETE, OF_HOME), END },
	[VERIFY] = { OPEN_READ(OF_FILE), DO(READ), DO(CLOSE), END },
};

const struct mix_step mix_cures[N_MIX_ACTIONS][MIX_CURES_MAX] = {
	[MIX_LIST] = { END }, [MIX_LOOK] = { END }, [MIX_READ] = { END }, [MIX_WRITE] = { END },
	[MIX_SAVE] = { TRY(DELETE, OF_NEW),
		       { .verb = STORE_RENAME, .name = OF_OLD, .to = OF_FILE, .any = true },
		       TRY(DELETE, OF_OLD), END },
	[MIX_CREATE] = { TRY(DELETE, OF_TEMP), TRY(DELETE, OF_TEMP_NEW), END },
	[MIX_BAND] = { END }, [MIX_RANDOM_READ] = { END }, [MIX_RANDOM_WRITE] = { END },
	[MIX_LOCK] = { END }, [MIX_MAC_SAVE] = { TRY(DELETE, OF_NEW), END },
	[MIX_SEARCH] = { END }, [MIX_LOGIN] = { END }, [MIX_LOGOUT] = { END },
};
/* clang-format on */

const struct mix_step mix_close = { .verb = STORE_CLOSE, .any = true };
