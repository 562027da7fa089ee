#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# mirror.sh: prints the Debian mirror for the tests' downloads: AFPD_MIRROR, else
# one that apt has an index of, else (before its first update) the sources of this
# host. Exit status 1 and a message if there is none.
set -euo pipefail
if [ -n "${AFPD_MIRROR:-}" ]; then
    echo "$AFPD_MIRROR"
    exit
fi
url=$({
    apt-get indextargets --format "\$(REPO_URI)" "Origin: Debian" "Label: Debian" 2>/dev/null || :
    cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
        grep -Eo '[a-z]+://[^ ]+' || :
} | awk 'NR == 1 { sub("/$", ""); print }')
if [ -z "$url" ]; then
    echo "mirror.sh: no Debian mirror in the apt sources: set AFPD_MIRROR" >&2
    exit 1
fi
echo "$url"
