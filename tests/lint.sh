#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lint.sh: checks the form of the tree. Prints each breach as FILE:LINE: TEXT
# and exits 1 when there is one.
#
#   format     clang-format for C, shellcheck for scripts, ruff for Python
#   arrows     what files include, no circles, each struct's name once: arrows.py
#   tests      each source has a test, whose name or header says so: tested.py
#   licence    each source has its SPDX line; REUSE.toml speaks for the rest
#   budgets    files up to 600 lines, functions up to 60 (80 with "long:" in the comment above)
#   pages      prose of README.md and docs/ up to 100 columns: pages.py
#   words      those of our own where the field has one, in what people read: words.py
#   po         which sentences lack a translation: said, and no breach
#   globals    no mutable globals outside user/main/main.c (and what user/host/patient.c remembers)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
ruff=$(tests/need.sh --ruff) || exit 2
clang_format=$(tests/need.sh --clang-format) || exit 2
bad=0
breach() {
	echo "$*"
	bad=1
}

mapfile -t c < <(tests/files.sh '*.c' '*.h')
mapfile -t py < <(tests/files.sh '*.py')
mapfile -t sh < <(tests/files.sh '*.sh' .ci/run debian/tests/directory debian/tests/lantest)
"$clang_format" --dry-run --Werror "${c[@]}" || bad=1
shellcheck -x -P SCRIPTDIR "${sh[@]}" || bad=1
# Not ".": where there is no git, they would look into build/ while tests work there.
"$ruff" check -q "${py[@]}" || bad=1
"$ruff" format -q --check "${py[@]}" || breach "ruff format: run it"

python3 -B tests/arrows.py || bad=1
python3 -B tests/tested.py || bad=1
python3 -B tests/translations.py || bad=1
python3 -B tests/words.py || bad=1
python3 -B tests/pages.py || bad=1

if grep -n '^.\{81,\}' debian/control; then
	breach "debian/control: a line of more than 80 columns, of which lintian warns"
fi

for f in "${c[@]}" "${sh[@]}" "${py[@]}" Makefile .github/*/*.yml; do
	head -n 3 "$f" | grep -q 'SPDX-License[-]Identifier: GPL-2.0-or-later' || breach "$f:1: no SPDX line"
done
for f in "${c[@]}" "${sh[@]}" "${py[@]}"; do
	n=$(wc -l <"$f")
	[ "$n" -le 600 ] || breach "$f:$n: file of $n lines, 600 are the budget"
done

# A function body is what stands between ^{ and ^} (the brace style guarantees it).
awk '
	FNR == 1 { start = 0; long = 0 }
	/long:/ { long = FNR }
	/^{/ { start = FNR }
	/^}/ && start {
		n = FNR - start + 1
		limit = long && start - long < 12 ? 80 : 60
		if (n > limit) { printf "%s:%d: function of %d lines, %d are the budget\n", FILENAME, start, n, limit; bad = 1 }
		start = 0
	}
	END { exit bad }' "${c[@]}" || bad=1

while IFS= read -r hit; do
	breach "$hit: mutable global"
done < <(grep -nE '^(static |volatile )*(unsigned |signed |struct |enum )?[a-z_0-9]+ \*?[a-z_0-9]+(\[[^]]*\])*( = .*)?;' \
	user/*/*.c user/*/*/*.c client/*/*.c client/*/*/*.c | grep -vE 'const|cmd_stop;|typedef|return|extern')

exit $bad
