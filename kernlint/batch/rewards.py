"""Rewards for training a model to write kernels: one number for a row of results, and what three training libraries call.

The reward of a program is ``coverage x min(speedup, cap)``:

* ``speedup`` is the predicted time of the reference over that of the program;
* ``coverage`` is the share of the program's device time in its own Triton kernels, so that an answer that leaves the work to torch
  and launches something small beside it gains little;
* ``cap`` is the speedup at which a program would reach the bound of the hardware for the reference's work, and ``most`` at the most:
  what is predicted to be faster than can be does less than it was asked to.

It is 0 for what is not Python and for what has a proven error, and ``unknown`` for what there is no number for.

The libraries are not imported. What they pass is taken as it is: a completion may be a text or a list of messages, and the program in
it is its last fenced block of Python.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kernlint.batch.columns import TIMEOUT_S, analyze_columns

#: Speedups above this are worth no more.
MOST = 10.0

_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$", re.MULTILINE)
_PYTHON = frozenset({"", "python", "python3", "py", "py3"})
_THOUGHT = "</think>"
#: What ends a turn, such as `<|im_end|>` or `</s>`.
_TOKENS = re.compile(r"(?:\s*<[^<>\s]+>)+\s*\Z")


def reward(row: Mapping[str, Any], *, scope: str = "gpu", most: float = MOST, unknown: float = 0.0) -> float:
    """The reward of one row of results, as this module describes it."""
    if row["status"] == "invalid-source" or row["errors"]:
        return 0.0
    speedup, coverage = row[f"{scope}_speedup"], row["coverage"]
    if row["status"] != "ok" or speedup is None or coverage is None:
        return unknown
    bound_us = row["reference_bound_us"]
    cap = min(most, row[f"reference_{scope}_us"] / bound_us) if bound_us else most
    return float(coverage * min(speedup, cap))


def rewards(columns: Mapping[str, Sequence[Any]], **options: Any) -> list[float]:
    """The :func:`reward` of each row of the columns that :func:`kernlint.analyze_columns` returns."""
    names = list(columns)
    return [reward(dict(zip(names, values)), **options) for values in zip(*columns.values())]


def program_in(completion: Any) -> str:
    """The program in what a model has answered: the last fenced block of Python that names Triton, else the last one, else the
    whole text; a last block may have no end, where the answer was cut off. Neither what stands before the end of a thought nor
    special tokens behind the answer are part of it."""
    text = _said(completion).rpartition(_THOUGHT)[2]
    text = text[:-256] + _TOKENS.sub("", text[-256:])
    blocks = _blocks(text)
    named = [block for block in blocks if "triton" in block]
    return (named or blocks or [text])[-1]


def _said(completion: Any) -> str:
    """The text of a completion: itself, or what the last message says."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        return _said(completion.get("content"))
    if isinstance(completion, Sequence) and completion:
        parts = [part for part in completion if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
        return "".join(part["text"] for part in parts) if parts else _said(completion[-1])
    return ""


def _blocks(text: str) -> list[str]:
    """The fenced blocks of ``text`` that may be Python."""
    found = []
    at = 0
    while opening := _FENCE.search(text, at):
        start = opening.end() + 1
        closing = re.compile(rf"^ {{0,3}}{opening['fence'][0]}{{{len(opening['fence'])},}}[ \t]*$", re.MULTILINE)
        end = closing.search(text, start)
        words = opening["info"].strip().lower().split()
        if not words or words[0] in _PYTHON:
            found.append(text[start : end.start() if end else len(text)])
        if end is None:
            break
        at = end.end()
    return found


# -- what libraries call ----------------------------------------------------------------------------------------------


def trl_reward(
    prompts: Sequence[Any] | None = None,
    completions: Sequence[Any] = (),
    reference: Sequence[Any] | None = None,
    **columns: Any,
) -> list[float]:
    """For TRL (``GRPOTrainer(reward_funcs=trl_reward)``): the reward of each of ``completions``. The data set has the columns
    ``reference``, and where they differ ``device`` and ``set``."""
    batch: dict[str, Sequence[Any]] = {"source": [program_in(completion) for completion in completions]}
    given = {"reference": reference, "device": columns.get("device"), "set": columns.get("set")}
    batch |= {name: values for name, values in given.items() if values is not None}
    return rewards(analyze_columns(batch))


def compute_score(
    data_source: Any, solution_str: str, ground_truth: Any, extra_info: Any = None, **options: Any
) -> dict[str, Any]:
    """For verl (``custom_reward_function.name=compute_score``): ``ground_truth`` is the reference, ``extra_info`` may hold
    ``device`` and ``set``. Other columns of the result are logged beside ``score``."""
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], **options)[0]


def compute_scores(
    data_sources: Sequence[Any],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any],
    **options: Any,
) -> list[dict[str, Any]]:
    """For verl's batch reward manager (``reward_model.reward_manager=batch``): as :func:`compute_score`, many at once."""
    infos = [info if isinstance(info, Mapping) else {} for info in extra_infos]
    found = analyze_columns(
        {
            "source": [program_in(solution) for solution in solution_strs],
            "reference": list(ground_truths),
            "device": [info.get("device") for info in infos],
            "set": [info.get("set") for info in infos],
        },
        timeout_s=float(options.pop("timeout_s", TIMEOUT_S)),
    )
    logged = ("coverage", "errors")
    scores = rewards(found, **options)
    # verl wants the same keys of each, and numbers.
    return [
        {"score": score, **{name: float(found[name][n] or 0.0) for name in logged}} for n, score in enumerate(scores)
    ]


def openrlhf_reward(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **options: Any
) -> dict[str, Any]:
    """For OpenRLHF (``--reward.remote_url`` of a file with it as ``reward_func``): ``queries`` are prompts with their answers, ``labels``
    the references. ``scores``, for its dynamic filtering, are rewards in proportion to the largest there is. Tensors, where torch is
    loaded, as it is there."""
    # A token may stand before the prompt.
    answers = [
        query[query.find(prompt) + len(prompt) :] if prompt in query else query
        for query, prompt in zip(queries, prompts)
    ]
    found = analyze_columns({"source": [program_in(answer) for answer in answers], "reference": list(labels)})
    values = rewards(found)
    coverage = [float(share or 0.0) for share in found["coverage"]]
    return {
        "rewards": _tensor(values),
        "scores": _tensor([value / MOST for value in values]),
        "extra_logs": {"coverage": _tensor(coverage)},
    }


def _tensor(values: list[float]) -> Any:
    torch = sys.modules.get("torch")
    return values if torch is None else torch.tensor(values)
