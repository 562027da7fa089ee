#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# install.sh program|analysis|client: put that part of what was built below DESTDIR and PREFIX.
# install.sh uninstall: take away what it put there, the folders that it made if they are empty
# then, and nothing else.
# install.sh launchers FOLDER PYTHON LIBRARY: the commands in Python, in FOLDER.
#
# Each part leaves a list of what it put, PREFIX/share/afpscope/installed-PART: one path a line,
# without DESTDIR, relative to PREFIX if it is below that. A folder that was made ends with "/", a
# virtual environment with "//". Installing again also takes away what is on the list and no longer
# part of it. Where LIST is empty, as in a package of a distribution, there is none.
#
# The Makefile sets everything else in the environment. Paths may have blanks in them.
set -eu
cd "$(dirname "$0")/.."
umask 022
part=$1
nl='
'

die() {
	echo "install.sh: $*" >&2
	exit 1
}

in_sed() { # TEXT: as the new text of s|||
	printf '%s' "$1" | sed 's/[&|\\]/\\&/g'
}

# A blank in the path of an interpreter ends it: the shell, which Python passes over as a text, may
# be told better.
launcher() { # PYTHON LIBRARY
	case $1 in
	*[[:blank:]]*) printf '%s\n' '#!/bin/sh' "'''exec' \"$1\" \"\$0\" \"\$@\"" "' '''" ;;
	*) printf '#!%s\n' "$1" ;;
	esac
	sed "1d; s|@LIB@|$(in_sed "$2")|" analysis/launcher.in
}

if [ "$part" = launchers ]; then
	launcher "$3" "$4" > "$2/afpscope-analysis"
	chmod 755 "$2/afpscope-analysis"
	for command in $ANALYSIS; do ln -sf afpscope-analysis "$2/afpscope-$command"; done
	exit
fi

case $PREFIX in
*"$nl"*) die "PREFIX has a line break in it" ;;
/*) ;;
*) die "PREFIX is not absolute: $PREFIX" ;;
esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: > "$tmp/new"

record() { # PATH: without DESTDIR
	case $1 in
	"$PREFIX"/) echo ./ ;;
	"$PREFIX"/*) printf '%s\n' "${1#"$PREFIX"/}" ;;
	*) printf '%s\n' "$1" ;;
	esac >> "$tmp/new"
}

folder() { # PATH
	if [ -z "$1" ] || [ -d "$DESTDIR$1" ]; then return; fi
	folder "${1%/*}"
	mkdir "$DESTDIR$1"
	record "$1/"
}

put() { # MODE FILE PATH
	folder "${3%/*}"
	record "$3"
	rm -f "$DESTDIR$3" # a link, it may be
	install -m "$1" "$2" "$DESTDIR$3"
}

link() { # PATH_OF_THE_FILE PATH
	folder "${2%/*}"
	record "$2"
	if [ "${1%/*}" = "${2%/*}" ]; then
		ln -sfn "${1##*/}" "$DESTDIR$2"
	else
		ln -sfnr "$DESTDIR$1" "$DESTDIR$2"
	fi
}

# Files that a page names stand in DOC: as a path in roff, in which a blank would end a word.
pages() { # FILE...
	doc=$(in_sed "$(printf '%s' "$DOC" | sed 's/[[:blank:]]/\\ /g')")
	for page in "$@"; do
		case $page in
		*/ja/man1/*) to=$MANDIR/ja/man1/${page##*/} ;;
		*) to=$MANDIR/man1/${page##*/} ;;
		esac
		sed "s|docs/|$doc/|g" "$page" > "$tmp/made"
		put 644 "$tmp/made" "$to"
	done
}

completions() {
	for shell in bash zsh fish; do
		"$BUILD/afpscope" completion $shell > "$tmp/$shell"
	done
	put 644 "$tmp/bash" "$COMPLETIONS/afpscope"
	put 644 "$tmp/zsh" "$ZSH_SITE/_afpscope"
	put 644 "$tmp/fish" "$FISH_VENDOR/afpscope.fish"
	for name in afp_lantest afp_speedtest; do link "$COMPLETIONS/afpscope" "$COMPLETIONS/$name"; done
}

unit() {
	path=$(printf '%s' "$PREFIX/bin/afpscope" | sed 's/%/%%/g')
	case $path in *[[:blank:]]*) path="\"$path\"" ;; esac
	sed "s|@PREFIX@/bin/afpscope|$(in_sed "$path")|" monitoring/afpscope-exporter.service > "$tmp/made"
	put 644 "$tmp/made" "$UNITS/afpscope-exporter.service"
}

program() {
	put 755 "$BUILD/afpscope" "$PREFIX/bin/afpscope"
	put 755 "$BUILD/rxperf" "$NAMES_DIR/rxperf"
	for name in $NAMES; do link "$PREFIX/bin/afpscope" "$NAMES_DIR/$name"; done
	for plugin in $MPI; do put 644 "$plugin" "$PREFIX/lib/afpscope/${plugin##*/}"; done
	# shellcheck disable=SC2086 # names without blanks
	pages $PROGRAM_MAN
	completions
	unit
	for file in afpscope-dashboard.json afpscope-alerts.yml; do
		put 644 "monitoring/$file" "$DATA/monitoring/$file"
	done
	# Pages above docs/ that those in it name are beside them here, and man shows the manual pages.
	{
		printf '%s\n' CONTRIBUTING.md SECURITY.md
		find docs -type f \( -name '*.md' -o -name workflow.yml -o -path 'docs/*/*' \)
	} | while IFS= read -r file; do
		from=$file
		case $file in
		*.md)
			from=$tmp/made
			# shellcheck disable=SC2016 # what is between backticks is shown as code
			sed 's@](\(docs\|\.\.\)/@](@g; s@\[[^]]*\](\([a-z_-]*\)\.1\(\.in\)\?)@`man \1`@g' "$file" > "$from"
			;;
		esac
		put 644 "$from" "$DOC/${file#docs/}"
	done
	echo "installed in $DESTDIR$PREFIX: afpscope, manual pages, share/doc/afpscope"
}

environment() {
	if [ -z "$DESTDIR" ] && [ -n "$VENV" ]; then
		[ -e "$VENV/complete" ] || record "$VENV//"
		analysis/venv.sh "$VENV"
	elif [ -n "$VENV" ]; then
		echo "no virtual environment is made below DESTDIR: \"analysis/venv.sh $VENV\" makes it on the machine itself"
	else
		echo "no virtual environment is made: $PYTHON must have" \
			"$(sed 's/=.*//' analysis/requirements.txt | paste -sd ' ');" \
			"or give VENV=DIR, and make it there with \"analysis/venv.sh DIR\""
	fi
}

analysis() {
	# shellcheck disable=SC2086 # names without blanks
	pages $ANALYSIS_MAN
	PYTHONPATH=analysis "$PYTHON" -B -m afpscope.catalogue po/report.ja.po "$tmp/made"
	put 644 "$tmp/made" "$LOCALES/ja/LC_MESSAGES/afpscope.mo"
	find analysis/afpscope -name '*.py' -o -name '*.html' -o -name py.typed | while IFS= read -r file; do
		put 644 "$file" "$DATA/python/${file#analysis/}"
	done
	interpreter=$PYTHON
	[ -z "$VENV" ] || interpreter=$VENV/bin/python3
	launcher "$interpreter" "$DATA/python${PYTHON_MORE:+:$PYTHON_MORE}" > "$tmp/made"
	put 755 "$tmp/made" "$LAUNCHER"
	for command in $ANALYSIS; do link "$LAUNCHER" "$PREFIX/bin/afpscope-$command"; done
	echo "installed in $DESTDIR$PREFIX: the commands in Python"
	environment
}

# What talks to a server, for other programs: cc -I PREFIX/include/afpscope ... -lafpclient -lgcrypt -lm
client() {
	put 644 "$BUILD/libafpclient.a" "$PREFIX/lib/libafpclient.a"
	find client user/base user/run -name '*.h' | while IFS= read -r file; do
		put 644 "$file" "$PREFIX/include/afpscope/${file#*/}"
	done
	echo "installed in $DESTDIR$PREFIX: lib/libafpclient.a and include/afpscope"
}

place() { # LINE of a list: sets $at
	case $1 in
	./) at=$DESTDIR$PREFIX ;;
	/*) at=$DESTDIR$1 ;;
	*) at=$DESTDIR$PREFIX/$1 ;;
	esac
}

take_files() { # LIST
	while IFS= read -r line; do
		place "$line"
		case $line in
		*//) [ ! -e "$at/pyvenv.cfg" ] || rm -rf "$at" ;;
		*/) ;;
		*) rm -f "$at" ;;
		esac
	done < "$1"
}

# Also of an installation that broke off.
keep_list() { # EXIT_STATUS
	if [ -z "$LIST" ]; then
		rm -rf "$tmp"
		return
	fi
	folder "$DATA"
	record "$DATA/installed-$part"
	cat "$DESTDIR$DATA/installed-$part" > "$tmp/old" 2> /dev/null || :
	LC_ALL=C sort -u -o "$tmp/old" "$tmp/old"
	LC_ALL=C sort -u -o "$tmp/new" "$tmp/new"
	LC_ALL=C comm -23 "$tmp/old" "$tmp/new" > "$tmp/only-old"
	if [ "$1" = 0 ]; then
		grep -v '/$' "$tmp/only-old" > "$tmp/gone" || :
		take_files "$tmp/gone"
		grep '/$' "$tmp/only-old" >> "$tmp/new" || :
	else
		cat "$tmp/only-old" >> "$tmp/new"
	fi
	install -m 644 "$tmp/new" "$DESTDIR$DATA/installed-$part"
	rm -rf "$tmp"
}

finish() {
	status=$?
	keep_list $status
	exit $status
}

uninstall() {
	for list in "$DESTDIR$DATA"/installed-*; do
		[ ! -f "$list" ] || cat "$list" >> "$tmp/new"
	done
	[ -s "$tmp/new" ] || echo "nothing to take away: there is no list $DESTDIR$DATA/installed-*"
	take_files "$tmp/new"
	grep '[^/]/$' "$tmp/new" | while IFS= read -r line; do
		place "$line"
		printf '%s\n' "${at%/}"
	done | LC_ALL=C sort -ru | while IFS= read -r line; do # what is in a folder before it
		rmdir "$line" 2> /dev/null || :
	done
}

case $part in
program | analysis | client)
	[ -z "$DESTDIR" ] || mkdir -p "$DESTDIR"
	trap finish EXIT
	trap 'exit 130' INT TERM HUP
	;;
uninstall) ;;
*) die "there is no part $part" ;;
esac
$part
