"""TYPE and ORDER: which kinds of rows come back, and that the same question has the same answer."""

from __future__ import annotations

from collections.abc import Sequence

from trigger_contracts.asks import Vocabulary
from trigger_contracts.exchange import JsonObject, RowView
from trigger_contracts.promises import Broken, NotExercised, promise
from trigger_contracts.run import Api
from trigger_contracts.sets import Sets

_INCLUDE = "components.schemas.TriggerRequest.include"


def broad(api: Api) -> list[JsonObject]:
    """Requests that bring many rows: all known entities within each value of each axis."""
    words = Vocabulary(api.need_rows(), "")
    return [{"entities": words.entities[:40], axis: value} for axis, value in words.pairs()]


@promise("TYPE-1", needs=("rows",), pointer="components.schemas.Memory.type")
def only_directives(api: Api) -> None:
    """Rows are only `lesson` or `procedure`."""
    for ask in broad(api):
        api.answer({**ask, "mode": "retrieve"})
    api.rest_on_watch("no rows came back")


@promise("TYPE-2", needs=("rows",), pointer=_INCLUDE)
def include_selects(api: Api) -> None:
    """`include: [x]` returns only type x, and the two parts together are exactly the default."""
    sets = Sets(api)
    types: set[str] = set()

    def check(ask: JsonObject) -> None:
        parts: dict[str, frozenset[str]] = {}
        for type_ in ("lesson", "procedure"):
            answer = api.answer({**ask, "include": [type_], "mode": "retrieve"})
            wrong = [
                row.type for row in answer.rows if row.type in ("lesson", "procedure") and row.type != type_
            ]
            if wrong:
                raise Broken(f"include [{type_!r}] brought a {wrong[0]}", answer.exchange)
            parts[type_] = frozenset(api.run.identify(answer))
            if parts[type_]:
                types.add(type_)
        whole = sets.of(ask)
        both: JsonObject = {**ask, "include": ["lesson", "procedure"]}
        if sets.capped(whole, *parts.values()):
            return
        union = parts["lesson"] | parts["procedure"]
        steady = whole == sets.again(ask)
        # A row of another type is TYPE-1's business; it belongs to neither part.
        strays = {
            row.view.id
            for row in api.run.watch.known.values()
            if row.view.type not in ("lesson", "procedure")
        }
        if union - strays != whole - strays and steady:
            raise Broken(
                (
                    f"the lessons ({len(parts['lesson'])}) and procedures "
                    f"({len(parts['procedure'])}) together are not the default's {len(whole)} rows"
                ),
                api.call({**ask, "mode": "retrieve"}),
            )
        if sets.of(both) - strays != whole - strays and steady:
            raise Broken(
                "naming both types brings other rows than the default", api.call({**both, "mode": "retrieve"})
            )
        if whole:
            api.saw()

    probes = api.need_rows()
    asks = broad(api) + [
        {"entities": list(one.trigger_entities), **one.scope} for one in api.sample(probes, 0.3)
    ]
    api.each(api.sample(asks, least=8), check)
    if len(types) < 2:
        raise NotExercised("rows of one type only came back: probes of both types are needed", "inputs")


@promise("ORDER-1", needs=("rows",), pointer="components.schemas.SearchResponse.data")
def the_same_again(api: Api) -> None:
    """The same `retrieve` request gives the same rows in the same order, from either credential, on any
    connection.
    """
    asks: list[JsonObject] = [{**ask, "mode": "retrieve"} for ask in broad(api)]
    asks += [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
        for one in api.sample(api.probes, 0.3)
    ]
    sized = [(len(api.rows(ask)), ask) for ask in asks]
    several = [ask for size, ask in sorted(sized, key=lambda pair: -pair[0]) if size > 1][:12]
    if not several:
        raise NotExercised("no request brought two rows")
    turns = max(3, api.profile.repeats // (2 * len(several)))
    usable = ["x-api-key", "bearer"]
    for ask in several:
        first = api.rows(ask)
        for turn in range(turns):
            style = usable[turn % len(usable)]
            exchange = api.call(ask, style=style, fresh=turn % 3 == 2)
            if exchange.status == 401 and style != api.run.target.style:
                usable = [api.run.target.style]
                continue
            if exchange.trouble:
                continue
            answer = api.read(exchange)
            now = api.run.identify(answer)
            if now == first:
                api.saw()
                continue
            if set(now) != set(first) and style != api.run.target.style:
                continue  # other rows for another credential: AUTH-4 judges
            if _only_ids_differ(api, ask, answer.rows):
                continue
            how = "another order" if set(now) == set(first) else "other rows"
            raise Broken(f"the same request brought {how} at the {turn + 2}. time", exchange)


def _only_ids_differ(api: Api, ask: JsonObject, rows: Sequence[RowView]) -> bool:
    before = api.answer(ask).rows
    texts = [row.text for row in before]
    return texts == [row.text for row in rows] and len(
        {row.id for row in before} & {row.id for row in rows}
    ) < len(before)
