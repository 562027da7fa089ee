# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/arrows.py, which make lint runs, finds each kind of breach."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SOUND = {
    "user/report/a.h": "int a_one(void);\n",
    "user/report/a.c": '#include "report/a.h"\n#include "report/b.h"\n\n'
    "int a_one(void)\n{\n\treturn b_one();\n}\n",
    "user/report/b.h": "int b_one(void);\nstruct b {\n\tint x;\n};\n",
    "user/report/b.c": '#include "report/b.h"\n\n'
    "int b_one(void)\n{\n\tstruct a_one;\n\n\treturn 1; /* a_one() */\n}\n",
    "user/watch/c.c": "/* What afpscope knows of readsize. */\n",
    "user/report/d.c": '/* Not "afpd". */\nstatic const char *const key = "cnid_cpu";\n',
    "user/kinds/e.c": 'static const char *const word = "afpd";\n',
    "analysis/afpscope/one.py": "from . import two\nfrom .three import value\n",
    "analysis/afpscope/two.py": "import three\n",
    "analysis/afpscope/three.py": "from . import (\n    two,\n)\n",
}
BREACHES = {
    "circle": ("user/report/b.c", "return 1;", "return a_one();"),
    "b.h -> ": ("user/report/b.h", "struct b {", '#include "report/b.h"\nstruct b {'),
    "one.py -> ": ("analysis/afpscope/two.py", "import three", "from .one import value"),
    "three.py -> ": ("analysis/afpscope/two.py", "import three", "    from . import x, three"),
    "may not include": ("user/report/b.c", "report/b.h", "main/main.h"),
    "<bpf/libbpf.h>": ("user/report/b.c", '"report/b.h"', "<bpf/libbpf.h>"),
    "the function b_one is also in": (
        "user/report/a.c",
        "int a_one",
        "static int b_one(void)\n{\n\treturn 1;\n}\n\nint a_one",
    ),
    "struct b is also in": ("user/report/a.h", "int a", "struct b {\n};\nint a"),
    "afpd belongs to user/kinds": ("user/watch/c.c", "readsize", "afpd"),
    "dsi_id belongs to user/kinds": ("user/watch/c.c", "readsize", "dsi_id"),
    "afpd is a word of user/kinds": ("user/report/d.c", "cnid_cpu", "for {cnid_cpu} of afpd"),
    "cnid_dbd is a word of": ("user/report/d.c", '"cnid_cpu"', '"cnid_cpu of " "cnid_dbd\'s"'),
    "CNID is a word of user/kinds": ("user/report/d.c", "cnid_cpu", "the CNIDs"),
    "afpd is a word of": ("analysis/afpscope/two.py", "import three", 'role = "afpd"'),
    "netatalk is a word of": ("analysis/afpscope/two.py", "import three", 'a = "in netatalk\'s"'),
    "asks for a name: strcmp": ("user/report/d.c", '"cnid_cpu"', 'strcmp(r->kind, "rx") ? a : b'),
    "name: strcmp(run_kind_name": ("user/report/d.c", '"cnid_cpu"', "!strcmp(run_kind_name(r), a)"),
    "strcmp(r->command": ("user/report/d.c", '"cnid_cpu"', '!strcmp(r->command, "rx")'),
    "run.kind ==": ("analysis/afpscope/two.py", "import three", 'a = run.kind == "any"'),
    "run.command in": ("analysis/afpscope/two.py", "import three", 'a = run.command in ("load",)'),
    "FPRead belongs to user/kinds": ("user/watch/c.c", "readsize", "FPRead"),
}


def checked(folder: Path, texts: dict[str, str]) -> tuple[int, str]:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-B", TOP / "tests/arrows.py", *texts],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_sound_tree_has_no_breach(tmp_path: Path) -> None:
    assert checked(tmp_path, SOUND) == (0, "")


@pytest.mark.parametrize("expected", BREACHES)
def test_a_breach_is_found(tmp_path: Path, expected: str) -> None:
    name, old, new = BREACHES[expected]
    assert old in SOUND[name]
    code, out = checked(tmp_path, SOUND | {name: SOUND[name].replace(old, new)})
    assert code == 1 and len(out.splitlines()) == 1
    assert expected.strip("<>") in out
