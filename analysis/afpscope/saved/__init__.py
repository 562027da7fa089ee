# SPDX-License-Identifier: GPL-2.0-or-later
"""How a run is saved: folders, files, records, the trace. Reads, and knows no command."""
