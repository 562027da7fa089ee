# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run says, as tables and figures that can be compared."""
