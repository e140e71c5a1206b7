"""What the units say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.errors import InputError
from launcher.render import render
from launcher.render.systemd import Scope

from .making import layout, settings, shipped_plan, units, written

DECODE, ROUTER, TARGET, READY = (
    f"pd-dsv4-flash{rest}" for rest in ("-decode-0.service", "-router.service", ".target", "-ready.service")
)
SECRETS = """\
name: six
model: /models/six
engine:
  venv: /opt/sglang/venv
  user: sglang
  secrets: {HF_TOKEN: /etc/secrets/50%}
prefill: {gpus: 0-3, secrets: {HF_TOKEN: SECRET_FILE}}
decode: {gpus: 4-7}
router: {port: 8000}
"""


def test_a_server_stops_restarts_and_is_bounded_as_the_profile_says() -> None:
    found = settings(units(shipped_plan())[DECODE])
    assert found["Type"] == ["exec"]
    assert (found["KillMode"], found["TimeoutStopSec"]) == (["mixed"], ["90"])
    assert (found["Restart"], found["StartLimitBurst"], found["StartLimitIntervalSec"]) == (["always"], ["4"], ["1800"])
    assert found["PartOf"] == [TARGET]
    assert found["LimitMEMLOCK"] == ["infinity"]
    assert found["User"] == ["sglang"]
    assert found["ExecStart"] == [":/var/lib/pdlaunch/dsv4-flash/generations/37/decode-0.sh"]
    assert found["NUMAMask"] == ["1"]


def test_no_server_waits_for_another_so_that_all_stop_at_once() -> None:
    found = units(shipped_plan())
    services = {name for name in found if name.endswith(("-0.service", "-router.service"))}
    assert len(services) == 3
    for name in services:
        words = " ".join(settings(found[name]).get("After", []) + settings(found[name]).get("Before", []))
        assert not services & set(words.split())


def test_the_target_waits_for_tokens_and_does_not_require_a_server() -> None:
    found = settings(units(shipped_plan())[TARGET])
    assert found["Requires"] == [READY]
    assert READY in found["After"][0].split()
    assert "Install" not in units(shipped_plan())[TARGET]
    assert settings(units(shipped_plan())[READY])["RefuseManualStop"] == ["yes"]


def test_what_a_user_s_manager_cannot_do_is_not_asked_of_it() -> None:
    found = settings(units(shipped_plan(), scope="user")[DECODE])
    beyond = {"User", "LimitMEMLOCK", "OOMScoreAdjust", "LoadCredential", "ProtectSystem", "ReadWritePaths"}
    assert not beyond & found.keys()
    assert "a user manager cannot raise it" in units(shipped_plan(), scope="user")[DECODE]


def test_no_restart_where_the_profile_wants_none(tmp_path: Path) -> None:
    plan = written(
        tmp_path, "name: one\nmodel: /m\nengine: {venv: /v}\naggregated: {gpus: 0}\nrestart: {tries: 0, within: 1m}\n"
    )
    found = settings(units(plan)["pd-one-aggregated-0.service"])
    assert found["Restart"] == ["no"]
    assert "ExecStartPost" not in found


def test_a_secret_is_named_and_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("s3cret")
    plan = written(tmp_path, SECRETS.replace("SECRET_FILE", str(secret)))
    found = units(plan)
    assert settings(found["pd-six-decode-0.service"])["LoadCredential"] == ["HF_TOKEN:/etc/secrets/50%%"]
    assert settings(found["pd-six-prefill-0.service"])["LoadCredential"] == [f"HF_TOKEN:{secret}"]
    files = render(plan, layout("six")).files
    assert not [name for name, file in files.items() if "s3cret" in file.text]
    assert "/run/credentials/pd-six-decode-0.service/${secret%%=*}" in files["decode-0.sh"].text


def test_a_bundle_names_no_generation_and_no_machine() -> None:
    plan = shipped_plan()
    bundle = render(plan, layout("dsv4-flash"))
    assert bundle.digests() == render(plan, layout("dsv4-flash")).digests()
    for name, file in bundle.files.items():
        if name.startswith("systemd/") and name != "systemd/boot":
            assert "generations/3" not in file.text
    assert {name for name in bundle.files if name.startswith("supervisord/")} == set()
    modes = {name: bundle.files[f"systemd/{name}"].mode for name in ("as-recorded", "ready.py", "ready.json")}
    assert modes == {"as-recorded": 0o555, "ready.py": 0o555, "ready.json": 0o444}


def test_whom_to_ask_for_tokens() -> None:
    facts = json.loads(render(shipped_plan(), layout("dsv4-flash")).files["systemd/ready.json"].text)
    assert (facts["prompt"], facts["within"]) == (8193, 1800)
    assert [(server["name"], server["port"], server["bootstrap"]) for server in facts["servers"]] == [
        ("prefill-0", 31000, 31003),
        ("decode-0", 31010, None),
    ]
    assert facts["router"]["port"] == 8000


@pytest.mark.parametrize("scope", ["system", "user"])
def test_no_mark_is_left_in_what_is_installed(scope: Scope) -> None:
    for name, text in units(shipped_plan(), scope=scope).items():
        assert "@" not in text.replace("user@.service", ""), name


def test_a_state_folder_that_no_unit_can_hold_is_refused() -> None:
    plan = shipped_plan()
    with pytest.raises(InputError, match="control character"):
        units(plan, layout("dsv4-flash", Path("/var/a\nb")))
