# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML report: its pages, pictures and templates."""
