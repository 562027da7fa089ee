# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that carry on what comes on a port of the loopback to a server: socat, haproxy, ..."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from netatalk import BOUND
from scope import wait_until
from unpacked import unpacked

# A program of nobody's, in threads, which has another connection besides.
OWN = """
import socket, sys, threading
def carry(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
kept = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
ear = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    a = ear.accept()[0]
    b = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for end in (a, b):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for ends in ((a, b), (b, a)):
        threading.Thread(target=carry, args=ends, daemon=True).start()
"""

HAPROXY = """
defaults
    mode tcp
    timeout connect 5s
    timeout client 600s
    timeout server 600s
listen afp
    bind 127.0.0.1:{port}
    server one 127.0.0.1:{server}
"""

NGINX = """
daemon off;
user root;
pid {tmp}/nginx.pid;
error_log stderr;
load_module {root}/usr/lib/nginx/modules/ngx_stream_module.so;
events {{ }}
stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass 127.0.0.1:{server}; }} }}
"""

XINETD = """
service afp
{{
    type = UNLISTED
    port = {port}
    bind = 127.0.0.1
    socket_type = stream
    wait = no
    user = root
    redirect = 127.0.0.1 {server}
}}
"""

SSHD = """
ListenAddress 127.0.0.1:{sshd}
HostKey {tmp}/key
AuthorizedKeysFile {tmp}/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
{parts}
"""
# What newer releases of sshd start, which is not where they were built for.
SSHD_PARTS = {"sshd-session": "SshdSessionPath", "sshd-auth": "SshdAuthPath"}


def program(name: str) -> str:
    return next(
        str(found)
        for folder in ("usr/sbin", "usr/bin", "usr/libexec/docker")
        if (found := unpacked("forwarders") / folder / name).is_file()
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def listens(port: int) -> bool:
    """On any address of this network namespace."""
    return any(
        line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    )


def copied(name: str, folder: Path, other: str) -> str:
    """A program in a file of another name."""
    found = shutil.which(name)
    assert found
    return str(shutil.copy(found, folder / other))


Command = tuple[str, Sequence[str]]  # how the process is called, what to start


def _of_socat(verb: str, host: str) -> tuple[str, str]:
    """What socat calls this, and the address in its words."""
    return (f"{verb[:3]}6{verb[3:]}", f"[{host}]") if ":" in host else (verb, host)


def socat_line(host: str, port: int, to: str, server: int) -> list[str]:
    listen, near = _of_socat("TCP-LISTEN", host)
    connect, far = _of_socat("TCP", to)
    return ["socat", f"{listen}:{port},bind={near},reuseaddr,fork", f"{connect}:{far}:{server}"]


def docker_proxy_line(host: str, port: int, to: str, server: int) -> list[str]:
    own = f"-host-ip {host} -host-port {port}"
    container = f"-container-ip {to} -container-port {server}"
    line = f"exec {program('docker-proxy')} -proto tcp {own} {container} 3> /dev/null"
    return ["sh", "-c", line]


def _written(tmp: Path, text: str, **more: object) -> str:
    path = tmp / "conf"
    path.write_text(text.format(tmp=tmp, root=unpacked("forwarders"), **more))
    return str(path)


def _socat(port: int, server: int, tmp: Path) -> list[Command]:
    return [("socat", socat_line("127.0.0.1", port, "127.0.0.1", server))]


def _docker_proxy(port: int, server: int, tmp: Path) -> list[Command]:
    return [("docker-proxy", docker_proxy_line("127.0.0.1", port, "127.0.0.1", server))]


def _haproxy(port: int, server: int, tmp: Path) -> list[Command]:
    conf = _written(tmp, HAPROXY, port=port, server=server)
    return [("haproxy", [program("haproxy"), "-W", "-db", "-f", conf])]


def _nginx(port: int, server: int, tmp: Path) -> list[Command]:
    conf = _written(tmp, NGINX, port=port, server=server)
    return [("nginx", [program("nginx"), "-e", "stderr", "-p", str(tmp), "-c", conf])]


def _redir(port: int, server: int, tmp: Path) -> list[Command]:
    return [("redir", [program("redir"), "-n", f"127.0.0.1:{port}", f"127.0.0.1:{server}"])]


def _xinetd(port: int, server: int, tmp: Path) -> list[Command]:
    conf = _written(tmp, XINETD, port=port, server=server)
    return [("xinetd", [program("xinetd"), "-dontfork", "-f", conf])]


def _proxyd(port: int, server: int, tmp: Path) -> list[Command]:
    proxyd = "/lib/systemd/systemd-socket-proxyd"
    activate = ["systemd-socket-activate", "-l", f"127.0.0.1:{port}"]
    return [("systemd-socket-", [*activate, proxyd, f"127.0.0.1:{server}"])]


def _ssh(port: int, server: int, tmp: Path) -> list[Command]:
    """sshd as well: two programs in a row."""
    key, sshd = tmp / "key", free_port()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    programs = unpacked("forwarders") / "usr/lib/openssh"
    parts = ((option, programs / name) for name, option in SSHD_PARTS.items())
    there = "\n".join(f"{option} {part}" for option, part in parts if part.exists())
    conf = _written(tmp, SSHD, sshd=sshd, parts=there)
    users = tmp / "passwd"
    users.write_text(Path("/etc/passwd").read_text() + "sshd:x:65533:65534::/run/sshd:/bin/false\n")
    script = f"mount --bind {users} /etc/passwd && mkdir -p /run/sshd && exec "
    serve = ["unshare", "-m", "sh", "-c", f"{script}{program('sshd')} -D -e -f {conf}"]
    options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
    line = ["ssh", "-N", "-i", str(key), "-p", str(sshd), *(f"-o{each}" for each in options)]
    line += ["-L", f"127.0.0.1:{port}:127.0.0.1:{server}", "root@127.0.0.1"]
    wait = f"until : < /dev/tcp/127.0.0.1/{sshd}; do sleep 0.05; done 2> /dev/null; "
    return [("sshd", serve), ("ssh", ["bash", "-c", wait + 'exec "$@"', "bash", *line])]


def _own(port: int, server: int, tmp: Path) -> list[Command]:
    return [(Path(sys.executable).name, [sys.executable, "-c", OWN, str(port), str(server)])]


def _called_afpd(port: int, server: int, tmp: Path) -> list[Command]:
    """It gives itself the server's name."""
    named = 'open("/proc/self/comm", "w").write("afpd")\n' + OWN
    return [("afpd", [sys.executable, "-c", named, str(port), str(server)])]


def _thread_called_afpd(port: int, server: int, tmp: Path) -> list[Command]:
    """Its threads that carry have the server's name."""
    carry = '    open("/proc/thread-self/comm", "w").write("afpd")\n    while data :='
    named = OWN.replace("    while data :=", carry)
    return [(Path(sys.executable).name, [sys.executable, "-c", named, str(port), str(server)])]


def _argument_afpd(port: int, server: int, tmp: Path) -> list[Command]:
    """ps shows the server's name."""
    ((name, line),) = _socat(port, server, tmp)
    return [(name, ["bash", "-c", 'exec -a afpd "$@"', "bash", *line])]


def _copy_afpd(port: int, server: int, tmp: Path) -> list[Command]:
    """Its program's file has the server's name."""
    ((_, line),) = _socat(port, server, tmp)
    return [("afpd", [copied("socat", tmp, "afpd"), *line[1:]])]


FORWARDERS: dict[str, Callable[[int, int, Path], list[Command]]] = {
    "socat": _socat,
    "docker-proxy": _docker_proxy,
    "haproxy": _haproxy,
    "nginx": _nginx,
    "redir": _redir,
    "xinetd": _xinetd,
    "proxyd": _proxyd,
    "ssh": _ssh,
    "own": _own,
    "called-afpd": _called_afpd,
    "thread-called-afpd": _thread_called_afpd,
    "argument-afpd": _argument_afpd,
    "copy-afpd": _copy_afpd,
}


@contextlib.contextmanager
def started(line: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program and all that it starts, until the end of the block."""
    libraries = unpacked("forwarders") / "usr/lib/x86_64-linux-gnu"
    command = [*BOUND, "env", f"LD_LIBRARY_PATH={libraries}", *line]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def forwarded(how: str, server: int, tmp: Path) -> Iterator[tuple[int, list[str]]]:
    """A port whose connections one of them carries on, and how its processes are called."""
    port = free_port()
    commands = FORWARDERS[how](port, server, tmp)
    with contextlib.ExitStack() as stack:
        for _, line in commands:
            process = stack.enter_context(started(line))
        wait_until(lambda: listens(port) or process.poll() is not None, 20, f"{how} to listen")
        assert process.poll() is None, f"{how} ended"
        yield port, [name for name, _ in commands]


# A program of nobody's: for each client one process reads, and its child asks the server; a pipe
# or a pair of sockets is in between.
BY_A_CHILD = """
import os, signal, socket, sys, threading
if sys.argv[5:]:
    open("/proc/self/comm", "w").write(sys.argv[5])
def carry(read, write):
    while data := read(65536):
        write(data)
    os._exit(0)  # and so what it leads to, on both sides
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
ear = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client = ear.accept()[0]
    if not os.fork():
        break
    client.close()
ear.close()
a, b = socket.socketpair()
r, w = os.pipe()
by_pipe = sys.argv[3] == "pipe"
if os.fork():
    b.close()
    os.close(w)
    back = (lambda n: os.read(r, n)) if by_pipe else a.recv
    ends = (client.recv, a.sendall), (back, client.sendall)
else:
    a.close()
    os.close(r)
    client.close()
    server = socket.create_connection((sys.argv[4], int(sys.argv[2])))
    back = (lambda data: os.write(w, data)) if by_pipe else b.sendall
    ends = (b.recv, server.sendall), (server.recv, back)
for end in ends:
    threading.Thread(target=carry, args=end).start()
"""


@contextlib.contextmanager
def carried_by_a_child(
    server: int, how: str, host: str = "127.0.0.1", name: str = ""
) -> Iterator[int]:
    """A port from which such a program, called so, leads to a server's; how: pipe or socket."""
    port = free_port()
    line = [sys.executable, "-c", BY_A_CHILD, str(port), str(server), how, host]
    with started([*line, *filter(None, [name])]):
        wait_until(lambda: listens(port), 20, "it to listen")
        yield port
