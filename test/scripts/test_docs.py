"""What the documents name exists: options of the command, verbs of `./dev`, files, targets of links."""
import contextlib
import functools
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("NEREID_BUILD", "build/release"))
DOCUMENTS = sorted(glob.glob(f"{ROOT}/docs/*.md") + glob.glob(f"{ROOT}/docs/course/*.md") + glob.glob(f"{ROOT}/docs/rooms/*.md") + [f"{ROOT}/README.md"])

PAGES = sorted(glob.glob(f"{ROOT}/docs/**/*.md", recursive=True) + [f"{ROOT}/README.md"])

OTHERS = {"test/unit/language", "test/transformers"}  # folders of Triton's and Liger-Kernel's tests


def pieces(text):
    """Code of a document: lines of blocks, joined where one ends in a backslash, and what stands in back-ticks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    blocks += re.findall(r"^    (\S.*)$", text, re.M)
    for block in blocks:
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            yield line
    for inline in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        yield inline


@functools.cache
def headings(path):
    with open(path) as file:
        return re.findall(r"^#+ (.*?)\s*$", re.sub(r"^```.*?^```", "", file.read(), flags=re.S | re.M), re.M)


def anchor_of(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@functools.cache
def help_of(verb):
    return subprocess.run([f"{BUILD}/bin/nereid", *verb.split(), "--help"], capture_output=True, text=True).stdout


class Documents(unittest.TestCase):

    def each(self):
        for path in DOCUMENTS:
            with open(path) as file:
                text = file.read()
            yield os.path.relpath(path, ROOT), path, text

    def test_options_of_the_command(self):
        verbs = set(re.findall(r"^  ([a-z]+)\s", help_of(""), re.M)) | {"help"}
        for name, _, text in self.each():
            for piece in pieces(text):
                for verb, words in re.findall(r"(?:^|[\s;&(/])nereid ([a-z]+)((?: [^#|;&]*)?)", piece):
                    if not re.match(r"(?:\$ |\S*/)?nereid |.*&& nereid |.*; nereid ", piece):
                        continue
                    with self.subTest(document=name, piece=piece):
                        self.assertIn(verb, verbs)
                        for option in re.findall(r"(?<!\S)(--[a-z][\w-]*|-[a-z]\b)", words):
                            self.assertRegex(help_of(verb), rf"(?m)(^|[\s,]){re.escape(option)}\b")

    def test_stages_are_what_the_command_prints(self):
        with open(f"{ROOT}/docs/stages.md") as file:
            text = file.read()
        kernel = re.search(r"export KERNEL='([^']*)'", text)[1]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/scale.py", "w") as file:
                file.write(re.search(r"^```python\n(.*?)^```", text, re.S | re.M)[1])
            self.assertGreater(self.run_excerpts(text.replace("$KERNEL", kernel), folder), 5)

    def run_excerpts(self, text, folder):
        """Runs each command that a block of the text begins with, and looks for the block's other lines in what it prints, in their order."""
        blocks = re.findall(r"^```\n\$ nereid (.*?)\n(.*?)^```", text, re.S | re.M)
        for command, shown in blocks:
            out = subprocess.run([f"{BUILD}/bin/nereid", *shlex.split(command)], cwd=folder, capture_output=True, text=True)
            lines = iter([line.rstrip() for line in (out.stdout + out.stderr).splitlines()])
            for line in shown.splitlines():
                if line.strip() != "...":
                    with self.subTest(command=command, line=line):
                        self.assertIn(line, lines, out.stderr)  # which takes the lines up to it
        return len(blocks)

    def test_inspect_prints_what_its_page_shows(self):
        with open(f"{ROOT}/docs/inspect.md") as file:
            text = file.read()
        if not json.loads(subprocess.run([f"{BUILD}/bin/nereid", "doctor", "--json"], capture_output=True, text=True).stdout)["assembler"]:
            self.skipTest("there is no ptxas to count registers")
        with self.folder_with_kernel() as folder:
            self.assertEqual(self.run_excerpts(text, folder), 1)

    @contextlib.contextmanager
    def folder_with_kernel(self):
        """A folder with the README's kernel."""
        with open(f"{ROOT}/README.md") as file:
            kernel = re.search(r"^```python\n(# softmax.py.*?)^```", file.read(), re.S | re.M)[1]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/softmax.py", "w") as file:
                file.write(kernel)
            yield folder

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_program_with_a_kernel_built_ahead(self):
        with open(f"{ROOT}/docs/ahead-of-time.md") as file:
            text = file.read()
        with self.folder_with_kernel() as folder:
            with open(f"{folder}/main.c", "w") as file:
                file.write(re.search(r"^```c\n(.*?)^```", text, re.S | re.M)[1])
            for command, shown in re.findall(r"^```\n\$ (.*?)\n(.*?)^```", text, re.S | re.M):
                ran = subprocess.run(re.sub("^nereid", f"{BUILD}/bin/nereid", command), shell=True, cwd=folder, capture_output=True, text=True)
                self.assertEqual(ran.stdout, shown, ran.stderr)

    def test_a_taste(self):
        """The README's kernel run by the command, and from its C++ program."""
        with open(f"{ROOT}/README.md") as file:
            text = file.read()
        with self.folder_with_kernel() as folder:
            command, shown = re.search(r"^```\n\$ nereid (run softmax.*?[^\\])\n(y_ptr.*?)\n```", text, re.S | re.M).groups()
            ran = subprocess.run([f"{BUILD}/bin/nereid", *shlex.split(command.replace("\\\n", " "))], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ran.stderr, "")
            words, expected = ran.stdout.split(), shown.split()
            self.assertEqual(words[:4], expected[:4])
            self.assertEqual(len(words), len(expected))
            for word, number in zip(words[4:], expected[4:]):
                if number == "...":
                    self.assertEqual(word, number)
                else:  # the last digits depend on the processor
                    self.assertAlmostEqual(float(word) / float(number), 1, places=5)
            if not shutil.which("clang++-19"):
                self.skipTest("there is no clang++-19")
            with open(f"{folder}/softmax.cpp", "w") as file:
                file.write(re.search(r"^```cpp\n(#include <nereid/engine.h>.*?)^```", text, re.S | re.M)[1])
            prints = re.search(r"^\$ clang\+\+-19 -std=c\+\+20 softmax.cpp .* && ./softmax\n(.*?)^```", text, re.S | re.M)[1]
            subprocess.run(["clang++-19", "-std=c++20", "softmax.cpp", f"-I{ROOT}/include", f"-L{BUILD}/lib", "-lnereid", f"-Wl,-rpath,{BUILD}/lib", "-o", "softmax"],
                           cwd=folder, check=True)
            ran = subprocess.run(["./softmax"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ran.stdout, prints, ran.stderr)

    def test_what_check_says(self):
        with open(f"{ROOT}/README.md") as file:
            check = re.search(r"^```\n\$ nereid check .*?^```", file.read(), re.S | re.M)[0]
        self.assertEqual(self.run_excerpts(check, ROOT), 1)

    def test_examples_of_help(self):
        with self.folder_with_kernel() as folder:
            for verb in ("list", "run", "check", "explain", "compile", "inspect", "profile", "cache", "learn"):
                with self.subTest(verb=verb):
                    example = re.search(r"^Example:\n(.*)", help_of(verb), re.S | re.M)[1]
                    words = shlex.split(example.replace("\\\n", " "))[1:]
                    ran = subprocess.run([f"{BUILD}/bin/nereid", *words], cwd=folder, capture_output=True, text=True)
                    self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_links_and_files(self):
        for name, path, text in self.each():
            prose = re.sub(r"^```.*?^```|^    .*?$|`[^`\n]+`", "", text, flags=re.S | re.M)
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
                if not re.match(r"\w+:", target):
                    with self.subTest(document=name, link=target):
                        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)))
            for word in set(re.findall(r"`((?:src|test|docs|scripts|kernels|examples|bench|python|include|cmake)/[\w./-]+)`", text)) - OTHERS:
                with self.subTest(document=name, file=word):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, word)))

    def test_links_to_sections(self):
        for path in PAGES:
            with open(path) as file:
                text = file.read()
            for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
                page = os.path.join(os.path.dirname(path), target) if target else path
                if not re.match(r"\w+:", target):
                    with self.subTest(page=os.path.relpath(path, ROOT), link=f"{target}#{anchor}"):
                        self.assertTrue(os.path.exists(page))
                        if page.endswith(".md"):
                            self.assertIn(anchor, [anchor_of(heading) for heading in headings(page)])

    def test_pages_of_notes_name_each_other(self):
        for path in glob.glob(f"{ROOT}/docs/design/**/*.md", recursive=True):
            with open(path) as file:
                text = re.sub(r"^```.*?^```|`[^`\n]+`", "", file.read(), flags=re.S | re.M)
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                if not re.match(r"\w+:", target):
                    with self.subTest(page=os.path.relpath(path, ROOT), link=target):
                        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)))

    def test_sections_that_text_names(self):
        """`cpu-speed.md, "Rows in memory"` in comments and pages: the section is on that page, or on one of the folder of its name."""
        sources = [path for folder in ("src", "include", "test", "bench", "scripts", "kernels", "examples", "python", "docs")
                   for ending in ("cpp", "h", "td", "py", "md") for path in glob.glob(f"{ROOT}/{folder}/**/*.{ending}", recursive=True)]
        named = 0
        for path in sources:
            if os.path.basename(path) in ("test_docs.py", "STATUS.md"):  # the other is a report of its day
                continue
            with open(path, errors="replace") as file:
                text = re.sub(r"\n\s*(?://+|#)?\s*", " ", file.read())
            for page, section in re.findall(r"([\w./-]+)\.md[`)\]]*,? (?:under )?\"([^\"]+)\"", text):
                pages = [one for one in PAGES if f"/{one[:-3]}/".find(f"/{page.removeprefix('docs/')}/") >= 0]
                named += 1
                with self.subTest(file=os.path.relpath(path, ROOT), page=page, section=section):
                    self.assertIn(section, [heading for one in pages for heading in headings(one)])
        self.assertGreater(named, 4)

    def test_verbs_of_dev(self):
        with open(f"{ROOT}/dev") as file:
            dev = file.read()
        for name, _, text in self.each():
            for piece in pieces(text):
                for verb in re.findall(r"^(?:\$ )?\./dev ([a-z]+)", piece):
                    with self.subTest(document=name, piece=piece):
                        self.assertRegex(dev, rf"(?m)^(\w+ \| )*{verb}( \| \w+)*\)")


if __name__ == "__main__":
    unittest.main()
