"""./dev: its verbs, and what it says when packages are missing."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dev(*words, fakes=None):
    """Run ./dev with programs replaced by the shell texts in `fakes`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (fakes or {}).items():
            path = pathlib.Path(folder) / name
            path.write_text("#!/bin/sh\n" + text)
            path.chmod(0o755)
        done = subprocess.run([str(ROOT / "dev"), *words], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        return done.returncode, done.stdout, done.stderr


class Dev(unittest.TestCase):
    def test_help_names_every_verb(self):
        code, out, _ = dev("help")
        self.assertEqual(code, 0)
        for verb in "setup build test demo bench fmt lint new golden replay fuzz soak corpus".split():
            self.assertRegex(out, rf"(?m)^  {verb}\b")

    def test_help_of_each_verb_installs_and_builds_nothing(self):
        fakes = {name: f"echo {name} was called; exit 9" for name in ("dpkg-query", "apt-get", "cmake", "ninja", "clang-format-19")}
        for verb in re.findall(r"(?m)^  ([a-z]+) ", dev("help")[1]):
            with self.subTest(verb):
                code, out, err = dev(verb, "--help", fakes=fakes)
                self.assertEqual(code, 0, err)
                self.assertIn(f"usage: ./dev {verb}", out)
                self.assertNotIn("was called", out + err)

    def test_devices_of_the_tests(self):
        def answer(*words, cwd=ROOT):
            done = subprocess.run(["python3", str(cwd / "scripts" / "test.py"), *words], capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr

        self.assertEqual(answer("--device", "gpu")[0], 2)
        self.assertIn("no device `gpu`", answer("--device", "gpu")[1])
        self.assertIn("rooms run on no device; those that do: unit lit kernels python", answer("--device", "cuda:0", "rooms")[1])
        self.assertIn("there is no build/none/bin/nereid", answer("--built", "--preset", "none", "--device", "cpu")[1])
        # Unpacked elsewhere: the place that the programs know becomes a link, unless something is there.
        with tempfile.TemporaryDirectory() as folder:
            copy, known = pathlib.Path(folder, "copy"), pathlib.Path(folder, "known")
            for name in ("scripts", "test/harness"):
                shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            for name, text in (("build/release/bin/nereid", ""), ("build/packed/built-at", str(known))):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).write_text(text)
            known.mkdir()
            self.assertIn(f"look for their inputs in {known}, where something else is", answer("--built", "--device", "cpu", "unit", cwd=copy)[1])
            known.rmdir()
            answer("--built", "--device", "cpu", "unit", cwd=copy)
            self.assertEqual(known.resolve(), copy.resolve())

    def test_verbs_refuse_what_they_do_not_know(self):
        installed = {"dpkg-query": 'shift 2\nfor p in "$@"; do printf "ii %s " "$p"; done\n'}
        for words, said in ((("fuzz", "colour"), "`colour`"), (("bench", "colour"), "colour"), (("new", "colour", "x"), "usage"),
                            (("setup", "colour"), "`colour`")):
            with self.subTest(words):
                code, out, err = dev(*words, fakes={**installed, "cmake": "exit 0", "ninja": "exit 0"})
                self.assertEqual(code, 2, out + err)
                self.assertIn(said, out + err)

    def test_unknown_verb(self):
        code, _, err = dev("colour")
        self.assertEqual(code, 2)
        self.assertIn("`colour`", err)

    def test_without_root_it_names_the_packages_and_stops(self):
        # Everything is installed but two packages, one of them half.
        fakes = {
            "id": "echo 1000",
            "dpkg-query": 'shift 2\nfor p in "$@"; do case $p in ninja-build) ;; cmake) printf "rc cmake " ;;'
                          ' *) printf "ii %s " "$p" ;; esac; done\n',
            "apt-get": "echo apt-get was called; exit 9",
        }
        code, out, err = dev("setup", "build", fakes=fakes)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"missing: cmake ninja-build")
        self.assertNotIn("apt-get was called", out + err)

    def test_without_root_every_verb_that_builds_stops_so(self):
        fakes = {"id": "echo 1000", "dpkg-query": "exit 1", "apt-get": "echo apt-get was called", "cmake": "echo cmake was called"}
        for verb in "build test demo bench fmt lint new golden replay fuzz soak corpus".split():
            with self.subTest(verb):
                code, out, err = dev(verb, fakes=fakes)
                self.assertEqual(code, 1)
                self.assertRegex(err, r"these packages are missing: .*\n +hint: sudo apt-get install")
                self.assertNotIn("was called", out + err)

    def test_with_root_it_installs_just_the_missing_ones(self):
        fakes = {
            "id": "echo 0",
            "dpkg-query": 'shift 2\nfor p in "$@"; do [ $p = ninja-build ] || printf "ii %s " "$p"; done\n',
            "apt-get": 'echo "apt-get $@" >&2; case "$*" in *install*) exit 9 ;; esac\n',
        }
        code, _, err = dev("setup", "build", fakes=fakes)
        self.assertNotEqual(code, 0)
        self.assertRegex(err, r"apt-get install .*--no-install-recommends ninja-build\n")

    def test_nothing_missing_calls_nothing(self):
        fakes = {"dpkg-query": 'shift 2\nfor p in "$@"; do printf "ii %s " "$p"; done\n',
                 "apt-get": "echo apt-get was called; exit 9"}
        code, out, err = dev("setup", "build", fakes=fakes)
        self.assertEqual((code, out + err), (0, ""))

    def test_every_package_name_is_plain(self):
        text = (ROOT / "scripts" / "setup.sh").read_text()
        for group in re.findall(r"packages_\w+=\(([^)]*)\)", text):
            for name in group.split():
                self.assertRegex(name, r"^[a-z0-9.+-]+$")


if __name__ == "__main__":
    unittest.main()
