"""The lit format of test/check: what `nereid check` must report, and what it must leave alone.

docs/testing.md defines the form. It drives the command `nereid` and nothing else.
"""
import json
import os
import re

import lit.formats
import lit.Test

from kernel_tests import Call, Malformed, directives, expected_failure, run_command, shown


class Place:
    """`CODE` on one of some lines, with a part of the message: of `# fault:` and `# maybe:`"""

    def __init__(self, line, text):
        match = re.match(r"^([\d.|+-]+)\s+(\w+)(?:\s+(.*))?$", text)
        if not match:
            raise Malformed(f"line {line}: not `LINE CODE fragment`: {text}")
        places, self.code, fragment = match.groups()
        self.fragment, self.lines = fragment or "", []
        for place in places.split("|"):
            if not re.match(r"^(\.([+-]\d+)?|\d+)$", place):
                raise Malformed(f"line {line}: not a line: {place}")
            self.lines.append(line + int(place[1:] or 0) if place.startswith(".") else int(place))

    def matches(self, finding):
        return (finding.get("code") == self.code and finding.get("line") in self.lines
                and self.fragment in finding.get("message", ""))

    def __str__(self):
        lines = " or ".join(map(str, self.lines))
        return f"line {lines}: [{self.code}]" + (f" with `{self.fragment}`" if self.fragment else "")


def described(finding):
    return f"line {finding.get('line')}: {finding.get('message')} [{finding.get('code')}]"


class CheckFile:
    """The calls of a file and what each must find."""

    def __init__(self, text):
        self.calls = []
        for line, _, content in directives(text, ["check"]):
            call, arrow, result = content.partition("->")
            if arrow and result.strip() != "clean":
                raise Malformed(f"line {line}: not `-> clean`: {result}")
            self.calls.append((Call(call), bool(arrow)))
        self.faults = [Place(line, content) for line, _, content in directives(text, ["fault"])]
        self.maybe = [Place(line, content) for line, _, content in directives(text, ["maybe"])]
        if not self.calls:
            raise Malformed("no `# check:` line")
        if self.maybe and not self.faults:
            raise Malformed("`# maybe:` without `# fault:`")
        if self.faults and all(clean for _, clean in self.calls):
            raise Malformed("`# fault:`, but every call is `-> clean`")

    def judge(self, answers):
        """What is wrong with `answers`, the (exit code, stdout, stderr) of each call."""
        wrong, seen = [], []
        for number, ((_, clean), (code, stdout, stderr)) in enumerate(zip(self.calls, answers), 1):
            which = f"call {number}: "
            try:
                findings = json.loads(stdout)["findings"]
            except (ValueError, KeyError, TypeError):
                wrong.append(f"{which}exit code {code}, and no findings in the answer\n{stdout[:1000]}{stderr[:2000]}")
                continue
            if code != int(any(one.get("severity", "error") == "error" for one in findings)):
                wrong.append(f"{which}exit code {code} with {len(findings)} findings")
            if clean or not self.faults:
                wrong += [f"{which}false alarm: {described(one)}" for one in findings]
                continue
            wrong += [f"{which}unexpected: {described(one)}" for one in findings
                      if not any(place.matches(one) for place in self.faults + self.maybe)]
            if not any(place.matches(one) for place in self.faults for one in findings):
                wrong.append(f"{which}the fault was not found")
            seen += findings
        wrong += [f"missing: {fault}" for fault in self.faults if not any(fault.matches(one) for one in seen)]
        return wrong


class CheckTest(lit.formats.FileBasedTest):
    def __init__(self, nereid):
        self.nereid = nereid

    def execute(self, test, lit_config):
        source = test.getSourcePath()
        with open(source) as file:
            text = file.read()
        try:
            wanted = CheckFile(text)
        except Malformed as error:
            return lit.Test.UNRESOLVED, f"{source}: {error}"
        if expected_failure(text) is not None:
            test.xfails = ["*"]
        commands = [[self.nereid, "check"] + call.command(source) + ["--json"] for call, _ in wanted.calls]
        wrong = wanted.judge([run_command(command) for command in commands])
        if wrong:
            return lit.Test.FAIL, "\n".join([f"{source}:"] + wrong + [""] + [shown(one) for one in commands])
        return lit.Test.PASS, ""
