"""SCOPE-8: the context block never carries the text of a row outside the scope.

Which texts there are is known from the rows that this run was shown. A text that is a row's own within the
scope as well is no leak.
"""

from __future__ import annotations

from trigger_contracts.asks import Vocabulary
from trigger_contracts.exchange import Answer, JsonObject
from trigger_contracts.modes import squeezed
from trigger_contracts.probes import AXES
from trigger_contracts.promises import Broken, NotExercised, promise
from trigger_contracts.run import Api
from trigger_contracts.watch import outside


def told_outside(api: Api, answer: Answer, ask: JsonObject) -> str | None:
    """The known row outside the scope whose text the context carries, if there is one."""
    if not isinstance(answer.context, str):
        return None
    block = squeezed(answer.context)
    known = list(api.run.watch.known.values())
    inside = [squeezed(row.text) for row in answer.rows]
    inside += [
        squeezed(row.view.text) for row in known if row.role == "main" and outside(row.view, ask) is None
    ]
    for row in known:
        if row.role == "main" and outside(row.view, ask) is None:
            continue
        tell = squeezed(row.view.text)[:48]
        if len(tell) < 12 or any(tell in other for other in inside):
            continue
        if tell in block:
            return f"the context carries the text of row {row.view.id}, which is outside the scope"
    return None


@promise("SCOPE-8", needs=("rows", "compose"), pointer="components.schemas.SearchResponse.context")
def context_stays_in_scope(api: Api) -> None:
    """The context block never carries the text of a row outside the scope."""
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    asks: list[JsonObject] = [{"entities": words.entities[:40], axis: value} for axis, value in words.pairs()]
    for ask in asks:
        api.answer({**ask, "mode": "retrieve"})
    for one in api.probes:
        api.answer({"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"})
    asks += [{"entities": list(one.trigger_entities), **one.scope} for one in api.probes[:12]]
    asks.append({"entities": words.entities[:40], "user_id": words.stranger})

    def check(ask: JsonObject) -> None:
        if not api.may_compose():
            return
        answer = api.answer(ask)
        if not isinstance(answer.context, str):
            return
        told = told_outside(api, answer, ask)
        if told:
            raise Broken(told, answer.exchange)
        fired = set(ask["entities"])
        for row in api.run.watch.known.values():
            beyond = row.role == "other" or outside(row.view, ask) is not None
            if beyond and (row.role == "other" or set(row.view.trigger_entities) & fired):
                api.saw()

    # Each axis leaks in its own way: two values of each come first, whatever the budget leaves.
    first = [ask for axis in AXES for ask in [one for one in asks if set(one) == {"entities", axis}][:2]]
    rest = api.sample([ask for ask in asks if ask not in first], least=8)
    api.each((first + rest)[: 10 + api.profile.repeats // 20], check)
    if not api.seen:
        raise NotExercised("no compose answer had a context beside rows of another scope")
