"""The lit format of test/hostile: input that nobody means well, made while the test runs.

`cases.py` lists the cases; each is a lit test `cases.py/NAME`. The command must answer with the expected code and
message, within bounds of time, memory and length of the answer.
"""
import functools
import importlib.util
import os
import resource
import shutil
import signal
import subprocess
import tempfile

import lit.formats
import lit.Test

# Processor time and resident memory of one command; bytes of its answer.
SECONDS = 2.0
MEGABYTES = 700
# How much more of both a program takes that is sanitized and hardly optimised.
SANITIZED = (10, 3)
ANSWER_BYTES = 20_000
# A hang ends here, however busy the machine is.
HANG_SECONDS = 60


def run(command, folder):
    """(exit code, None for a hang; stdout; stderr; seconds of processor time; megabytes)"""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (HANG_SECONDS,) * 2))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    hangs = code in (-signal.SIGXCPU, -signal.SIGKILL)
    return None if hangs else code, *texts, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def judge(case, code, stdout, stderr, seconds, megabytes, factors=(1, 1)):
    """What is wrong, a list."""
    wrong = []
    most_seconds = case.get("seconds", SECONDS) * factors[0]
    most_megabytes = case.get("megabytes", MEGABYTES) * factors[1]
    answer = stderr + stdout
    if code is None:
        return [f"hangs: no answer within {HANG_SECONDS} s"]
    if code != (0 if case["expect"] is None else 1):
        wrong.append(f"exit code {code}")
    for part in case["expect"] or []:
        if part not in answer:
            wrong.append(f"`{part}` is not in the answer")
    if seconds > most_seconds:
        wrong.append(f"took {seconds:.1f} s of processor time, more than {most_seconds}")
    if megabytes > most_megabytes:
        wrong.append(f"took {megabytes:.0f} MB, more than {most_megabytes}")
    if case["expect"] is not None and len(answer) > ANSWER_BYTES:
        wrong.append(f"the answer has {len(answer)} bytes")
    return wrong


@functools.cache
def cases_of(source):
    """The cases by name. lit sends a test with its format to another process, so no format holds their megabytes: each process makes them once."""
    spec = importlib.util.spec_from_file_location("hostile_cases", source)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    return cases.CASES


class HostileTest(lit.formats.TestFormat):
    def __init__(self, nereid, isSanitized=False):
        self.nereid = nereid
        self.factors = SANITIZED if isSanitized else (1, 1)

    def getTestsInDirectory(self, suite, path, lit_config, local_config):
        source = os.path.join(suite.getSourcePath(path), "cases.py")
        for name in sorted(cases_of(source)):
            yield lit.Test.Test(suite, path + ("cases.py", name), local_config, file_path=source)

    def execute(self, test, lit_config):
        case = cases_of(test.file_path)[test.path_in_suite[-1]]
        folder = tempfile.mkdtemp(prefix="nereid-hostile-")
        try:
            for name, content in case["files"].items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(content if isinstance(content, bytes) else content.encode())
            # Of three times the least: what else the machine does slows a program as well.
            for _ in range(3):
                code, stdout, stderr, seconds, megabytes = run([self.nereid] + case["command"], folder)
                if code is None or seconds <= case.get("seconds", SECONDS) * self.factors[0]:
                    break
        finally:
            shutil.rmtree(folder)
        wrong = judge(case, code, stdout, stderr, seconds, megabytes, self.factors)
        if not wrong:
            return lit.Test.PASS, f"{seconds:.2f} s, {megabytes:.0f} MB"
        command = " ".join(["nereid"] + case["command"])
        return lit.Test.FAIL, "\n".join(wrong + [command[:500], (stderr + stdout)[:3000]])
