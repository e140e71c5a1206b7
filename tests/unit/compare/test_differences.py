"""What differs: nothing against itself, the mirror image from the other side, and each change once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from launcher.compare import Change, Differences, Risk, Setting, Side, UnknownTree, differences
from launcher.compare.source import Edit

from .making import TextTree, service, side, sides


def subjects(found: Differences) -> list[str]:
    return [d.change.subject for d in found.found]


@settings(max_examples=30, deadline=None)
@given(sides())
def test_a_side_equals_itself(one: Side) -> None:
    found = differences(one, one)
    assert (found.equal, found.found) == (True, ())


@settings(max_examples=60, deadline=None)
@given(sides(), sides())
def test_seen_from_the_other_side_it_is_the_mirror_image(one: Side, other: Side) -> None:
    there, back = differences(one, other), differences(other, one)
    mirrored = [
        (d.change.mirrored(), d.risk, Edit(d.edit.removed, d.edit.added) if d.edit else None) for d in there.found
    ]
    assert mirrored == [(d.change, d.risk, d.edit) for d in back.found]
    assert (there.unchanged, there.unknown) == (back.unchanged, back.unknown)
    same = sorted(s.digest() for s in one.plan.services) == sorted(s.digest() for s in other.plan.services)
    assert same or not there.equal, "what would restart a service is a difference"


def test_the_most_dangerous_comes_first_and_equal_changes_are_one() -> None:
    noon = side(
        service("prefill-0", env={"SGLANG_TIMEOUT_KEEP_ALIVE": "60"}),
        service("decode-0", env={"SGLANG_TIMEOUT_KEEP_ALIVE": "60"}),
        service("router", args={"queue-size": "100"}),
        files={"srt/disaggregation/nixl/conn.py": b"a\nb\n", "srt/same.py": b"x"},
        packages={"torch": "2.9"},
    )
    evening = side(
        service("prefill-0", env={"SGLANG_TIMEOUT_KEEP_ALIVE": "120"}),
        service("decode-0", env={"SGLANG_TIMEOUT_KEEP_ALIVE": "120", "SGLANG_SM120_MMA_TARGET_CTAS": "512"}),
        service("router", args={"queue-size": "256"}),
        files={"srt/disaggregation/nixl/conn.py": b"a\nc\nd\n", "srt/same.py": b"x"},
        packages={"torch": "2.9"},
    )
    found = differences(noon, evening)
    assert [str(d.change) for d in found.found if d.change.kind != "source"] == [
        "decode.env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 512",
        "engine.env SGLANG_TIMEOUT_KEEP_ALIVE  60 -> 120",
        "router.args queue-size  100 -> 256",
    ]
    assert subjects(found)[1] == "source srt/disaggregation/nixl/conn.py"
    assert [d.risk.name for d in found.found] == ["launch shape", "transfer", "time-outs", "router"]
    assert found.found[1].edit == Edit(added=2, removed=1)
    assert found.found[1].change.services == ("decode-0", "prefill-0")
    assert found.unchanged == ("services", "secrets", "ports", "GPUs", "readiness and stopping", "packages")
    assert found.unknown == ("machine and model", "what the engine decides")


def test_what_one_side_has_no_record_of_is_said_and_not_compared() -> None:
    known = side(service("decode-0"), packages={"torch": "2.9"})
    unknown = replace(side(service("decode-0")), tree=UnknownTree(None))
    found = differences(known, unknown)
    assert found.equal
    assert found.unknown == ("source", "packages", "machine and model", "what the engine decides", "scripts")


def test_a_tree_that_is_not_here_is_one_change() -> None:
    here = side(service("decode-0"), files={"a.py": b""})
    away = replace(here, tree=UnknownTree("f" * 32))
    found = differences(here, away)
    assert subjects(found) == ["source"]
    assert found.found[0].change.values == (str(here.tree.digest)[:12], "f" * 12)


def test_scripts_are_shown_only_where_nothing_explains_them() -> None:
    first = replace(side(service("decode-0")), bundle={"decode-0.sh": "1"})
    other_template = replace(first, bundle={"decode-0.sh": "2"})
    other_flag = replace(side(service("decode-0", args={"page-size": "64"})), bundle={"decode-0.sh": "3"})
    assert subjects(differences(first, other_template)) == ["file decode-0.sh"]
    assert subjects(differences(first, other_flag)) == ["decode.args page-size"]
    other_source = replace(other_template, tree=TextTree({"a.py": b"1"}))
    assert subjects(differences(first, other_source)) == ["source a.py"]


def test_receipts_and_what_engines_decided_are_compared_by_name() -> None:
    plain = side(service("prefill-0"), service("decode-0"))
    noon = replace(plain, receipt={"driver": "595.71"}, decided={"decode-0": {"page_size": "256"}, "prefill-0": {}})
    evening = replace(
        plain, receipt={"driver": "600.1"}, decided={"decode-0": {"page_size": "64"}, "prefill-0": {"x": "1"}}
    )
    found = differences(noon, evening)
    assert [str(d.change) for d in found.found] == [
        "receipt driver  595.71 -> 600.1",
        "decode.decided page_size  256 -> 64",
        "prefill.decided x  unset -> 1",
    ]
    assert [d.risk.name for d in found.found] == ["machine", "decided", "decided"]


def test_another_judge_ranks_otherwise() -> None:
    def backwards(change: Change) -> Risk:
        return Risk(-ord(change.name[0]), change.name, "by the letter")

    one, other = side(service("decode-0")), side(service("decode-0", args={"a": "1", "b": "1"}))
    assert [d.change.name for d in differences(one, other, judge=backwards).found] == ["b", "a"]


def test_values_of_a_missing_side_are_words() -> None:
    gone = Change("service", "", ("decode-0",), "decode-0", Setting("present"), None)
    assert str(gone) == "decode-0  present -> absent"
    assert str(gone.mirrored()) == "decode-0  absent -> present"
