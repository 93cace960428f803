"""The two lit formats of kernel files: test/run (must compute this) and test/errors (must fail with this).

docs/testing.md defines both forms. The formats drive the command `nereid` and nothing else.
"""
import json
import math
import os
import re
import resource
import subprocess

import lit.formats
import lit.Test

from gpu_tools import find_libdevice, find_ptxas

# How a test names a back end, and how the command does.
DEVICES = {"ref": "ref", "cpu": "cpu", "gpu": "cuda:0", "model": "cuda:0", "model90": "cuda:0"}
# Chips that the model of a GPU (test/fake_cuda) can be, and the tests that run on them.
MODEL_CHIPS = {"model": "sm_80", "model90": "sm_90a"}
# What the model of a GPU (test/fake_cuda) says of code that it cannot run.
UNKNOWN_TO_MODEL = "the model of a GPU: the model does not know"
# Seconds of processor time, and by the clock: a busy machine ends nothing that does not hang.
TIME_LIMIT = 120
CLOCK_LIMIT = 900


class Malformed(Exception):
    """The test file itself is wrong."""


def devices_here(gpu=None):
    """Features for the devices of this machine; `gpu` (0 or 1) overrides what is found."""
    found = {"ref", "cpu"}
    if gpu == "1" or gpu is None and os.path.exists("/dev/nvidiactl"):
        found.add("gpu")
    return found


def model_environment(build, root, chip="sm_80", ordered=True):
    """What makes `cuda:0` a model that runs the code for a chip on this machine's processor."""
    return {**os.environ, "LD_LIBRARY_PATH": os.path.join(build, "fake_cuda"), "FAKE_CUDA": " ".join(["runs"] + ["ordered"] * ordered + ["sm90"] * (chip == "sm_90a")),
            "NEREID_CACHE_DIR": os.path.join(build, "model-cache"), "NEREID_PTXAS": os.path.join(root, "test", "fake_cuda", "ptxas.sh")}


def run_command(arguments, environment=None):
    """(exit code, stdout, stderr); a code below 0 or from 124 on is a crash or a hang, never a refusal."""
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=CLOCK_LIMIT, stdin=subprocess.DEVNULL, env=environment,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (TIME_LIMIT,) * 2))
    except subprocess.TimeoutExpired:
        return -1, "", f"no answer within {CLOCK_LIMIT} s"
    except OSError as error:
        return -1, "", str(error)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def shown(arguments):
    return " ".join(f"'{a}'" if re.search(r"[^\w./:=-]", a) else a for a in arguments)


def directives(text, names):
    """(line number, name, text) of each comment `# name: text`; an indented comment line continues it."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        match = re.match(r"^(?:.*\s)?#\s?(%s):\s*(.*)$" % "|".join(names), line)
        if not match:
            continue
        content = match.group(2)
        following = number
        while following < len(lines) and re.match(r"^#\s{4,}\S", lines[following]):
            content += " " + lines[following].lstrip("# \t")
            following += 1
        found.append((number, match.group(1), content.strip()))
    return found


def expected_failure(text):
    """The reason of `# xfail: REASON`: what the engine does not yet get right. None without."""
    found = directives(text, ["xfail"])
    return found[0][2] if found else None


# --- test/run ---------------------------------------------------------------------------------------


def split_outside(text, separator):
    """Split at `separator` where it stands outside brackets and strings."""
    parts, depth, quote, start, at = [], 0, None, 0, 0
    while at < len(text):
        char = text[at]
        if quote:
            quote = None if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(separator, at):
            parts.append(text[start:at])
            at += len(separator)
            start = at
            continue
        at += 1
    parts.append(text[start:])
    return [part.strip() for part in parts]


class Call:
    """`KERNEL[GRID](NAME=VALUE, ...)`"""

    def __init__(self, text):
        match = re.match(r"^(\w+)\s*(?:\[(.*?)\])?\s*\((.*)\)$", text.strip(), re.S)
        if not match:
            raise Malformed(f"not a call: {text}")
        self.kernel, self.grid = match.group(1), match.group(2) or "1"
        self.arguments = []
        for part in split_outside(match.group(3), ","):
            if part:
                name, equals, value = part.partition("=")
                if not equals:
                    raise Malformed(f"argument without a name: {part}")
                self.arguments.append((name.strip(), value.strip()))

    def command(self, file):
        words = [f"{file}:{self.kernel}"]
        for name, value in self.arguments:
            words += ["--arg", f"{name}={value}"]
        return words + ["--grid", f"({self.grid},)"]


NAMES = {
    "inf": math.inf, "nan": math.nan, "range": range, "float": float, "int": int, "sum": sum, "min": min,
    "max": max, "abs": abs, "math": math, "True": True, "False": False, "sorted": sorted, "len": len,
    "enumerate": enumerate, "zip": zip, "reversed": reversed, "list": list, "round": round,
}


class Output:
    """`NAME[:DTYPE] == VALUES` or `NAME[:DTYPE] ~= VALUES within BOUND`"""

    def __init__(self, text):
        match = re.match(r"^(\w+)(?::(\w+))?\s*(==|~=)\s*(.*)$", text, re.S)
        if not match:
            raise Malformed(f"not an expectation: {text}")
        self.name, self.dtype, self.relation, values = match.groups()
        self.bound = 0.0
        if self.relation == "~=":
            values, within, bound = values.rpartition(" within ")
            if not within:
                raise Malformed(f"`~=` needs `within BOUND`: {text}")
            self.bound = float(bound)
        try:
            self.values = eval(values, {"__builtins__": {}, **NAMES})
        except Exception as error:
            raise Malformed(f"cannot evaluate `{values}`: {error}")

    def shape(self):
        sizes, level = [], self.values
        while isinstance(level, list):
            sizes.append(len(level))
            level = level[0] if level else None
        return sizes or [1]

    def argument(self):
        """The tensor of zeros that an output which is no argument starts as."""
        return f"zeros({'x'.join(map(str, self.shape()))},{self.dtype or 'f32'})"


def flatten(values):
    if isinstance(values, list):
        for value in values:
            yield from flatten(value)
    else:
        yield values


def as_number(value):
    return float(value) if isinstance(value, str) else value


def same(seen, wanted, bound):
    seen, wanted = as_number(seen), as_number(wanted)
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(seen, float) and math.isnan(seen)
    if bound:
        if math.isinf(wanted) or isinstance(seen, float) and math.isinf(seen):
            return seen == wanted
        return abs(seen - wanted) <= bound * max(1.0, abs(wanted))
    if wanted == 0 and isinstance(wanted, float) and math.copysign(1, wanted) < 0:
        return seen == 0 and math.copysign(1, seen) < 0
    return seen == wanted


def compare(seen, output):
    """None, or the first difference."""
    got, wanted = list(flatten(seen.get("data"))), list(flatten(output.values))
    if len(got) != len(wanted):
        return f"`{output.name}` has {len(got)} elements, not {len(wanted)}"
    wrong = [i for i in range(len(got)) if not same(got[i], wanted[i], output.bound)]
    if wrong:
        i = wrong[0]
        return (f"`{output.name}` differs at {len(wrong)} of {len(got)} elements, first at {i}: "
                f"{got[i]} seen, {wanted[i]} wanted\n  all: {seen.get('data')}")
    return None


class Expectation:
    """`CALL -> OUTPUT {and OUTPUT}`, `CALL -> prints "TEXT"`, `CALL -> fails CODE ["TEXT"]`"""

    def __init__(self, text):
        call, arrow, result = text.partition("->")
        if not arrow:
            raise Malformed(f"expectation without `->`: {text}")
        self.call, self.outputs, self.prints, self.fails = Call(call), [], [], None
        for part in split_outside(result, " and "):
            match = re.match(r'^prints\s+"(.*)"$', part, re.S)
            failure = re.match(r'^fails\s+(\w+)(?:\s+"(.*)")?$', part, re.S)
            if match:
                self.prints.append(match.group(1))
            elif failure:
                self.fails = (failure.group(1), failure.group(2) or "")
            else:
                self.outputs.append(Output(part))
        given = {name for name, _ in self.call.arguments}
        for output in self.outputs:
            if output.name not in given:
                self.call.arguments.append((output.name, output.argument()))

    def command(self, nereid, file, device):
        words = [nereid, "run"] + self.call.command(file) + ["--device", device, "--json"]
        for output in self.outputs:
            words += ["--print", output.name]
        return words

    def judge(self, code, stdout, stderr):
        """None, or what is wrong."""
        if self.fails:
            kind, text = self.fails
            if code != 1:
                return f"exit code {code} instead of a refusal\n{stderr}"
            if f"[{kind}]" not in stderr or text not in stderr:
                return f"no error [{kind}] with `{text}`\n{stderr}"
            return None
        if code != 0:
            return f"exit code {code}\n{stderr}"
        try:
            answer = json.loads(stdout)
        except ValueError as error:
            return f"the answer is not JSON ({error}):\n{stdout[:2000]}"
        for text in self.prints:
            if not any(text in line for line in answer.get("prints", [])):
                return f"`{text}` was not printed; seen: {answer.get('prints')}"
        for output in self.outputs:
            seen = answer.get("outputs", {}).get(output.name)
            if seen is None:
                return f"the answer has no output `{output.name}`"
            difference = compare(seen, output)
            if difference:
                return difference
        return None


class RunTest(lit.formats.TestFormat):
    """Each back end that `# run:` names is a test of its own: `shift.py` gives `shift.py/ref` and so on. What names `gpu` runs on the
    model of one as well, as each chip that it can be, where that was built."""

    def __init__(self, nereid):
        self.nereid = nereid
        self.build = os.path.dirname(os.path.dirname(os.path.abspath(nereid)))
        self.root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    def getTestsForPath(self, suite, path, lit_config, local_config):
        yield from self.tests_of(suite, path, suite.getSourcePath(path), local_config)

    def getTestsInDirectory(self, suite, path, lit_config, local_config):
        folder = suite.getSourcePath(path)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and name not in local_config.excludes:
                yield from self.tests_of(suite, path + (name,), os.path.join(folder, name), local_config)

    def tests_of(self, suite, path, source, config):
        with open(source, errors="replace") as file:
            found = directives(file.read(), ["run"])
        # A file that names no back end still is a test, and fails.
        devices = found[0][2].split() if found else ["ref"]
        if "gpu" in devices and "model" in config.available_features:
            devices += MODEL_CHIPS
        for device in devices:
            yield lit.Test.Test(suite, path + (device,), config, file_path=source)

    def execute(self, test, lit_config):
        device, source = test.path_in_suite[-1], test.file_path
        if device not in DEVICES:
            return lit.Test.UNRESOLVED, f"no back end `{device}`; known: {', '.join(DEVICES)}"
        back_end = "model" if device in MODEL_CHIPS else device
        if back_end not in test.config.available_features:
            return lit.Test.UNSUPPORTED, f"this machine has no `{back_end}`"
        with open(source) as file:
            text = file.read()
        if not directives(text, ["run"]):
            return lit.Test.UNRESOLVED, "no `# run:` line"
        expectations = directives(text, ["expect"])
        if not expectations:
            return lit.Test.UNRESOLVED, "no `# expect:` line"
        wrong, unknown = [], set()
        for line, _, content in expectations:
            try:
                expectation = Expectation(content)
            except Malformed as error:
                wrong.append(f"{source}:{line}: {error}")
                continue
            command = expectation.command(self.nereid, source, DEVICES[device])
            environment = model_environment(self.build, self.root, MODEL_CHIPS[device]) if device in MODEL_CHIPS else None
            answer = run_command(command, environment)
            if device in MODEL_CHIPS and UNKNOWN_TO_MODEL in answer[2]:
                unknown.add(re.search(f"{UNKNOWN_TO_MODEL} (.*)", answer[2])[1])
                continue
            complaint = expectation.judge(*answer)
            if complaint:
                wrong.append(f"{source}:{line}: {complaint}\n  {shown(command)}")
        if any(content.startswith(f"{back_end} ") for _, _, content in directives(text, ["xfail"])):
            return (lit.Test.XFAIL, "\n".join(wrong)) if wrong else (lit.Test.XPASS, "")
        if wrong:
            return lit.Test.FAIL, "\n".join(wrong)
        return (lit.Test.UNSUPPORTED, f"the model does not know {', '.join(sorted(unknown))}") if unknown else (lit.Test.PASS, "")


# --- test/errors ------------------------------------------------------------------------------------

# Without a place: what is wrong is in no line, or in no file.
DIAGNOSTIC = re.compile(r"^(?:(\S.*?):(?:(\d+):(\d+):)? )?(error|warning|note): (.*?)(?: \[(\w+)\])?$")


class Wanted:
    """`# error: LINE{|LINE}[:COLUMN] CODE FRAGMENT` and the same for warning and note; `-` for a LINE or CODE where there is none"""

    def __init__(self, line, severity, text):
        match = re.match(r"^(-|[\d.|+-]+)(?::(\d+))?\s+(\w+|-)(?:\s+(.*))?$", text)
        if not match:
            raise Malformed(f"line {line}: not `LINE:COLUMN Code fragment`: {text}")
        places, column, code, fragment = match.groups()
        self.lines = []
        for place in [] if places == "-" else places.split("|"):
            if not re.match(r"^(\.([+-]\d+)?|\d+)$", place):
                raise Malformed(f"line {line}: not a line: {place}")
            self.lines.append(line + int(place[1:] or 0) if place.startswith(".") else int(place))
        self.column, self.code = int(column or 0), None if code == "-" else code
        self.severity, self.fragment = severity, fragment or ""

    def matches(self, seen):
        _, line, column, severity, message, code = seen
        placed = int(line) in self.lines and self.column in (0, int(column)) if line else not self.lines
        return placed and \
            (severity, code) == (self.severity, self.code) and self.fragment in message

    def __str__(self):
        place = ("|".join(map(str, self.lines)) or "-") + (f":{self.column}" if self.column else "")
        return f"{place}: {self.severity}: ...{self.fragment}... [{self.code}]"


def judge_errors(text, code, stderr):
    """What is wrong with the answer to a file of test/errors; an empty list if nothing is."""
    wanted = [Wanted(*one) for one in directives(text, ["error", "warning", "note"])]
    hints = [content for _, _, content in directives(text, ["hint"])]
    if not wanted:
        raise Malformed("no `# error:`, no `# warning:` and no `# note:` line")
    seen = [match.groups() for match in map(DIAGNOSTIC.match, stderr.splitlines()) if match]
    wrong = []
    refused = any(one.severity == "error" for one in wanted)
    if code != (1 if refused else 0):
        wrong.append(f"exit code {code}, not {1 if refused else 0}")
    for one in wanted:
        match = next((diagnostic for diagnostic in seen if one.matches(diagnostic)), None)
        if match is None:
            wrong.append(f"missing: {one}")
        else:
            seen.remove(match)
    wrong += [f"unexpected: {line}:{column}: {severity}: {message} [{kind}]"
              for _, line, column, severity, message, kind in seen if severity != "note"]
    wrong += [f"missing hint: {hint}" for hint in hints
              if not any(line.lstrip().startswith("hint: ") and hint in line for line in stderr.splitlines())]
    return wrong


def error_command(nereid, source, text):
    """The command line of a file: its `# nereid:` line with %s for the file and %S for its folder, by default `list %s`."""
    found = directives(text, ["nereid"])
    words = []
    for word in re.findall(r'"[^"]*"|\'[^\']*\'|\S+', found[0][2] if found else "list %s"):
        if word[0] in "\"'":
            word = word[1:-1]
        words.append(word.replace("%s", source).replace("%S", os.path.dirname(source)))
    return [nereid] + words


def golden_text(stderr, source):
    return stderr.replace(source, os.path.basename(source))


class ErrorTest(lit.formats.FileBasedTest):
    """The smallest kernel that must fail, and the message. NAME.golden beside it holds the whole text."""

    def __init__(self, nereid):
        self.nereid = nereid

    def execute(self, test, lit_config):
        source = test.getSourcePath()
        with open(source, errors="surrogateescape") as file:
            text = file.read()
        if expected_failure(text) is not None:
            test.xfails = ["*"]
        command = error_command(self.nereid, source, text)
        code, _, stderr = run_command(command)
        try:
            wrong = judge_errors(text, code, stderr)
        except Malformed as error:
            return lit.Test.UNRESOLVED, str(error)
        golden = source[: -len(".py")] + ".golden"
        if os.path.exists(golden):
            with open(golden) as file:
                if file.read() != golden_text(stderr, source):
                    wrong.append(f"the text differs from {os.path.basename(golden)}; "
                                 "`./dev golden` rewrites it")
        if wrong:
            return lit.Test.FAIL, "\n".join([f"{source}:"] + wrong + ["", shown(command), stderr])
        return lit.Test.PASS, ""
