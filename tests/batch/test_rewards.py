"""What a program is worth to a training loop, and how three libraries ask for it."""

import sys
from pathlib import Path

import pytest
from support.batch import BROKEN, KERNEL, LAZY, PARTIAL, REFERENCE, WITHOUT_KERNEL, WRONG

import kernlint
from kernlint.batch import local, rewards
from kernlint.batch.fields import record
from kernlint.batch.rewards import compute_score, compute_scores, openrlhf_reward, program_in, reward, trl_reward

FENCED = f"<think>```python\nimport triton\nbad\n```</think>Here:\n```python\n{KERNEL}```\nand so on"


@pytest.fixture(autouse=True, scope="module")
def no_crew_stays():
    yield
    local.close()


@pytest.fixture(scope="module")
def judged():
    programs = {
        "good": KERNEL, "lazy": LAZY, "partial": PARTIAL, "wrong": WRONG, "broken": BROKEN, "none": WITHOUT_KERNEL,
    }  # fmt: skip
    batch = {"source": list(programs.values()), "reference": [REFERENCE] * len(programs)}
    columns = kernlint.analyze_columns(batch, workers=1)
    return {name: {key: values[n] for key, values in columns.items()} for n, name in enumerate(programs)}


def test_a_fused_kernel_earns_its_speedup(judged):
    row = judged["good"]
    assert 1.5 < row["gpu_speedup"] < 2.5  # two passes over memory become one
    assert reward(row) == pytest.approx(min(row["gpu_speedup"], row["reference_gpu_us"] / row["reference_bound_us"]))


def test_work_that_is_left_to_torch_earns_next_to_nothing(judged):
    assert judged["lazy"]["coverage"] < 0.1
    assert reward(judged["lazy"]) < 0.1


def test_no_program_is_worth_more_than_the_bound_of_what_it_was_asked_for(judged):
    row = judged["partial"] | {"errors": 0}
    assert judged["partial"]["errors"] >= 1  # most of the result is never written
    assert row["gpu_speedup"] > 10
    assert reward(row) == pytest.approx(row["reference_gpu_us"] / row["reference_bound_us"])
    assert reward(row) < 4


@pytest.mark.parametrize("name", ["wrong", "broken", "none"])
def test_what_cannot_be_right_earns_nothing(judged, name):
    assert reward(judged[name]) == 0.0


def test_what_is_not_known_is_worth_what_the_user_says(judged):
    for status in ("crashed", "gave-up", "bad-row", "no-verdict"):
        assert reward(record(id="a", status=status), unknown=0.25) == 0.25
    assert reward(record(id="a", status="ok"), unknown=0.25) == 0.25
    assert reward(judged["wrong"], unknown=0.25) == reward(judged["broken"], unknown=0.25) == 0.0


def row(**known):
    base = {"gpu_speedup": 4.0, "call_speedup": 2.0, "coverage": 0.5, "errors": 0, "reference_gpu_us": 100.0}
    return record(id="a", status="ok", **(base | {"reference_call_us": 120.0, "reference_bound_us": 10.0} | known))


@pytest.mark.parametrize(
    ("known", "options", "worth"),
    [
        ({}, {}, 2.0),
        ({}, {"scope": "call"}, 1.0),
        ({"coverage": 1.0}, {"most": 3.0}, 3.0),
        ({"coverage": 1.0, "gpu_speedup": 99.0}, {}, 10.0),
        ({"coverage": 1.0, "gpu_speedup": 99.0, "reference_bound_us": 50.0}, {}, 2.0),
        ({"coverage": 1.0, "gpu_speedup": 99.0, "reference_bound_us": None}, {}, 10.0),
        ({"coverage": 1.0, "reference_bound_us": 0.0}, {}, 4.0),
        ({"errors": 1}, {}, 0.0),
        ({"coverage": 0.0}, {}, 0.0),
    ],
)
def test_the_reward_is_as_described(known, options, worth):
    assert reward(row(**known), **options) == pytest.approx(worth)


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        ("import triton", "import triton"),
        ("a\n```python\nimport triton\n```\nb\n```\n1 2 3\n```", "import triton\n"),
        ("```python\nimport triton\nfirst\n```\n```py\nimport triton\nlast\n```", "import triton\nlast\n"),
        ("```python\nimport triton\ncut off", "import triton\ncut off"),
        ("````python\nimport triton\n```\ninside\n````", "import triton\n```\ninside\n"),
        ("~~~python\nx\n~~~", "x\n"),
        ("```python\nx\n```<|im_end|>\n<|endoftext|>", "x\n"),
        ("x = 1 \n</s>\n", "x = 1"),
        ("```python\nx < y > z\n", "x < y > z\n"),
        ("<s>" * 1000 + "x", "<s>" * 1000 + "x"),
        ("```json\n{}\n```", "```json\n{}\n```"),
        ("```python", ""),
        ([{"role": "assistant", "content": "```python\nx\n```"}], "x\n"),
        ([{"role": "assistant", "content": [{"type": "text", "text": "x"}]}], "x"),
        ({"content": "x"}, "x"),
        (FENCED, KERNEL),
        ([], ""),
        (None, ""),
        ([{"role": "assistant", "content": None}], ""),
    ],
)
def test_the_program_of_an_answer(completion, program):
    assert program_in(completion) == program


def test_trl_gets_floats(judged):
    completions = [FENCED, [{"role": "assistant", "content": BROKEN}]]
    found = trl_reward(
        ["p", "p"], completions, completion_ids=[[1], [2]], reference=[REFERENCE] * 2, trainer_state=None
    )
    assert found == [pytest.approx(reward(judged["good"])), 0.0]
    assert all(type(value) is float for value in found)
    assert trl_reward(prompts=["p"], completions=["no code"]) == [0.0]


def test_verl_gets_a_score_with_what_to_log(judged):
    found = compute_score("kernels", FENCED, REFERENCE, {"device": "h100-sxm", "index": 3})
    assert found == {"score": pytest.approx(reward(judged["good"])), "coverage": 1.0, "errors": 0.0}
    many = compute_scores(["k"] * 2, [FENCED, "nothing"], [REFERENCE] * 2, [None, {"set": {"N": 1024}}], most=1.5)
    assert [one["score"] for one in many] == [1.5, 0.0]
    assert [set(one) for one in many] == [{"score", "coverage", "errors"}] * 2


def test_openrlhf_gets_its_dictionary(judged, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    del sys.modules["torch"]
    found = openrlhf_reward(["ask ```python\nno```" + FENCED, "ask"], ["ask ```python\nno```", "ask"], [REFERENCE] * 2)
    worth = reward(judged["good"])
    assert found["rewards"] == [pytest.approx(worth), 0.0]
    assert found["scores"] == [pytest.approx(worth / 10), 0.0]
    assert found["extra_logs"] == {"coverage": [1.0, 0.0]}

    # As it calls it: one row, decoded with its special tokens; the prompt holds a program too.
    prompt = f"<|user|>Make it fast:\n```python\n{KERNEL}```\n<|assistant|>"
    for answer, expected in ((FENCED.removesuffix("\nand so on"), worth), (KERNEL, worth), ("I cannot.", 0.0)):
        called = openrlhf_reward([f"<s>{prompt}{answer}<|im_end|>"], [prompt], [REFERENCE])
        assert called["rewards"] == [pytest.approx(expected)]

    class Torch:
        tensor = staticmethod(tuple)

    monkeypatch.setitem(sys.modules, "torch", Torch)
    assert openrlhf_reward(["a"], ["a"], [""])["rewards"] == (0.0,)


def test_no_library_of_theirs_is_imported():
    text = Path(rewards.__file__).read_text()
    assert not any(f"import {name}" in text for name in ("torch", "trl", "verl", "openrlhf"))
