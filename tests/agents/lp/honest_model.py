"""An endpoint's honest side: answers each role's question by the numbers in its prompt."""

import re

from tests.fakes.model_endpoint import ChatRequest, Conduct, Wire, says

SHAPES = [
    {"widthMultiplier": 1.25, "centerOffsetTicks": 40, "poolIndex": 0, "exposure": "neutral"},
    {"widthMultiplier": 0.8, "centerOffsetTicks": -130, "poolIndex": 0, "exposure": "neutral"},
    {"widthMultiplier": 2.0, "centerOffsetTicks": 0, "poolIndex": 0, "exposure": "neutral"},
]
_GIVEN = re.compile(r"\[(n\d+)\] (\S+(?: h| %)?)")
_POINT = re.compile(r"Point (\d+),")


def shapes_of_round(prompt: str) -> list[dict[str, object]]:
    """A revision is another proposal: a little wider each round."""
    wider = 0.1 * prompt.count("proposed by the ")
    return [
        {**shape, "widthMultiplier": float(shape["widthMultiplier"]) + wider}  # type: ignore[arg-type]
        for shape in SHAPES
    ]


def honest(request: ChatRequest) -> dict[str, object]:
    """What a good model would say; every number in it is one it was given."""
    prompt = request.prompt
    name, floor = _GIVEN.findall(prompt)[0]
    words = f"The floor is {floor} [{name}], and that is what I hold it to."
    match request.reply_name:
        case "ScoutReply":
            return {"summary": words}
        case "StrategistReply":
            last = prompt.rpartition("Round ")[2]
            answers = [
                {"point": int(point), "words": f"Wider than {floor} [{name}] asks for."}
                for point in _POINT.findall(last)
            ]
            return {"rationale": words, "answers": answers, "shapes": shapes_of_round(prompt)}
        case "CriticReply":
            judgments = [
                {"index": index, "verdict": "accept", "reason": f"It keeps {floor} [{name}]."}
                for index in range(5)
            ]
            return {"rationale": words, "judgments": judgments}
        case _:
            return {"rationale": words, "chosenIndex": 2}


def sceptical(request: ChatRequest) -> dict[str, object]:
    """Honest, but no candidate is good enough for its Critic."""
    reply = honest(request)
    for judgment in reply.get("judgments", ()):  # type: ignore[attr-defined]
        judgment["verdict"] = "revise"
    return reply


def only_for(schema: str, fault: Conduct) -> Conduct:
    """A fault that meets one role's questions; the others are answered honestly."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        chosen = fault if request.reply_name == schema else says(sceptical, size=200)
        await chosen(request, wire)

    return conduct
