"""The wall checker finds what it must and leaves alone what it may."""
import importlib.util
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("check_rooms", ROOT / "scripts" / "check-rooms.py")
rooms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rooms)


class CheckRooms(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return rooms.check(root)[0]

    def test_a_room_includes_what_its_rooms_may_include(self):
        self.assertEqual(
            self.check({
                "src/emit/Emit.cpp": '#include "ir/Tile.h"\n#include "support/Hash.h"\n'
                '#include "syntax/Ast.h"\n#include "mlir/IR/Builders.h"\n#include "nereid/base.h"\n',
                "src/engine/Engine.cpp": '#include "nereid/tl.h"\n#include "launch/Key.h"\n',
                "include/nereid/tl.h": "#include <vector>\n#include <cstdint>\n#include <stdint.h>\n",
                "src/ir/Ops.td": 'include "mlir/IR/OpBase.td"\ninclude "ir/Base.td"\n',
            }),
            [],
        )

    def test_the_runtime_includes_no_compiler(self):
        found = self.check({"src/runtime/Device.cpp": '\n#include "ir/Tile.h"\n#include "llvm/ADT/Twine.h"\n'})
        self.assertEqual(len(found), 2)
        self.assertTrue(found[0].startswith("src/runtime/Device.cpp:2: `runtime` may not include `ir/Tile.h`"))
        self.assertTrue(found[1].startswith("src/runtime/Device.cpp:3: `runtime` may not include LLVM"))

    def test_the_compiler_includes_no_runtime(self):
        for room in ("pipeline", "cpu", "gpu", "emit", "ref"):
            with self.subTest(room):
                self.assertEqual(len(self.check({f"src/{room}/A.h": '#include "runtime/Device.h"\n'})), 1)

    def test_unit_tests_keep_the_wall_of_their_room(self):
        self.assertEqual(len(self.check({"test/unit/launch/A.cpp": '#include "mlir/IR/Value.h"\n'})), 1)

    def test_public_headers_need_only_std(self):
        for line in ("#include <fmt/core.h>", '#include "support/Hash.h"', "#include <cuda.h>"):
            with self.subTest(line):
                self.assertEqual(len(self.check({"include/nereid/a.h": line + "\n"})), 1)

    def test_only_the_engine_sees_all_public_headers(self):
        self.assertEqual(len(self.check({"src/launch/A.h": '#include "nereid/tl.h"\n'})), 1)

    def test_a_folder_outside_the_table_is_reported(self):
        self.assertEqual(len(self.check({"src/utils/A.h": ""})), 1)

    def test_cmake_may_not_link_through_a_wall(self):
        self.assertEqual(len(self.check({"src/launch/CMakeLists.txt": "nereid_room(launch MLIR DEPENDS runtime)"})), 1)
        self.assertEqual(len(self.check({"src/ref/CMakeLists.txt": "nereid_room(ref MLIR DEPENDS ir runtime)"})), 1)

    def test_the_page_of_rooms_has_the_same_table(self):
        rows = re.findall(r"(?m)^\| \[(\w+)\]\(\w+\.md\) \| ([^|]*) \|", (ROOT / "docs/rooms/README.md").read_text())
        page = {room: [] if may == "-" else may.split(", ") for room, may in rows}
        self.assertEqual(page, rooms.ROOMS)
        for room in page:
            self.assertTrue((ROOT / "docs/rooms" / f"{room}.md").exists(), room)

    def test_this_tree_is_clean(self):
        self.assertEqual(rooms.check(ROOT)[0], [])


if __name__ == "__main__":
    unittest.main()
