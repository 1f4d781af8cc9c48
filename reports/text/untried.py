"""
What a run of a patch left out that shows bugs of other kinds.

In:       a Question.
Out:      text: each with the option that asks for it; "" where there is nothing, or no patch.
Not here: what was asked for and could not be done (harness/evidence/summary.py), all that a run left out
          (pages/templates/index.html).
"""

from reports.results import SLOW, Question

SERIES = "+"  # in a kernel spec, in front of each series
MODELS = ("O", "R", "T", "N", "A")


def untried_words(question: Question) -> str:
    if question.against or not any(SERIES in word for word in question.kernels) or question.host:
        return ""
    models = [each for each in MODELS if each not in question.models]
    parts = {
        "a device that completes late, which shows missing waits (--device slow)": SLOW
        not in question.devices,
        "calls that stop in what the series change, which shows races (--stops 10)": not question.stops,
        f"models {', '.join(models)} (--models {','.join(MODELS)})": bool(models),
    }
    return "; ".join(words for words, left_out in parts.items() if left_out)
