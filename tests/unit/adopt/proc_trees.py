"""A /proc made of files: processes as the kernel shows them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


class Proc:
    """Folders and files below `root`; pid 1 is there already."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "net").mkdir(parents=True)
        (root / "net" / "tcp").write_text("  sl  local_address rem_address   st\n")
        (root / "stat").write_text("cpu 1 2 3\nbtime 1700000000\n")
        self.add(1, ["/sbin/init"], ppid=0)

    def add(
        self,
        pid: int,
        words: Sequence[str],
        *,
        ppid: int = 1,
        environ: Mapping[str, str] | None = None,
        cmdline: bytes | None = None,
        cgroup: str = "/user.slice/session-1.scope",
        name: str | None = None,
        ignores_hangup: bool = False,
        uid: int | None = None,
        cwd: Path | None = None,
        pid_namespace: str = "pid:[1]",
        state: str = "S",
    ) -> None:
        folder = self.root / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "ns").mkdir()
        called = name or words[0].rpartition("/")[2][:15]
        numbers = [str(ppid), "1", "1", "0", "-1", "0", *["0"] * 10, "1", "0", str(pid * 100)]
        (folder / "stat").write_text(f"{pid} ({called}) {state} {' '.join(numbers)} 0 0\n")
        text = b"".join(os.fsencode(w) + b"\0" for w in words) if cmdline is None else cmdline
        (folder / "cmdline").write_bytes(text)
        pairs = (environ or {}).items()
        (folder / "environ").write_bytes(b"".join(os.fsencode(f"{n}={v}") + b"\0" for n, v in pairs))
        who = os.geteuid() if uid is None else uid
        ignored = "0000000000000001" if ignores_hangup else "0000000000000000"
        (folder / "status").write_text(f"Name:\t{called}\nUid:\t{who}\t{who}\t{who}\t{who}\nSigIgn:\t{ignored}\n")
        lines = cgroup if ":" in cgroup else f"0::{cgroup}"
        (folder / "cgroup").write_text(f"{lines}\n")
        (folder / "ns" / "pid").symlink_to(pid_namespace)
        (folder / "cwd").symlink_to(cwd or "/srv")
        (folder / "exe").symlink_to(words[0])

    def listen(self, pid: int, port: int) -> None:
        inode = pid * 1000 + port
        fds = self.root / str(pid) / "fd"
        (fds / str(len(list(fds.iterdir())) + 3)).symlink_to(f"socket:[{inode}]")
        with (self.root / "net" / "tcp").open("a") as table:
            table.write(f"   0: 00000000:{port:04X} 00000000:0000 0A 0:0 00:00 0 0 0 {inode} 1\n")
