# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two sides differ, and how sure that is."""
