"""Requests by construction: what is valid here is valid, what is near is near, what is wrong is wrong in
one place.

Everything is a plain value or a Hypothesis strategy named after what it makes. Nothing here talks to the
target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from trigger_contracts.exchange import JsonObject
from trigger_contracts.probes import AXES, Probe

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Identifiers that any reading of an action must extract: no blanks, no punctuation at the ends.
_GREPPABLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/:")


def greppable(entity: str) -> bool:
    """Whether every reading of 'greppable identifier' holds this one."""
    return (
        bool(entity)
        and set(entity) <= _GREPPABLE
        and entity[0].isalnum()
        and (entity[-1].isalnum() or entity[-1] == "_")
    )


def near_misses(text: str) -> list[str]:
    """Values that a loose comparison takes for `text`: another case, a part, more than it, blanks,
    wildcards.
    """
    middle = len(text) // 2
    candidates = [
        text.swapcase(),
        text.upper(),
        text.lower(),
        text.capitalize(),
        text[:-1],
        text[1:],
        text[:middle],
        text[middle:],
        text + "x",
        text + "0",
        "x" + text,
        text + text,
        f" {text}",
        f"{text} ",
        f"\t{text}",
        f"{text}\n",
        f"{text}\u00a0",
        f"{text}\u200b",
        f"{text}*",
        f"{text}%",
        f"{text[:1]}%",
        f"{text[:1]}*",
        f"%{text[1:]}",
        f"{text[:-1]}_",
        f"{text[:-1]}?",
        f"{text[:middle]}.{text[middle + 1 :]}",
        f"{text[:middle]}_{text[middle + 1 :]}",
        f"{text}\u0000",
        f'"{text}"',
        f"{text},{text}",
        "*",
        "%",
        ".*",
        f"^{text}$",
        f"{text}|x",
    ]
    return [one for one in dict.fromkeys(candidates) if one and one != text]


def scope_choices(probe: Probe) -> list[JsonObject]:
    """Every way to name (some of) a row's scope: each non-empty set of its axes, one group at a time."""
    parts: list[tuple[str, Any]] = [
        (axis, value) for axis, value in probe.scope.items() if axis != "group_ids"
    ]
    groups: list[tuple[str, Any]] = [("group_ids", [one]) for one in probe.group_ids[:3]]
    found: list[JsonObject] = []
    for size in range(len(parts) + 1):
        for chosen in combinations(parts, size):
            if chosen:
                found.append(dict(chosen))
            found.extend({**dict(chosen), name: value} for name, value in groups)
    return found


class Vocabulary:
    """What the probes hold: the values that requests are made of so that they meet rows."""

    def __init__(self, probes: Sequence[Probe], stranger: str) -> None:
        self.entities = list(dict.fromkeys(entity for one in probes for entity in one.trigger_entities))
        self.axes: dict[str, list[str]] = {
            axis: list(dict.fromkeys(value for one in probes if (value := getattr(one, axis)) is not None))
            for axis in AXES[:3]
        }
        self.groups = list(dict.fromkeys(group for one in probes for group in one.group_ids))
        self.stranger = stranger
        self.probes = probes

    def values(self, axis: str) -> list[Any]:
        """The values of one axis as a request gives them."""
        return [[one] for one in self.groups] if axis == "group_ids" else list(self.axes[axis])

    def pairs(self) -> Iterator[tuple[str, Any]]:
        """Every axis with each of its values."""
        for axis in AXES:
            for value in self.values(axis):
                yield axis, value

    def scopes(self) -> SearchStrategy[JsonObject]:
        """A scope of one to three axes, of the values that rows carry (seldom a stranger's)."""
        from hypothesis import strategies as st

        def value(axis: str) -> SearchStrategy[Any]:
            known = self.values(axis)
            if axis == "group_ids":
                return st.lists(
                    st.sampled_from([*self.groups, self.stranger]), min_size=1, max_size=3, unique=True
                )
            return st.sampled_from([*known, self.stranger])

        usable = [axis for axis in AXES if self.values(axis)]
        whole = st.sampled_from([scope for one in self.probes for scope in scope_choices(one)])
        mixed = st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True).flatmap(
            lambda axes: st.fixed_dictionaries({axis: value(axis) for axis in axes})
        )
        return st.one_of(whole, mixed)

    def entity_lists(self, most: int = 4) -> SearchStrategy[list[str]]:
        """Some entities that rows carry."""
        from hypothesis import strategies as st

        return st.lists(st.sampled_from(self.entities), min_size=1, max_size=most, unique=True)


#: One value of each JSON type, truthy and falsy: code that tests for truth takes the latter for absent.
_OF_TYPE: Mapping[str, tuple[Any, ...]] = {
    "string": ("text", ""),
    "number": (7, 0, 1.5, -1),
    "boolean": (True, False),
    "array": (["text"], [], [7]),
    "object": ({"key": "value"}, {}),
}

#: Every declared field, the types that it takes, and (for lists) the types of its items.
_FIELDS: tuple[tuple[str, str, str | None], ...] = (
    ("action", "object", None),
    ("action.tool", "string", None),
    ("action.args", "object", None),
    ("action.output", "string", None),
    ("entities", "array", "string"),
    ("include", "array", "string"),
    ("task", "string", None),
    ("mode", "string", None),
    ("user_id", "string", None),
    ("agent_id", "string", None),
    ("app_id", "string", None),
    ("group_ids", "array", "string"),
)


def wrong_types(valid: JsonObject) -> list[tuple[str, JsonObject]]:
    """A valid request with one field of a wrong JSON type: every field, every wrong type, every place of an
    item.

    Null is left out where a field is not nullable: some servers read it as absent, and the contract's prose
    lets them.
    """
    found: list[tuple[str, JsonObject]] = []
    for field, right, items in _FIELDS:
        for type_, values in _OF_TYPE.items():
            if type_ != right:
                found += [(f"{field} as {type_} {value!r}", _with(valid, field, value)) for value in values]
        if items is None:
            continue
        good = "lesson" if field == "include" else "text"
        for type_, values in _OF_TYPE.items():
            if type_ == items:
                continue
            found.append((f"{field} with a {type_} item", _with(valid, field, [values[0]])))
            found.append((f"{field} with a later {type_} item", _with(valid, field, [good, values[-1]])))
        if field == "entities":
            found.append((f"{field} with a null item", _with(valid, field, [good, None])))
    return found


def _with(valid: JsonObject, field: str, value: Any) -> JsonObject:
    outer, _, inner = field.partition(".")
    if not inner:
        return valid | {outer: value}
    return valid | {outer: {"tool": "probe_tool", inner: value}}


def no_json() -> list[tuple[str, bytes]]:
    """Bodies that are no JSON object."""
    return [
        ("nothing", b""),
        ("blanks", b"  \n "),
        ("a word", b"trigger"),
        ("a brace", b"{"),
        ("cut short", b'{"entities": ["x"], "user_id": "u'),
        ("single quotes", b"{'entities': ['x'], 'user_id': 'u'}"),
        ("a trailing comma", b'{"entities": ["x"], "user_id": "u",}'),
        ("a comment", b'{"entities": ["x"], "user_id": "u"} // note'),
        ("two objects", b'{"entities": ["x"], "user_id": "u"}{"entities": ["x"], "user_id": "u"}'),
        ("garbage after the object", b'{"entities": ["x"], "user_id": "u"} x'),
        ("unquoted names", b'{entities: ["x"], user_id: "u"}'),
        ("XML", b"<trigger><user_id>u</user_id></trigger>"),
        ("a form", b"user_id=u&entities=x"),
        ("an array", b"[]"),
        ("the object within an array", b'[{"entities": ["x"], "user_id": "u"}]'),
        ("pairs", b'[["entities", ["x"]], ["user_id", "u"]]'),
        ("a text", b'"trigger"'),
        ("the object as a text", b'"{\\"entities\\": [\\"x\\"], \\"user_id\\": \\"u\\"}"'),
        ("an empty text", b'""'),
        ("a number", b"1"),
        ("zero", b"0"),
        ("null", b"null"),
        ("true", b"true"),
        ("false", b"false"),
    ]


def rough_bodies() -> list[tuple[str, bytes]]:
    """Bodies whose texts and numbers break parsers, databases and loops, in every field."""
    base = '"entities":["x"],"mode":"retrieve"'

    texts = {
        "a lone surrogate": '"\\ud800"',
        "a reversed surrogate pair": '"\\udc00\\ud800"',
        "NUL": '"a\\u0000b"',
        "control characters": '"\\u0001\\u001b[31m\\u007f"',
        "an emoji of many parts": '"👩‍👩‍👧‍👦🏳️‍🌈"',
        "right to left": '"\\u202eabc\\u2066"',
        "a noncharacter": '"\\uffff\\ufffe"',
        "combining marks": '"' + "e" + "\\u0301" * 300 + '"',
        "a path": '"../../../../etc/passwd"',
        "SQL": '"\' OR 1=1; DROP TABLE memories; --"',
        "a template": '"{{7*7}} ${7*7} %s %n {0} {}"',
        "a pattern": '"(a+)+$[^\\\\("',
        "a long text": '"' + "x" * 70_000 + '"',
        "a newline": '"a\\r\\nX-Injected: 1\\r\\n"',
        "the empty text": '""',
    }
    found: list[tuple[str, bytes]] = []
    for name, text in texts.items():
        found += [
            (f"{name} in {field}", f'{{{base},"{field}":{text}}}'.encode())
            for field in ("user_id", "agent_id", "app_id")
        ]
        found.append((f"{name} in group_ids", f'{{{base},"group_ids":[{text}]}}'.encode()))
        found.append(
            (f"{name} in an entity", f'{{"mode":"retrieve","entities":[{text},"x"],"user_id":"u"}}'.encode())
        )
        found.append((f"{name} in mode", f'{{"entities":["x"],"user_id":"u","mode":{text}}}'.encode()))
        found.append((f"{name} in include", f'{{{base},"user_id":"u","include":[{text}]}}'.encode()))
        found.append((f"{name} in task", f'{{{base},"user_id":"u","task":{text}}}'.encode()))
        found += [
            (
                f"{name} in action.{part}",
                f'{{"mode":"retrieve","user_id":"u","action":{{"{part}":{text}}}}}'.encode(),
            )
            for part in ("tool", "output")
        ]
        found.append(
            (
                f"{name} in action.args",
                f'{{"mode":"retrieve","user_id":"u","action":{{"args":{{"k":[{text}],{text}:{text}}}}}}}'.encode(),
            )
        )
        found.append((f"{name} as a field", f'{{{base},"user_id":"u",{text}:{text}}}'.encode()))
    for name, number in {
        "a huge integer": "9" * 400,
        "an integer of 5000 digits": "9" * 5000,
        "a huge float": "1e400",
        "a tiny float": "1e-400",
        "minus zero": "-0",
        "2**63": "9223372036854775808",
        "NaN": "NaN",
        "Infinity": "-Infinity",
    }.items():
        found.append(
            (
                f"{name} in args",
                f'{{"mode":"retrieve","user_id":"u","action":{{"args":{{"n":{number}}}}}}}'.encode(),
            )
        )
        found.append((f"{name} as user_id", f'{{{base},"user_id":{number}}}'.encode()))
        found.append((f"{name} as task", f'{{{base},"user_id":"u","task":{number}}}'.encode()))
        found.append((f"{name} as an unknown field", f'{{{base},"user_id":"u","limit":{number}}}'.encode()))
    return found


def rough_shapes() -> list[tuple[str, bytes]]:
    """Bodies of rough shape: deep, huge, doubled, of odd encodings and broken bytes."""
    base = '"entities":["x"],"mode":"retrieve"'

    def nested(opening: str, closing: str, times: int) -> bytes:
        # Without `entities`, which would spare the server a look at what is within.
        inner = opening * times + "1" + closing * times
        return f'{{"user_id":"u","mode":"retrieve","action":{{"args":{{"a":{inner}}}}}}}'.encode()

    return [
        *((f"args {times} arrays deep", nested("[", "]", times)) for times in (33, 65, 129, 257, 600, 900)),
        ("args 900 objects deep", nested('{"a":', "}", 900)),
        ("args 5000 arrays deep", nested("[", "]", 5000)),
        ("100000 open brackets", b"[" * 100_000),
        ("100000 nested arrays", b"[" * 100_000 + b"]" * 100_000),
        ("100000 open braces", b'{"a":' * 100_000),
        (
            "an unknown field 3000 deep",
            (f'{{{base},"user_id":"u","x":' + "[" * 3000 + "]" * 3000 + "}").encode(),
        ),
        ("a byte order mark", b"\xef\xbb\xbf" + b'{"entities":["x"],"user_id":"u","mode":"retrieve"}'),
        ("UTF-16", '{"entities":["x"],"user_id":"u","mode":"retrieve"}'.encode("utf-16")),
        ("UTF-32", '{"entities":["x"],"user_id":"u","mode":"retrieve"}'.encode("utf-32")),
        ("broken UTF-8", b'{"entities":["\xff\xfe\xc3"],"user_id":"u","mode":"retrieve"}'),
        ("overlong UTF-8", b'{"entities":["\xc0\xaf"],"user_id":"u","mode":"retrieve"}'),
        ("a UTF-8 surrogate", b'{"entities":["\xed\xa0\x80"],"user_id":"\xed\xa0\x80","mode":"retrieve"}'),
        ("a raw NUL", b'{"entities":["x\x00"],"user_id":"u","mode":"retrieve"}'),
        ("a raw newline in a text", b'{"entities":["x\n"],"user_id":"u","mode":"retrieve"}'),
        (
            "the same name twice",
            b'{"entities":["x"],"user_id":"u","user_id":null,"mode":"retrieve","mode":7}',
        ),
        (
            "the same name many times",
            b"{" + b'"user_id":"u",' * 2000 + b'"entities":["x"],"mode":"retrieve"}',
        ),
        (
            "ten thousand entities",
            b'{"user_id":"u","mode":"retrieve","entities":['
            + b",".join(b'"e%d"' % n for n in range(10_000))
            + b"]}",
        ),
        (
            "five thousand groups",
            b'{"entities":["x"],"mode":"retrieve","group_ids":['
            + b",".join(b'"g%d"' % n for n in range(5_000))
            + b"]}",
        ),
        (
            "a thousand includes",
            b'{"entities":["x"],"user_id":"u","mode":"retrieve","include":['
            + b",".join([b'"lesson"'] * 1000)
            + b"]}",
        ),
        (
            "ten thousand args",
            b'{"user_id":"u","mode":"retrieve","action":{"args":{'
            + b",".join(b'"k%d":"v%d"' % (n, n) for n in range(10_000))
            + b"}}}",
        ),
        (
            "an output of 200 KB",
            b'{"user_id":"u","mode":"retrieve","action":{"output":"' + b"word/word.py:1 " * 14_000 + b'"}}',
        ),
        (
            "an output of one long word",
            b'{"user_id":"u","mode":"retrieve","action":{"output":"' + b"a" * 200_000 + b'"}}',
        ),
        (
            "an output of brackets",
            b'{"user_id":"u","mode":"retrieve","action":{"output":"' + b"((((====::::" * 8_000 + b'"}}',
        ),
        (
            "special names",
            b'{"entities":["__proto__","constructor","toString","__class__"],"user_id":"__proto__","__proto__":{"a":1},"constructor":1,"mode":"retrieve"}',
        ),
        ("only binary", bytes(range(256))),
        ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"),
    ]
