"""A plugin of pytest for scripts/agree-tests.py: lets a package's tests run on CPU tensors, takes few of each, and notes which
kernels each test launched. Its configuration is in NEREID_AGREE_TESTS, as JSON."""
import collections
import json
import os
import signal
import zlib

import pytest
import torch
import triton

import cuda_means_cpu

CONFIGURATION = json.loads(os.environ["NEREID_AGREE_TESTS"])
launched = set()
outcomes = []  # (test, outcome, why, kernels)


if CONFIGURATION["device"] == "cpu":
    cuda_means_cpu.install() if CONFIGURATION.get("cuda") else cuda_means_cpu.answer_for_gpu(False)
    # Decorated functions are the same functions, only slower.
    torch.compile = lambda f=None, *a, **k: f if callable(f) else (lambda g: g)
if "version" in CONFIGURATION:
    triton.__version__ = CONFIGURATION["version"]
triton.knobs.runtime.launch_enter_hook.add(lambda metadata: launched.add(metadata.get()["name"]))


def pytest_collection_modifyitems(config, items):
    """The same few cases of each test function."""
    groups = collections.defaultdict(list)
    for item in items:
        groups[item.nodeid.split("[")[0]].append(item)
    kept = []
    for group in groups.values():
        group.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        kept += group[:CONFIGURATION["most"]]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    def late(*arguments):
        raise TimeoutError(f"more than {CONFIGURATION['limit']} s")

    launched.clear()
    signal.signal(signal.SIGALRM, late)
    signal.alarm(CONFIGURATION["limit"])
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" or report.outcome == "failed":
        why = ""
        if call.excinfo is not None:
            lines = [line for line in str(call.excinfo.value).splitlines() if line.strip()] or [""]
            marked = [line for line in lines if "error:" in line]
            why = f"{call.excinfo.typename}: {(marked or lines)[0].strip()}"
        outcomes.append([item.nodeid, report.outcome, why[:300], sorted(launched)])


def pytest_sessionfinish(session, exitstatus):
    with open(CONFIGURATION["output"], "w") as out:
        json.dump(outcomes, out)
