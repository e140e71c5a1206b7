"""No text that leaves holds a secret's value."""

from __future__ import annotations

from pathlib import Path

from launcher.operations.redacting import redactor
from launcher.plan.model import Origin, Secret

from ..compare.making import plan, service


def test_values_of_secrets_are_cut_out_and_short_ones_left(tmp_path: Path) -> None:
    files = {"HF_TOKEN": "hf_secret", "PIN": "12"}
    secrets = []
    for name, value in files.items():
        (tmp_path / name).write_text(value + "\n")
        secrets.append(Secret(name=name, file=str(tmp_path / name), origin=Origin(kind="pdlaunch")))
    secrets.append(Secret(name="GONE", file=str(tmp_path / "gone"), origin=Origin(kind="pdlaunch")))
    made = service("decode-0").model_copy(update={"secrets": tuple(secrets)})
    hide = redactor(plan(made))
    assert hide("token=hf_secret, 12 requests") == "token=[HF_TOKEN: not shown], 12 requests"
