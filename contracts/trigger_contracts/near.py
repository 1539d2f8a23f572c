"""What is near a known value and is not it: other cases, parts, blanks, wildcards, lookalikes.

Each is what some loose comparison takes for the value. Near misses are never equal to it, and may still be
another directive's own, so they are judged by the probed rows. Nothing here talks to the target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def near_misses(text: str) -> list[str]:
    """Values that a loose comparison takes for `text`: another case, a part, more than it, blanks,
    wildcards, what is the same to a reader, and what becomes the same once decoded.
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
        *(f"{blank}{text}" for blank in (" ", "\t", "\n", "\u00a0")),
        *(f"{text}{blank}" for blank in (" ", "\t", "\n", "\r\n", "\u00a0", "\u200b")),
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
        f"{text}\u0000x",
        f'"{text}"',
        f"'{text}'",
        f"{text},{text}",
        f"{text},x",
        f"x,{text}",
        f"{text} x",
        f"x\n{text}",
        "*",
        "%",
        ".*",
        f"^{text}$",
        f"{text}|x",
        *_lookalikes(text),
    ]
    return [one for one in dict.fromkeys(candidates) if one and one != text]


#: Characters that case folding or normalisation turns into the ASCII letter.
_FOLDED = {"s": "\u017f", "k": "\u212a", "K": "\u212a"}


def _lookalikes(text: str) -> Iterator[str]:
    """What some normalisation makes the same as `text`."""
    middle = len(text) // 2
    for at, letter in enumerate(text):
        if letter in _FOLDED:
            yield text[:at] + _FOLDED[letter] + text[at + 1 :]
            break
    for at, letter in enumerate(text):
        if letter in "aeiouAEIOU":
            yield f"{text[: at + 1]}\u0301{text[at + 1 :]}"  # an accent that a collation may ignore
            break
    if "!" <= text[:1] <= "~":
        yield chr(ord(text[0]) + 0xFEE0) + text[1:]  # full width
        yield f"%{ord(text[0]):02X}{text[1:]}"
        yield f"&#{ord(text[0])};{text[1:]}"
        yield f"\\u{ord(text[0]):04x}{text[1:]}"
    yield f"{text[:middle]}\u00ad{text[middle:]}"  # a soft hyphen, which nobody sees
    yield f"{text[:middle]} {text[middle:]}"
    yield text.replace("-", "_")
    yield text.replace("_", "-")
    yield "".join(one for one in text if one.isalnum())
    yield text[1:2] + text[:1] + text[2:]


def near_entities(entity: str) -> list[str]:
    """The near misses of a symbol, and what a reader of code might take for it."""
    pieces = re.split(r"[^A-Za-z0-9]+", entity)
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", entity)
    tails = [entity[at + 1 :] for at, letter in enumerate(entity) if letter in "/."]
    candidates = [
        *near_misses(entity),
        *pieces,
        *tails,
        entity.rpartition(".")[0],
        entity.rpartition("/")[0],
        "_".join(words).lower(),
        "".join(word.capitalize() for word in words),
        "-".join(words).lower(),
        f"{entity}s",
        f"{entity}.",
        f"{entity}.py",
        f"{entity}()",
        f"{entity}:12",
        f"src/{entity}",
        f"./{entity}",
        f"/{entity}",
        f"{entity}/",
        f"@{entity}",
        f"k={entity}",
        f"`{entity}`",
        f"use {entity} here",
    ]
    return [one for one in dict.fromkeys(candidates) if one and one != entity]


def near_keys(key: str, name: str) -> dict[str, tuple[str, str]]:
    """Keys that a loose comparison takes for `key`, each with an expression of the shell that makes it of
    the variable `name`: what a report shows can be run, and holds no key.
    """
    half, piped = len(key) // 2, f'printf %s "${name}"'
    found = {
        "with its case swapped": (key.swapcase(), f"$({piped} | tr a-zA-Z A-Za-z)"),
        "in upper case": (key.upper(), f"$({piped} | tr a-z A-Z)"),
        "in lower case": (key.lower(), f"$({piped} | tr A-Z a-z)"),
        "without its last character": (key[:-1], f"${{{name}%?}}"),
        "without its first character": (key[1:], f"${{{name}#?}}"),
        "cut to its first half": (key[:half], f"$({piped} | cut -c1-$((${{#{name}}}/2)))"),
        "cut to its first eight characters": (key[:8], f"$({piped} | cut -c1-8)"),
        "with a character added": (f"{key}x", f"${{{name}}}x"),
        "with a digit added": (f"{key}0", f"${{{name}}}0"),
        "with a character before it": (f"x{key}", f"x${{{name}}}"),
        "twice in a row": (key + key, f"${{{name}}}${{{name}}}"),
        "with a wildcard": (f"{key[:-1]}*", f"${{{name}%?}}*"),
        "with another wildcard": (f"{key[:-1]}%", f"${{{name}%?}}%"),
        "as a lone wildcard": ("*", "*"),
        "as a lone per cent sign": ("%", "%"),
        "within single quotes": (f"'{key}'", f"'${{{name}}}'"),
        "within double quotes": (f'"{key}"', f'\\"${{{name}}}\\"'),
        "with a word after it": (f"{key} x", f"${{{name}}} x"),
        "with a comma and a word after it": (f"{key},x", f"${{{name}}},x"),
        "without its punctuation": (
            "".join(one for one in key if one not in "-_."),
            f"$({piped} | tr -d _.-)",
        ),
        "with its dashes and underscores changed": (
            key.translate({ord("-"): "_", ord("_"): "-"}),
            f"$({piped} | tr _- -_)",
        ),
    }
    size = f"${{#{name}}}"
    for what, at, place in (
        ("its first character", 0, "1"),
        ("a character of its first half", len(key) // 4, f"$(({size}/4+1))"),
        ("its middle character", half, f"$(({size}/2+1))"),
        ("a character of its second half", len(key) * 3 // 4, f"$(({size}*3/4+1))"),
        ("its last character", len(key) - 1, f"$(({size}))"),
    ):
        letter = "x" if key[at] != "x" else "y"
        found[f"with {what} replaced"] = (
            key[:at] + letter + key[at + 1 :],
            f'$({piped} | sed "s/./{letter}/{place}")',
        )
    return found
