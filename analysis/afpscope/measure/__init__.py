# SPDX-License-Identifier: GPL-2.0-or-later
"""The C program as a child that measures: steps, pauses, servers."""
