"""`nereid bench --html` and `--csv` hold the rows of `--json`, and a page needs nothing but itself."""
import csv
import html.parser
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEREID = ROOT / os.environ.get("NEREID_BUILD", "build/release") / "bin/nereid"

SPEC = """
doc = "Twice <x> & \\"more\\""
bench = [dict(n=n) for n in (1000, 20000)]
cases = []
inputs = lambda n: dict(x=randn((n,), "f32"))
outputs = lambda n: dict(y=empty((n,), "f32"))
plain = lambda x, y, n, BLOCK: [launch("twice", (cdiv(n, BLOCK),), x, y, n, BLOCK=BLOCK)]
never = lambda x: unsupported("not <here>, \\"ever\\"")
variants = dict(plain=dict(run=plain, configs=[dict(BLOCK=256)]), never=never)
flops = lambda n: n
"""
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
"""


class Page(html.parser.HTMLParser):
    """Counts what a page holds; tags that are open at the end of another one are wrong."""

    CLOSED = {"svg", "figure", "div", "table", "html", "h1", "h2", "ul", "style", "title", "text", "figcaption"}

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.cells, self.attributes = [], {}, [], []

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes += attrs
        if tag in self.CLOSED:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        if tag in self.CLOSED:
            assert self.open and self.open[-1] == tag, (tag, self.open)
            self.open.pop()

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


@unittest.skipUnless(NEREID.exists(), "nereid is not built")
class BenchPage(unittest.TestCase):
    def test_page_and_table(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "twice").mkdir()
            (here / "twice/spec.py").write_text(SPEC)
            (here / "twice/kernel.py").write_text(KERNEL)
            run = subprocess.run([NEREID, "bench", "twice", "--device", "cpu", "--seconds", "0.002", "--json",
                                  "--html", "page.html", "--csv", "rows.csv"], cwd=here, timeout=60, capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            rows = json.loads(run.stdout)["rows"]
            self.assertEqual(len(rows), 4)

            with open(here / "rows.csv", newline="") as file:
                read = list(csv.DictReader(file))
            self.assertEqual(len(read), len(rows))
            for got, want in zip(read, rows):
                self.assertEqual(set(got), set(want))
                self.assertEqual(got["skipped_reason"], want["skipped_reason"] or "")
                self.assertEqual(got["seconds"], "" if want["seconds"] is None else json.dumps(want["seconds"]))

            text = (here / "page.html").read_text()
            page = Page()
            page.feed(text)
            page.close()
            self.assertEqual(page.open, [])
            # Two rows are measured: a dot each in roofline, time and bandwidth; time and bandwidth are lines.
            self.assertEqual(page.counts["circle"], 6)
            self.assertEqual(page.counts["polyline"], 2)
            self.assertEqual(page.counts["svg"], 3)
            self.assertIn("not <here>, \"ever\"", [cell.strip() for cell in page.cells])
            self.assertIn("n=20000", page.cells)
            # Nothing is fetched or run.
            for word in ("http", "src=", "url(", "@import", "<script", "<link"):
                self.assertNotIn(word, text)
            self.assertNotIn("nan", text.replace("nanosecond", ""))
            self.assertIn("prefers-color-scheme: dark", text)

    def test_plot(self):
        row = {"kernel": "twice", "variant": "plain", "device": "cuda:0", "dtype": "f32", "config": "BLOCK=64", "skipped_reason": None}
        rows = [{**row, "shape": f"n={n} dtype=f32", "seconds": n * 1e-9, "gflops": 2.0, "peers": [{"name": "other", "seconds": n * 2e-9}]}
                for n in (1000, 8000)]
        rows += [{**row, "variant": "split", "shape": "a & b", "case": {"n": 4000}, "seconds": 5e-6, "gflops": None},
                 {**row, "shape": "n=2000 dtype=f32", "seconds": None, "failure": "refused"}]
        suite = {"runs": [{"description": "A machine", "date": "2020-02-02",
                           "claims": [{"rows": {"first": rows[0], "others": rows[1:]}}]}]}
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "rows.json").write_text(json.dumps({"machines": [{"description": "A machine", "date": "2020-02-02"}], "rows": rows}))
            (here / "suite.json").write_text(json.dumps(suite))
            (here / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

            def plot(source, *words, code=0):
                run = subprocess.run([NEREID, "bench", "--rows", source, "--plot", "plot.svg", *words], cwd=here, timeout=60,
                                     capture_output=True, text=True)
                self.assertEqual(run.returncode, code, run.stderr)
                return xml.etree.ElementTree.fromstring((here / "plot.svg").read_text()) if code == 0 else run.stderr

            for source in ("rows.json", "suite.json", "rows.jsonl"):
                drawn = plot(source, "--axes", "n:seconds", "--title", "Twice <as> much")
                texts = [one.text or "" for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
                self.assertIn("Twice <as> much", texts)
                self.assertEqual([text for text in texts if "plain" in text or "split" in text], ["plain, f32", "split, f32"])
                if source != "rows.jsonl":
                    self.assertIn("A machine, 2020-02-02", texts)
                # Three dots and one of each name; one line of two points.
                self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))), 5)
                self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))), 1)
            self.assertNotIn("var(", (here / "plot.svg").read_text())
            drawn = plot("rows.json", "--axes", "n:gflops", "--by", "BLOCK", "--peers")
            texts = [one.text or "" for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn("BLOCK 64", texts)
            self.assertIn("other: BLOCK 64", texts)
            drawn = plot("rows.json", "--axes", "n:seconds", "--match", "n=1000", "--variant", "twice.plain")
            self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))), 2)
            # A row that ran once has bytes and no time.
            untimed = {"machines": [], "rows": [{**row, "shape": f"n={n}", "seconds": None, "peak_bytes": 4.0 * n} for n in (1000, 8000)]}
            (here / "untimed.json").write_text(json.dumps(untimed))
            drawn = plot("untimed.json", "--axes", "n:peak_bytes", "--peers")
            self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))), 3)
            # The rows of one machine, as docs/results/kernels keeps them, below the line of its copy.
            (here / "kernels.json").write_text(json.dumps({"machine": {"description": "Another", "date": "2021-01-01"}, "rows": [
                {**row, "shape": f"n={n}", "seconds": 1e-3, "intensity": n / 10, "gflops": n / 2, "gbps": 4e2, "copy_share": 0.5} for n in (1, 100)]}))
            drawn = plot("kernels.json", "--axes", "intensity:gflops", "--by", "kernel")
            self.assertEqual([one.get("class") for one in drawn.iter("{http://www.w3.org/2000/svg}line")].count("roof"), 1)
            self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))), 0)
            self.assertIn("measured copy: 800GB/s", [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}title")])
            self.assertIn("Another, 2021-01-01", [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")])
            self.assertIn("no row has both `n` and `seconds`", plot("untimed.json", "--axes", "n:seconds", code=1))
            self.assertIn("no row has both `m` and `seconds`", plot("rows.json", "--axes", "m:seconds", code=1))
            self.assertIn("is not X:Y", plot("rows.json", "--axes", "seconds", code=1))
            (here / "none.json").write_text("[]")
            self.assertIn("has no rows", plot("none.json", code=1))


if __name__ == "__main__":
    unittest.main()
