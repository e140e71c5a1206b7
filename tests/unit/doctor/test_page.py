from __future__ import annotations

from launcher.doctor.page import PAGE, page


def test_the_page_is_current() -> None:
    """When it is not: python -m launcher.doctor.page."""
    assert PAGE.read_text() == page()
