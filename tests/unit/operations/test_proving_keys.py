"""The first prompt to servers that ask for a key carries it, from the file that their command reads it from."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.operations.proving import key_of
from launcher.plan import Argument, Origin, Secret, Service

OWN = Origin(kind="adopted")


def service(*secrets: Secret) -> Service:
    argv = (Argument(words=("python",), origin=OWN), Argument(words=("--api-key",), origin=OWN))
    return Service(
        name="decode-0", role="decode", argv=argv, env=(), secrets=secrets, host="127.0.0.1", ports={"http": 1}
    )


def test_the_key_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "api-key"
    file.write_text("s3cret\n")
    other = Secret(name="HF_TOKEN", file="/nowhere", origin=OWN)
    assert key_of(service(other, Secret(name="--api-key", file=str(file), origin=OWN))) == "s3cret"
    assert key_of(service(other)) is None
    file.unlink()
    with pytest.raises(PdlaunchError, match=r"cannot read the key of decode-0: .*api-key: No such file"):
        key_of(service(Secret(name="--api-key", file=str(file), origin=OWN)))
