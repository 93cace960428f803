#include "engine/Search.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace nereid;
using namespace nereid::engine;

namespace {

std::string valuesOf(const std::string &text) {
  auto axis = parseSearchAxis(text);
  if (!axis)
    return "error: " + axis.error().what;
  std::string out;
  for (const std::string &name : axis->names)
    out += name + " ";
  for (const ops::Value &value : axis->values)
    out += " " + value.repr();
  return out;
}

TEST(SearchAxis, ValuesAndRanges) {
  EXPECT_EQ(valuesOf("M=1024:8192:*2"), "M  1024 2048 4096 8192");
  EXPECT_EQ(valuesOf("M=3:20:*3"), "M  3 9");
  EXPECT_EQ(valuesOf("M=N=K=16:64:16,100"), "M N K  16 32 48 64 100");
  EXPECT_EQ(valuesOf("a=-1:1"), "a  -1 0 1");
  EXPECT_EQ(valuesOf("x=9223372036854775806:9223372036854775807:3"), "x  9223372036854775806");
  EXPECT_EQ(valuesOf("x=4611686018427387904:9223372036854775807:*4"), "x  4611686018427387904");
  EXPECT_EQ(valuesOf("dtype=f16,bf16"), "dtype  'f16' 'bf16'");
  EXPECT_EQ(valuesOf("b=True,False,None,0.5,-2,x y"), "b  True False None 0.5 -2 'x y'");
}

TEST(SearchAxis, Mistakes) {
  auto isRefused = [](const std::string &text, const std::string &why) {
    std::string said = valuesOf(text);
    EXPECT_TRUE(said.starts_with("error: `--search " + text + "`")) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  };
  isRefused("M", "is not NAME=VALUES");
  isRefused("=1", "is not NAME=VALUES");
  isRefused("M=", "is not NAME=VALUES");
  isRefused("1=2=3", "is not NAME=VALUES");
  isRefused("M=1,,2", "has an empty value");
  isRefused("M=8:4", "ends before it starts");
  isRefused("M=1:8:0", "does not grow");
  isRefused("M=1:8:*1", "does not grow");
  isRefused("M=0:8:*2", "does not grow");
  isRefused("M=a:8", "is not made of whole numbers");
  isRefused("M=1:2:3:4", "has 4 parts");
  isRefused("M=1:99999999999", "has over 10000 values");
}

constexpr const char *spec = R"(
def inputs(n, dtype, kind="plain"):
    return dict(x=randn((n,), dtype))

outputs = lambda n, dtype: dict(y=empty((n,), dtype))

def wide(x, y, BLOCK, num_warps):
    return []

plain = lambda x, y: []
variants = dict(wide=dict(run=wide, configs=[dict(BLOCK=b, num_warps=w) for b in (16, 32) for w in (1, 2)]), plain=plain)
bench = [dict(n=n, dtype=d) for n in (10, 20) for d in ("f16", "f32")] + [dict(n=5, dtype="f32", label="five")]
)";

class SearchFolder : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "search-XXXXXX").string();
    path = mkdtemp(pattern.data());
    std::ofstream(path / "spec.py") << spec;
    auto opened = KernelFolder::open(path);
    ASSERT_TRUE(bool(opened));
    folder = std::move(*opened);
  }
  void TearDown() override { std::filesystem::remove_all(path); }

  Result<Search> make(const std::vector<std::string> &axes, const std::string &where = "") {
    space = {};
    space.where = where;
    for (const std::string &text : axes)
      space.axes.push_back(*parseSearchAxis(text));
    return Search::make(*folder, space, "bench", [](const auto &, const auto &) { return true; });
  }
  std::vector<std::string> labels(const Search &search) {
    std::vector<std::string> out;
    for (const FolderCase &one : search.cases(""))
      out.push_back(one.label);
    return out;
  }
  std::vector<std::string> configs(const Search &search, size_t variant) {
    std::vector<std::string> out;
    for (const emit::Keywords &config : search.configs("", (*folder->variants(""))[variant]))
      out.push_back(bindingsText(config));
    return out;
  }

  std::filesystem::path path;
  std::unique_ptr<KernelFolder> folder;
  SearchSpace space;
};

using Texts = std::vector<std::string>;

TEST_F(SearchFolder, ReplacesWhatIsNamedAndKeepsTheRest) {
  auto search = make({"n=7,8", "BLOCK=64:128:*2"});
  ASSERT_TRUE(bool(search));
  EXPECT_EQ(labels(*search), (Texts{"n=7 dtype=f16", "n=8 dtype=f16", "n=7 dtype=f32",
                                    "n=8 dtype=f32", "five n=7 dtype=f32", "five n=8 dtype=f32"}));
  EXPECT_EQ(configs(*search, 0), (Texts{"BLOCK=64 num_warps=1", "BLOCK=128 num_warps=1",
                                        "BLOCK=64 num_warps=2", "BLOCK=128 num_warps=2"}));
  EXPECT_EQ(configs(*search, 1), Texts{""});
}

TEST_F(SearchFolder, BindsWhatInputsTakes) {
  auto search = make({"kind=odd", "n=1", "dtype=f64"});
  ASSERT_TRUE(bool(search));
  EXPECT_EQ(labels(*search), (Texts{"n=1 dtype=f64 kind=odd", "five n=1 dtype=f64 kind=odd"}));
}

TEST_F(SearchFolder, ConfigurationsAlone) {
  auto search = make({"num_warps=BLOCK=4"});
  ASSERT_TRUE(bool(search));
  EXPECT_EQ(labels(*search).size(), 5u);
  EXPECT_EQ(configs(*search, 0), Texts{"BLOCK=4 num_warps=4"});
}

TEST_F(SearchFolder, Where) {
  auto search = make({"n=7"}, "BLOCK > 16 and kind == 'plain' and cdiv(n, 2) == 4");
  ASSERT_TRUE(bool(search));
  FolderVariant wide = (*folder->variants(""))[0];
  FolderCase seven = search->cases("")[0];
  EXPECT_FALSE(*search->takes(seven, wide.configs[0]));
  EXPECT_TRUE(*search->takes(seven, wide.configs[2]));
  auto unknown = search->takes(seven, {});
  ASSERT_FALSE(bool(unknown));
  EXPECT_NE(unknown.error().what.find("BLOCK"), std::string::npos) << unknown.error().what;
  auto broken = make({"n=7"}, "n >");
  ASSERT_TRUE(bool(broken));
  EXPECT_FALSE(bool(broken->takes(seven, {})));
}

TEST_F(SearchFolder, Mistakes) {
  auto why = [&](const Texts &axes) {
    auto search = make(axes);
    return search ? std::string() : search.error().what;
  };
  EXPECT_NE(why({"size=1"}).find("has the name `size`; there are BLOCK, dtype, kind, n, num_warps"),
            std::string::npos)
      << why({"size=1"});
  EXPECT_EQ(why({"n=1", "n=2"}), "`--search` names `n` twice");
  EXPECT_NE(why({"n=BLOCK=16"}).find("ties what a case binds"), std::string::npos);
  EXPECT_NE(why({"n=1:1000", "kind=1:100"}).find("over 10000 combinations"), std::string::npos);
}

} // namespace
