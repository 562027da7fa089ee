# SPDX-License-Identifier: GPL-2.0-or-later
"""A key distribution centre (Debian's krb5-kdc) on a free port of 127.0.0.1, and a netatalk whose
users log in with its tickets; for with."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from netatalk import HERE, Server
from unpacked import unpacked

REALM = "TEST.LOCAL"
SERVICE = "afpserver/localhost"
PASSWORD = "secret1"
# One name of an even and one of an odd number of bytes: what follows it begins at an even place.
USERS = ("bench1", "odd")
PATIENCE_S = 90
SKEW_S = 5  # a ticket is taken for so long after its end

KRB5_CONF = """[libdefaults]
default_realm = {realm}
dns_lookup_realm = false
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
clockskew = {skew}
[realms]
{realm} = {{
kdc = 127.0.0.1:{port}
}}
"""
KDC_CONF = """[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
database_name = {folder}/principal
key_stash_file = {folder}/stash
}}
[dbmodules]
db_module_dir = {modules}
[logging]
kdc = FILE:{folder}/log
"""


def _free_port() -> int:
    """Of UDP and of TCP."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        return int(tcp.getsockname()[1])


class Kdc:
    """Inside: folder, env (what a client's environment has besides), and the methods."""

    def __init__(self) -> None:
        self._at = unpacked("kerberos")
        self._made = tempfile.TemporaryDirectory(prefix="afpscope-kdc-")
        self.folder = Path(self._made.name)
        self.env = {
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder}/tickets",
        }

    def __enter__(self) -> Self:
        (modules,) = self._at.glob("usr/lib/*/krb5/plugins/kdb")
        names = {"realm": REALM, "port": _free_port(), "folder": self.folder, "skew": SKEW_S}
        names |= {"modules": modules}
        (self.folder / "krb5.conf").write_text(KRB5_CONF.format(**names))
        (self.folder / "kdc.conf").write_text(KDC_CONF.format(**names))
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._kdc = subprocess.Popen(
            [self._at / "usr/sbin/krb5kdc", "-n", "-r", REALM],
            env=os.environ | self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE_S
        while "commencing operation" not in self._log():
            assert time.monotonic() < until and self._kdc.poll() is None, self._log()
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._made.cleanup()

    def _log(self) -> str:
        file = self.folder / "log"
        return file.read_text() if file.exists() else ""

    def _run(self, program: str, *args: str, text: str = "", check: bool = True) -> int:
        done = subprocess.run(
            [program, *args],
            input=text,
            env=os.environ | self.env | {"PATH": f"{self._at}/usr/sbin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or not done.returncode, done.stdout + done.stderr
        return done.returncode

    def stop(self) -> None:
        self._kdc.terminate()
        self._kdc.wait()

    def add_all(self) -> None:
        """USERS and SERVICE; the first user has a ticket."""
        for user in USERS:
            self.add_user(user, PASSWORD)
        self.add_service(SERVICE)
        self.tickets(USERS[0], PASSWORD)

    def add_user(self, name: str, password: str) -> None:
        self._run("kadmin.local", "-r", REALM, "addprinc", "-pw", password, name)

    def add_service(self, name: str) -> None:
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", name)

    def keytab(self, name: str) -> bytes:
        """The keys of a service, as a file has them."""
        file = self.folder / "keytab"
        file.unlink(missing_ok=True)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-norandkey", "-k", str(file), name)
        return file.read_bytes()

    def tickets(self, user: str, password: str, name: str = "tickets", life: str = "1h") -> str:
        """KRB5CCNAME of a new file with the user's ticket, from which those for services come."""
        where = f"FILE:{self.folder}/{name}"
        self._run("kinit", "-l", life, "-c", where, user, text=f"{password}\n")
        return where

    def change_key(self, name: str) -> None:
        self._run("kadmin.local", "-r", REALM, "cpw", "-randkey", name)

    def wait_until_expired(self, where: str, service: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while not self._run("kvno", "-c", where, service, check=False):
            assert time.monotonic() < until, where
            time.sleep(0.2)


_numbers = itertools.count()


@contextlib.contextmanager
def serving(kdc: Kdc, suite: str = "forky", **more: str) -> Iterator[Server]:
    """A netatalk that is SERVICE and has its key."""
    own = f"krb5-{suite}-{os.getpid()}-{next(_numbers)}"
    hooks = {
        "AFPD_UAMS": "uams_gss.so uams_dhx2.so",
        "AFPD_ENV": f"KRB5_CONFIG=/tmp/{own}.conf KRB5RCACHEDIR=/tmp",
        "AFPD_USERS": f"odd:{PASSWORD}",
        "AFPD_GLOBAL": f"k5 keytab = /tmp/{own}.keytab\nk5 service = afpserver\n"
        f"k5 realm = {REALM}\nfqdn = localhost",
    }
    hooks |= more
    root = subprocess.run(
        [str(HERE / "root.sh"), suite], check=True, capture_output=True, text=True
    ).stdout
    config, keytab = (Path(root.strip()) / "tmp" / f"{own}.{end}" for end in ("conf", "keytab"))
    try:
        keytab.touch(0o600)
        keytab.write_bytes(kdc.keytab(SERVICE))
        config.write_bytes((kdc.folder / "krb5.conf").read_bytes())
        with Server(suite, **hooks) as server:
            yield server
    finally:
        config.unlink(missing_ok=True)
        keytab.unlink(missing_ok=True)
