# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as tracks on a time axis, for Perfetto."""
