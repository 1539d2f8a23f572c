"""The objectives as JUnit test cases, for pipelines that show such files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

#: What XML 1.0 cannot carry, not even escaped.
_UNSAYABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(account: Mapping[str, Any]) -> bytes:
    """Return the file. A run without a verdict is an error of its one case; a missed objective a failure."""
    verdict, elapsed = account["verdict"], f"{account['run']['elapsed']:.3f}"
    suite = ET.Element(
        "testsuite",
        name=f"trigger-load {account['run']['profile']}",
        time=elapsed,
        timestamp=account["started"],
    )
    for row in account["objectives"]:
        case = _case(suite, row["objective"])
        if not row["met"]:
            ET.SubElement(case, "failure", message=_said(f"was {row['shown']}")).text = _said(verdict["why"])
    if account["capacity"] or verdict["exit_code"] > 1:
        case = _case(suite, "verdict")
        if verdict["exit_code"]:
            kind = "failure" if verdict["exit_code"] == 1 else "error"
            ET.SubElement(case, kind, message=_said(verdict["word"])).text = _said(verdict["why"])
    for attribute, tag in (
        ("tests", "testcase"),
        ("failures", "testcase/failure"),
        ("errors", "testcase/error"),
    ):
        suite.set(attribute, str(len(suite.findall(tag))))
    root = ET.Element("testsuites")
    root.append(suite)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname="trigger-load", name=_said(name))


def _said(text: str) -> str:
    return _UNSAYABLE.sub("\ufffd", text)
