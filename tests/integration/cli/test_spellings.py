# SPDX-License-Identifier: GPL-2.0-or-later
"""Users and volumes with letters beyond ASCII, blanks and backslashes, however they are spelled."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from netatalk import Server
from scheduling import in_check
from scope import NO_SESSION, OK, Scope

# Right to left; Hangul, whose composed syllables are three letters each; signs that combine; as
# long as AFP allows a user's name, and netatalk a volume's (80 bytes, decomposed).
USERS = ("müller", "anna maria", "DOMAIN\\anna", "משה", "한글", "ü" * 127 + "x")
VOLUMES = (
    *("Bücher", "Ärzte/2026", "資料 📚", "한글 각", "שלום עולם 2026"),
    *("👩\u200d👩\u200d👧 👍🏽 e\u0301\u0323", "é" * 26 + "xx"),
)
# What netatalk offers under another name, and the begin of that.
RENAMED = {"a:b/c": "a/b/c", "w" * 100: "w" * 70}
QUICK = ("-n", "1", "-f", "<", "--set", "4.6", "--watch=off")
# The first in check. The others are watched: each exits with 4 unless all cross-checks close.
USER_FORMS = [("NFD", "--watch=off"), ("NFC", "--watch=auto"), ("percent", "--watch=auto")]
VOLUME_FORMS = [("percent", "--watch=off"), *((f, "--watch=auto") for f in ("NFC", "NFD", "url"))]


def spellings(name: str) -> dict[str, str]:
    return {form: unicodedata.normalize(form, name) for form in ("NFC", "NFD")}


@pytest.fixture(scope="module")
def named() -> Iterator[Server]:
    """With cnid_dbd, which gets the user's and the volume's name in its arguments."""
    users = "\n".join(f"{user}:secret1" for user in USERS)
    volumes = "\n".join((*VOLUMES, *RENAMED))
    with Server("forky", "dbd", AFPD_USERS=users, AFPD_VOLUMES=volumes) as server:
        yield server


@pytest.mark.parametrize(("form", "watch"), in_check(USER_FORMS, USER_FORMS[:1]))
@pytest.mark.parametrize("user", USERS)
def test_lantest_runs_for_each_user_and_says_who(
    scope: Scope, named: Server, user: str, form: str, watch: str
) -> None:
    name = quote(user, safe="") if form == "percent" else spellings(user)[form]
    args = (*QUICK, watch)
    done = scope(named, *args, user=name, password="secret1", uam=None, save=True).expect(OK)
    assert done.run
    assert done.run.saved["complete"]


def test_clients_of_a_load_take_the_spelling_that_the_first_login_found(
    scope: Scope, named: Server
) -> None:
    """A login refused for each of them would be in the way of who bans hosts for that."""
    work = ("-n", "4", "-d", "1", "--ramp=0", "--files=4", "--file-size=16K", "--watch=off")
    user = quote("müller")
    scope(named, *work, tool="load", user=user, password="secret1", uam=None).expect(OK)


@pytest.mark.parametrize(("spelling", "watch"), in_check(VOLUME_FORMS, VOLUME_FORMS[:1]))
@pytest.mark.parametrize("volume", VOLUMES)
def test_lantest_runs_on_each_volume_however_it_is_spelled(
    scope: Scope, named: Server, volume: str, spelling: str, watch: str
) -> None:
    if spelling == "url":
        where = f"afp://bench1@127.0.0.1:{named.port}/{quote(volume, safe='')}"
        line = [str(scope.binary), "lantest", *QUICK, watch, "-w", "secret1", where]
        done = scope.execute(line, save=True).expect(OK)
    else:
        name = quote(volume, safe="") if spelling == "percent" else spellings(volume)[spelling]
        done = scope(named, *QUICK, watch, volume=name, save=True).expect(OK)
    assert done.run and done.run.saved["complete"]


@pytest.mark.parametrize("volume", RENAMED)
def test_a_refusal_says_which_name_the_server_offers(
    scope: Scope, named: Server, volume: str
) -> None:
    done = scope(named, *QUICK, volume=volume)
    done.expect(NO_SESSION, f'cannot open volume "{volume}"', f'"{RENAMED[volume]}')


def test_record_labels_sessions_by_user_and_volume(scope: Scope, named: Server) -> None:
    for user, volume in zip((*USERS, USERS[0]), VOLUMES, strict=True):
        login = {"user": user, "password": "secret1", "volume": volume, "uam": None}
        work = ("--files", "3", "-l", "create,stat", "--watch=off", "--no-save")
        inner = scope.command(named, *work, tool="smallfile", **login)
        run = scope.record(named, command=inner).finish().expect(OK).run
        assert run
        text = json.dumps(run.saved, ensure_ascii=False)
        assert json.dumps(user, ensure_ascii=False) in text
        assert volume in text


def test_a_user_refused_in_both_spellings_is_told_so(scope: Scope, named: Server) -> None:
    done = scope(named, *QUICK, user=quote("möller"), password="secret1", uam=None)
    done.expect(NO_SESSION, "login of möller by dhx2", "so was the name as it was given, with %XX")
    plain = scope(named, *QUICK, user="möller", password="secret1", uam=None)
    assert "%XX" not in plain.expect(NO_SESSION).err
