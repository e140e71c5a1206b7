"""Users that services are to run as."""

from __future__ import annotations

import os
import pwd

import pytest

from launcher.backends.supervisord.users import check
from launcher.errors import InputError


def test_a_user_that_is_not_here_is_named() -> None:
    with pytest.raises(InputError, match="user nobody-here does not exist") as error:
        check("[program:x]\nuser=nobody-here\n")
    assert error.value.hint is not None
    assert "useradd" in error.value.hint


def test_only_root_becomes_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    own = pwd.getpwnam("nobody").pw_uid
    monkeypatch.setattr(os, "geteuid", lambda: own)
    check("[program:x]\nuser=nobody\n")
    with pytest.raises(InputError, match="only root can start services as root"):
        check("[program:x]\nuser=nobody\n[program:y]\nuser=root\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    check("[program:x]\nuser=nobody\n[program:y]\nuser=root\n")


def test_no_user_is_no_question() -> None:
    check("[program:x]\ncommand=y\n; user=nobody-here\n")
