# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a server can take no more, and what limits it there."""
