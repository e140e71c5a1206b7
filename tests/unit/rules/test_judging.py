from __future__ import annotations

import re
from pathlib import Path

import pytest

from launcher.profile import load
from launcher.rules import RULES, Rule, judge, judge_profile

HEAD = """\
name: pair
model: /models/DeepSeek-V4-Flash
engine:
  venv: /opt/venv
"""
TAIL = """\
prefill: {gpus: 0-3}
decode: {gpus: 4-7}
router: {port: 8000}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pair.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
class TestEachRule:
    def test_is_silent_on_its_good_example(self, rule: Rule) -> None:
        assert list(judge(rule.good, [rule])) == []

    def test_speaks_on_its_bad_example_and_says_what_to_write(self, rule: Rule) -> None:
        hits = [hit for _, hit in judge(rule.bad, [rule])]
        assert hits
        assert all(hit.error and hit.write for hit in hits)

    def test_is_the_only_one_that_speaks_on_its_bad_example(self, rule: Rule) -> None:
        assert {found.code for found, _ in judge(rule.bad)} == {rule.code}

    def test_names_its_source(self, rule: Rule) -> None:
        assert re.search(r"https://|0\.5\.23|measured", rule.source)


def test_codes_are_unique_and_well_formed() -> None:
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"PD\d{3}", code) for code in codes)


def test_six_lines_break_no_rule(tmp_path: Path) -> None:
    assert judge_profile(load(written(tmp_path, HEAD + TAIL))) == []


def test_a_hit_stands_on_the_line_that_gives_the_value(tmp_path: Path) -> None:
    text = HEAD + "  env:\n    PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True\n" + TAIL
    (problem,) = judge_profile(load(written(tmp_path, text)))
    assert problem.code == "PD204"
    assert problem.where.endswith("pair.yaml:6")
    assert problem.subject == "engine.env.PYTORCH_CUDA_ALLOC_CONF = expandable_segments:True"
    assert problem.write == "nothing, delete the line (fine without prefill/decode)"


def test_a_value_taken_away_on_one_role_is_judged_as_unset(tmp_path: Path) -> None:
    text = (
        HEAD
        + "  args: {context-length: 4096}\n"
        + TAIL.replace("{gpus: 4-7}", "{gpus: 4-7, args: {context-length: ~}}")
    )
    (problem,) = judge_profile(load(written(tmp_path, text)))
    assert problem.code == "PD101"
    assert problem.where.endswith("pair.yaml:7")
    assert "not set on decode-0" in problem.error


def test_one_wrong_line_for_many_servers_is_said_once(tmp_path: Path) -> None:
    replicas = "decode: {env: {UCX_TLS: 'sm,self,cuda_copy'}, replicas: [{gpus: 4-5}, {gpus: 6-7}]}\n"
    text = HEAD + TAIL.replace("decode: {gpus: 4-7}\n", replicas)
    assert [problem.code for problem in judge_profile(load(written(tmp_path, text)))] == ["PD201"]
