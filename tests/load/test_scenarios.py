from __future__ import annotations

from collections import Counter
from itertools import pairwise

import orjson
import pytest

from trigger_contracts.validation import request_violations
from trigger_loadtests.mixture import USUAL_MIX, deal, sessions
from trigger_loadtests.population import Draw, Known, Population, invented, known
from trigger_loadtests.scenarios import OUTPUT_TAIL, WRITERS, Ask

PEOPLE = invented(1)


def asks(scenario: str, seed: int = 0, compose: float = 0.5) -> list[Ask]:
    return [ask for session in sessions(scenario, PEOPLE, seed, compose) for ask in session]


@pytest.mark.parametrize("scenario", [name for name in WRITERS if name != "careless"])
def test_what_an_agent_sends_is_valid_by_the_contract(scenario: str) -> None:
    for ask in asks(scenario):
        body = orjson.loads(ask.body)
        assert request_violations(body) == []
        assert body["mode"] == ask.mode
        assert ask.expects == "answer"


def test_what_the_careless_client_sends_is_invalid_or_carries_a_bad_key() -> None:
    kinds = Counter(ask.expects for ask in asks("careless"))

    assert kinds["invalid"] > kinds["unauthorised"] > 0
    for ask in asks("careless"):
        try:
            valid = not request_violations(orjson.loads(ask.body))
        except orjson.JSONDecodeError:
            valid = False
        assert valid is (ask.expects == "unauthorised")


@pytest.mark.parametrize("scenario", WRITERS)
def test_the_seed_decides_every_byte(scenario: str) -> None:
    assert asks(scenario, seed=5) == asks(scenario, seed=5)
    assert asks(scenario, seed=5) != asks(scenario, seed=6)


def test_one_tool_call_in_eight_fails_and_its_output_follows() -> None:
    every = [orjson.loads(ask.body)["action"] for ask in asks("coding")]
    failed = [action for action in every if "output" in action]

    assert len(failed) / (len(every) - len(failed)) == pytest.approx(1 / 8, abs=0.05)
    assert all(len(action["output"]) == OUTPUT_TAIL for action in failed)
    for before, action in pairwise(every):
        if "output" in action:
            assert (before["tool"], before["args"]) == (action["tool"], action["args"])


def test_a_first_touch_hook_asks_once_for_what_a_session_touches() -> None:
    for session in sessions("first-touch", PEOPLE, 0, 0.5):
        touched = [
            orjson.dumps(
                action["args"].get("file_path") or action["args"].get("command") or action["args"]["query"]
            )
            + action["tool"].encode()
            for ask in session
            if "output" not in (action := orjson.loads(ask.body)["action"])
        ]
        names = [text.split(b"/")[-1] for text in touched]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(("compose", "modes"), [(0.0, {"retrieve"}), (1.0, {"compose"})])
def test_the_share_of_compose_is_what_was_asked_for(compose: float, modes: set[str]) -> None:
    assert {ask.mode for ask in asks("coding", compose=compose)} == modes


def test_draws_are_skewed_towards_the_first_rows() -> None:
    draw = Draw(PEOPLE, "skew")
    drawn = Counter(draw.row() for _ in range(4000))

    assert drawn[PEOPLE.rows[0]] > 4000 / len(PEOPLE.rows) * 10
    assert len(drawn) > len(PEOPLE.rows) / 2


def test_group_readers_name_groups_and_no_user() -> None:
    bodies = [orjson.loads(ask.body) for ask in asks("groups")]

    assert all("user_id" not in body for body in bodies)
    assert max(len(body["group_ids"]) for body in bodies) > 1


def test_known_rows_are_what_agents_ask_about() -> None:
    row = Known("user-7", None, None, (), ("ledger.py",))
    population = known(
        [row, Known(None, None, None, (), ("scopeless",)), Known("user-8", None, None, (), ())], "test"
    )

    assert population.rows == (row,)
    for session in sessions("entities", population, 0, 0.0):
        body = orjson.loads(session[0].body)
        assert (body["user_id"], set(body["entities"])) == ("user-7", {"ledger.py"})


def test_the_deal_mixes_scenarios_by_weight_and_does_not_depend_on_anything_else() -> None:
    dealt = deal(USUAL_MIX, PEOPLE, 0, 0.2)
    shares = Counter(ask.scenario for ask in dealt)

    assert dealt == deal(USUAL_MIX, PEOPLE, 0, 0.2)
    for scenario, weight in USUAL_MIX.items():
        assert shares[scenario] / len(dealt) == pytest.approx(weight / sum(USUAL_MIX.values()), abs=0.03)


def test_a_scenario_without_weight_takes_no_part() -> None:
    assert {ask.scenario for ask in deal({"miss": 1, "coding": 0}, PEOPLE, 0, 0.2)} == {"miss"}


def test_nobody_invented_is_anybody_real() -> None:
    people: Population = invented(3)

    assert all((row.user_id or "").startswith("load-user-") for row in people.rows)
