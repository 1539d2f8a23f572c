"""Rough bodies: no JSON, no object, odd texts and numbers in every field, deep, huge and broken ones.

Plain bytes, each with a name for the reader of a report. Nothing here talks to the target.
"""

from __future__ import annotations

import json

from trigger_contracts.exchange import JsonObject

#: Texts that break parsers, databases and loops, as JSON writes them.
_TEXTS = {
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

#: Numbers that do.
_NUMBERS = {
    "a huge integer": "9" * 400,
    "an integer of 5000 digits": "9" * 5000,
    "a huge float": "1e400",
    "a tiny float": "1e-400",
    "minus zero": "-0",
    "2**63": "9223372036854775808",
    "NaN": "NaN",
    "Infinity": "-Infinity",
}


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

    found: list[tuple[str, bytes]] = []
    for name, text in _TEXTS.items():
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
    for name, number in _NUMBERS.items():
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


def rough_together(known: JsonObject | None = None) -> list[tuple[str, bytes]]:
    """The same texts and numbers, each in as many fields of one body as take it; and all of them beside a
    signal that meets rows, where more of the server sees them.
    """
    found: list[tuple[str, bytes]] = []
    for name, text in _TEXTS.items():
        task = f',"task":{text}' if len(text) < 2000 else ""
        found += [
            (
                name,
                f'{{"mode":"retrieve","entities":[{text},"x"],"user_id":{text},"agent_id":{text},"app_id":{text},'
                f'"group_ids":[{text},"g"]{task},"x":{{{text}:{text}}}}}'.encode(),
            ),
            (
                name,
                f'{{"mode":"retrieve","user_id":"u","action":{{"tool":{text},"args":{{"k":[{text}],{text}:{text}}},'
                f'"output":{text}}}}}'.encode(),
            ),
        ]
    for name, number in _NUMBERS.items():
        found.append(
            (
                name,
                f'{{"mode":"retrieve","user_id":"u","limit":{number},"action":{{"args":{{"n":[{number}]}}}}}}'.encode(),
            )
        )
    if known is not None:
        own = json.dumps(known)[1:-1]
        signal = json.dumps(known.get("entities", ["x"]))[1:-1]
        # A server may refuse what is no Unicode; what is some must not be spared by that.
        odd = [text[1:-1] for text in _TEXTS.values() if len(text) < 500]
        tasks = {
            "lone surrogates": " ".join(text for text in odd if "\\ud" in text),
            "every odd text": " ".join(text for text in odd if "\\ud" not in text),
        }
        everything = ",".join(_TEXTS.values())
        found.append(
            (
                "every odd text beside a known entity",
                f'{{{own},"mode":"retrieve","entities":[{signal},{everything}]}}'.encode(),
            )
        )
        found += [
            (f"{name} as the task of {mode}", f'{{{own},"mode":"{mode}","task":"{task}"}}'.encode())
            for name, task in tasks.items()
            for mode in ("retrieve", "compose")
        ]
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
