"""SCOPE-6: no row, and no text of one, crosses an organisation, whatever the scope says.

Two keys ask the same, by turns, on the same connection. Which rows are whose is told by whom they were
shown to.
"""

from __future__ import annotations

from trigger_contracts.asks import Vocabulary, greppable
from trigger_contracts.exchange import Answer, JsonObject
from trigger_contracts.modes import squeezed
from trigger_contracts.promises import Broken, promise
from trigger_contracts.run import Api, without

_REQUEST = "components.schemas.TriggerRequest"


@promise("SCOPE-6", needs=("rows", "org2"), pointer=_REQUEST)
def organisations_are_apart(api: Api) -> None:
    """One organisation's key never sees another's rows, whatever the scope says."""
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    asks: list[JsonObject] = [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"} for one in api.probes
    ]
    asks += [
        {"entities": words.entities[:40], axis: value, "mode": "retrieve"} for axis, value in words.pairs()
    ]

    def check(ask: JsonObject) -> None:
        mine = api.answer(ask)
        owned = set(api.run.identify(mine)) | {one.id for one in api.probes}
        others: list[Answer] = []
        for style in (None, "bearer") if api.rng.random() < 0.3 else (None,):
            theirs = api.answer(ask, role="other", style=style, owner=api.name)
            others.append(theirs)
            leaked = owned & {row.id for row in theirs.rows}
            if leaked:
                raise Broken(
                    f"the other organisation's key sees {len(leaked)} row(s) of this one", theirs.exchange
                )
        back = set(api.run.identify(api.answer(ask)))
        for theirs in others:
            foreign = back & {row.id for row in theirs.rows}
            if foreign:
                raise Broken(
                    f"this organisation's key sees {len(foreign)} row(s) of the other", theirs.exchange
                )
        if mine.rows:
            api.saw()

    chosen = api.sample(asks, least=12)
    chosen += [
        {"action": {"tool": entity, "args": {"k": entity}}, axis: value, "mode": "retrieve"}
        for axis, value in list(words.pairs())[::3]
        for entity in [entity for entity in words.entities if greppable(entity)][:2]
    ]
    chosen += [{**ask, "include": [type_]} for ask in asks[-2:] for type_ in ("lesson", "procedure")]
    api.each(chosen, check)
    for ask in asks[-1 : -len(asks) : -max(1, len(words.groups))][:4]:
        if not api.may_compose():
            break
        answer = api.answer(without(ask, "mode"), role="other", owner=api.name)
        if {row.id for row in answer.rows} & {one.id for one in api.probes}:
            raise Broken("the other organisation's key sees rows of this one under compose", answer.exchange)
        _foreign_text(api, answer)


def _foreign_text(api: Api, answer: Answer) -> None:
    """What the other organisation is told must not be this one's."""
    block = squeezed(answer.context) if isinstance(answer.context, str) else ""
    own = [squeezed(row.view.text) for row in api.run.watch.known.values() if row.role == "other"]
    for row in api.run.watch.known.values():
        tell = squeezed(row.view.text)[:48]
        if row.role != "main" or len(tell) < 12 or any(tell in other for other in own):
            continue
        if tell in block:
            raise Broken(
                f"the other organisation's context carries the text of row {row.view.id} of this one",
                answer.exchange,
            )
