# SPDX-License-Identifier: GPL-2.0-or-later
"""A run without the names in it, so that it can be sent to somebody who must not know them."""
