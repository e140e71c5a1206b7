"""The names of units."""

from __future__ import annotations

import pytest

from launcher.errors import InputError
from launcher.render.systemd import names


def test_the_units_of_a_deployment() -> None:
    assert names.service_unit("dsv4-flash", "decode-0") == "pd-dsv4-flash-decode-0.service"
    assert names.target_unit("dsv4-flash") == "pd-dsv4-flash.target"
    beside = [names.ready_unit, names.rejoin_unit, names.watch_unit, names.verify_unit, names.verify_timer]
    assert [name("d") for name in beside] == [
        "pd-d-ready.service",
        "pd-d-rejoin.service",
        "pd-d-watch.service",
        "pd-d-verify.service",
        "pd-d-verify.timer",
    ]


@pytest.mark.parametrize("service", ["a b", "a/b", "a\nb", "ä", "a@b", "%n"])
def test_a_name_that_no_unit_can_have_is_refused(service: str) -> None:
    with pytest.raises(InputError, match="systemd cannot run a unit called"):
        names.service_unit("d", service)


def test_a_name_longer_than_a_file_may_be_is_refused() -> None:
    names.service_unit("d" * 63, "x" * 150)
    with pytest.raises(InputError, match="longer than 245 bytes"):
        names.service_unit("d" * 63, "x" * 200)
