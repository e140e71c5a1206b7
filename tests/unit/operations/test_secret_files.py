"""The files of secrets, looked at before anything is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.errors import InputError
from launcher.operations.secret_files import require_secrets
from launcher.plan import Origin, Secret

from ...deployments import aggregated, pdlaunch
from ..store.making import a_service


def written(file: Path, text: str, mode: int) -> None:
    file.write_text(text)
    file.chmod(mode)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _file: None, "is not there"),
        (lambda file: file.mkdir(), "is no file"),
        (lambda file: written(file, "", 0o600), "is empty"),
        (lambda file: written(file, "key", 0o644), "can be read by everybody"),
    ],
)
def test_what_would_fail_or_be_read_by_all_is_refused_with_its_line(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    file = tmp_path / "key"
    make(file)
    secret = Secret(name="HF_TOKEN", file=str(file), origin=Origin(kind="profile", file="pd.yaml", line=7))
    with pytest.raises(InputError, match=f"pd.yaml:7  secret HF_TOKEN: {file} {said}") as caught:
        require_secrets([a_service("prefill-0").model_copy(update={"secrets": (secret,)})])
    assert caught.value.hint


def test_a_file_of_its_owner_serves(tmp_path: Path) -> None:
    file = tmp_path / "key"
    written(file, "key", 0o400)
    secret = Secret(name="HF_TOKEN", file=str(file), origin=Origin(kind="pdlaunch"))
    require_secrets([a_service("prefill-0").model_copy(update={"secrets": (secret,)})])


def test_up_stops_nothing_for_a_start_that_would_miss_its_secret(tmp_path: Path, free_port: Callable[[], int]) -> None:
    one = aggregated(tmp_path, free_port, "one")
    one.up()
    before = one.pids
    one.settings["engine"]["secrets"] = {"HF_TOKEN": str(tmp_path / "gone")}
    done = pdlaunch("up", str(one.profile))
    assert (done.returncode, one.pids) == (2, before)
    assert "secret HF_TOKEN" in done.stderr
    assert "hint: put the value there: install -m 600" in done.stderr
