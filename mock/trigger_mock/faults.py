"""The faults of a bench: which are there, which call each one is for, and how often it struck.

The newest rule that means a call wins. Chance is a function of a rule's seed and of how many calls it meant:
the same calls in the same order meet the same fates. Knows nothing of HTTP servers.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

from trigger_mock.reading import Reading

if TYPE_CHECKING:
    # The models of faults take longer to make than all else that a server needs: most never ask for one.
    from trigger_mock.credentials import Caller
    from trigger_mock.fault_kinds import Fault, Simple
    from trigger_mock.matching import RequestMatch
    from trigger_mock.presets import Preset

#: Rules at one time, so that a test run that never removes one cannot fill the memory.
MOST = 1000


class TooManyFaults(Exception):
    """A bench has as many rules as it may have."""


@dataclass(slots=True, kw_only=True)
class Rule:
    """A fault and which calls it is for.

    `place`: of the key that it is for, as `Caller.place`; None: of all. `times`: how often it strikes at
    most; `probability`: how likely it strikes a call that it means. `meant`: calls that it meant; `struck`:
    how often it did; `over`: whether it was taken back.
    """

    id: str
    fault: Fault
    match: RequestMatch | None = None
    place: str | None = None
    times: int | None = None
    probability: float | None = None
    seed: int = 0
    preset: str | None = None
    meant: int = 0
    struck: int = 0
    over: bool = False

    def strikes(self) -> Random | None:
        """Count a call that it means; what chance is drawn from if it strikes this one."""
        self.meant += 1
        random = Random(f"{self.seed}/{self.meant}")
        if self.probability is not None and random.random() >= self.probability:
            return None
        self.struck += 1
        return random


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault that one call meets. `seconds`: how long the answer is held back first."""

    fault: Simple
    seconds: float
    rule: Rule

    def over(self) -> bool:
        """Whether its rule was taken back meanwhile."""
        return self.rule.over


class Faults:
    """The rules of a bench. `rules`: the newest first; looking at them never waits for a change."""

    def __init__(self) -> None:
        self.rules: tuple[Rule, ...] = ()
        self._asked: dict[str, Rule] = {}
        self._lock = Lock()

    def __iter__(self) -> Iterator[Rule]:
        """The rules, the oldest first."""
        return reversed(self.rules)

    def add(
        self,
        fault: Fault,
        *,
        match: RequestMatch | None = None,
        place: str | None = None,
        times: int | None = None,
        probability: float | None = None,
        seed: int = 0,
        preset: str | None = None,
    ) -> Rule:
        """Have one more. Raises `TooManyFaults`."""
        rule = Rule(
            id=secrets.token_hex(6), fault=fault, match=match, place=place, times=times,
            probability=probability, seed=seed, preset=preset,
        )  # fmt: skip
        with self._lock:
            if len(self.rules) >= MOST:
                raise TooManyFaults(f"there are {MOST} faults, as many as there may be; remove some")
            self.rules = (rule, *self.rules)
        return rule

    def find(self, identity: str) -> Rule | None:
        """The rule of this id."""
        return next((rule for rule in self.rules if rule.id == identity), None)

    def remove(self, identity: str) -> bool:
        """Take one back; what it holds up goes on at once. Whether it was there."""
        with self._lock:
            gone = self.find(identity)
            if gone is not None:
                gone.over = True
                self.rules = tuple(rule for rule in self.rules if rule is not gone)
        return gone is not None

    def clear(self) -> None:
        """Take all back."""
        with self._lock:
            for rule in (*self.rules, *self._asked.values()):
                rule.over = True
            self.rules, self._asked = (), {}

    def meant_for(self, reading: Reading, caller: Caller | None) -> Strike | None:
        """What this call meets. Without a known key, what is for any key."""
        organisation, place = (None, None) if caller is None else (caller.organisation.name, caller.place)
        for rule in self.rules:
            if rule.place is not None and rule.place != place:
                continue
            if rule.match is not None and not rule.match.admits_request(reading, organisation=organisation):
                continue
            strike = self._strike(rule)
            if strike is not None:
                return strike
        return None

    def asked_for(self, header: str, asked: Fault | Preset, reading: Reading) -> Strike | None:
        """What a call meets that asks for a fault by itself; calls that ask alike share one chance."""
        with self._lock:
            rule = self._asked.get(header)
            if rule is None:
                rule = _rule_of(asked)
                if len(self._asked) < MOST:
                    self._asked[header] = rule
        if rule.match is not None and not rule.match.admits_request(reading):
            return None
        return self._strike(rule)

    def _strike(self, rule: Rule) -> Strike | None:
        with self._lock:
            if rule.over or (rule.times is not None and rule.struck >= rule.times):
                return None
            random = rule.strikes()
        if random is None:
            return None
        fault = random.choice(rule.fault.of) if rule.fault.kind == "mix" else rule.fault
        return Strike(fault, fault.held_back(random), rule)


def _rule_of(asked: Fault | Preset) -> Rule:
    from trigger_mock.presets import Preset

    if isinstance(asked, Preset):
        return Rule(
            id="", fault=asked.fault, match=asked.match, probability=asked.probability, preset=asked.name
        )
    return Rule(id="", fault=asked)
