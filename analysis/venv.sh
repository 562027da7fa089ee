#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# venv.sh DIR [PACKAGE...]: make DIR a Python virtual environment with the packages that
# requirements.txt pins and the PACKAGEs, from PyPI. It does nothing if DIR has exactly these.
# What nothing here runs is removed again: pip, setuptools, and the largest packages' own tests.
# A folder that has files and is no virtual environment is refused.
#
# PYTHON  the interpreter (default: /usr/bin/python3)
set -eu
dir=$1
shift
python=${PYTHON:-/usr/bin/python3}
list=$(dirname "$0")/requirements.txt
wanted=$("$python" --version && cat "$list" && echo "$@")
die() {
	echo "venv.sh: $*" >&2
	exit 1
}

if [ "$wanted" = "$(cat "$dir/complete" 2>/dev/null)" ]; then exit 0; fi
if [ ! -e "$dir/pyvenv.cfg" ] && [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
	die "$dir has files and is no virtual environment: it stays as it is"
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
	die "$python cannot make virtual environments: apt-get install python3-venv"
echo "installing $(tr '\n' ' ' < "$list")$* in $dir" >&2
umask 022
rm -rf "$dir"
if ! "$python" -m venv "$dir" ||
	! "$dir/bin/pip" install -q --disable-pip-version-check --root-user-action=ignore -r "$list" "$@" >&2; then
	rm -rf "$dir"
	die "pip could not install these packages (it said why above); everything else is in order"
fi
for package in numpy scipy matplotlib; do
	find "$dir"/lib/python*/site-packages/$package -type d -name tests -prune -exec rm -r {} +
done
"$dir/bin/python" -m pip uninstall -qq --root-user-action=ignore -y setuptools pip >&2
echo "$wanted" > "$dir/complete"
