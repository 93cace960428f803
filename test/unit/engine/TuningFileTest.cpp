#include "engine/TuningFile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace nereid::engine {
namespace {

namespace fs = std::filesystem;
using support::Constant;

class TuningFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() /
             ("nereid-tuning-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
    path = folder / "tuned.json";
  }
  void TearDown() override { fs::remove_all(folder); }

  static TuningRow row(int64_t n, int64_t block) {
    TuningRow row;
    row.target = "sm_90a";
    row.device = "NVIDIA H200";
    row.kernel = "softmax";
    row.source = "0123";
    row.which = {{"n", Constant::integer(n)}, {"x", Constant::string("fp32")}};
    row.config = {{"BLOCK", Constant::integer(block)}, {"num_warps", Constant::integer(8)}};
    row.seconds = 1.25e-5;
    return row;
  }
  static int64_t block(const TuningRow *row) {
    return row ? std::stoll(row->config[0].second.text) : 0;
  }

  fs::path folder, path;
};

TEST_F(TuningFileTest, EveryKindOfValueComesBack) {
  TuningRow row = stamped(TuningFileTest::row(7, 64));
  row.which = {{"none", Constant::none()},
               {"flag", Constant::boolean(true)},
               {"minus", Constant::integer(-3)},
               {"large", Constant::integer("123456789012345678901234567890")},
               {"half", Constant::floating(0.1)},
               {"infinite", Constant::floating(INFINITY)},
               {"text", Constant::string("it's \"so\" 1024 \n")},
               {"type", Constant::dtype(DType::BFloat16)}};
  TuningFile file;
  file.set(row);
  auto back = TuningFile::parse(file.text(), "text");
  ASSERT_TRUE(back) << back.error().what;
  ASSERT_EQ(back->rows().size(), 1u);
  EXPECT_EQ(back->rows()[0].which, row.which);
  EXPECT_EQ(back->rows()[0].config, row.config);
  EXPECT_EQ(back->rows()[0].seconds, row.seconds);
  EXPECT_EQ(back->rows()[0].date.size(), 10u);
  EXPECT_EQ(back->text(), file.text());
}

TEST_F(TuningFileTest, TheMostSpecificRowThatServesIsFound) {
  TuningFile file;
  file.set(row(1000, 256));
  TuningRow any = row(0, 128);
  any.which.clear();
  file.set(any);
  any.device.clear();
  any.config[0].second = Constant::integer(64);
  file.set(any);
  EXPECT_EQ(block(file.find(row(1000, 0))), 256);
  EXPECT_EQ(block(file.find(row(1001, 0))), 128);
  TuningRow elsewhere = row(1000, 0);
  elsewhere.device = "NVIDIA H100";
  EXPECT_EQ(block(file.find(elsewhere)), 64);
  // Of GPUs that run the same code: what was measured on another one is better than nothing.
  TuningFile siblings;
  siblings.set(row(1000, 256));
  EXPECT_EQ(block(siblings.find(elsewhere)), 256);
  TuningRow own = elsewhere;
  own.which.clear();
  own.config[0].second = Constant::integer(16);
  siblings.set(own);
  EXPECT_EQ(block(siblings.find(elsewhere)), 16);
  EXPECT_EQ(block(siblings.find(row(1000, 0))), 256);
  elsewhere.target = "sm_80";
  EXPECT_EQ(siblings.find(elsewhere), nullptr);
  // The target of a CPU does not say what it can do.
  TuningRow processor = row(1000, 256);
  processor.target = "x86-64";
  processor.device = "AMD EPYC";
  siblings.set(processor);
  processor.device = "Intel Xeon";
  EXPECT_EQ(siblings.find(processor), nullptr);
  // A row is good for the source that it was measured with.
  TuningRow edited = row(1000, 0);
  edited.source = "4567";
  EXPECT_EQ(file.find(edited), nullptr);
  edited.config[0].second = Constant::integer(32);
  file.set(edited);
  EXPECT_EQ(block(file.find(edited)), 32);
  EXPECT_EQ(file.rows().size(), 3u); // it took the old row's place
}

TEST_F(TuningFileTest, OthersRowsStayWhenFilesAreMerged) {
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 10; ++i) {
        TuningRow one = row(t * 10 + i, 16);
        Status status = TuningFile::merge(path, {&one, 1});
        EXPECT_TRUE(status) << status.error().what;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  auto file = TuningFile::read(path);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->rows().size(), 40u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(TuningFileTest, ARefusalIsOfOneConfigurationSourceAndVersion) {
  TuningRow bad = stamped(row(7, 64));
  bad.failure = "it faulted";
  TuningRow good = row(7, 32), other = row(8, 64);
  const TuningRow both[] = {good, bad};
  ASSERT_TRUE(TuningFile::merge(path, both));
  auto file = TuningFile::read(path);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->rows().size(), 1u);
  EXPECT_EQ(block(file->find(good)), 32); // a refusal is nothing that was measured
  ASSERT_NE(file->refusal(good, bad.config), nullptr);
  EXPECT_EQ(file->refusal(good, bad.config)->failure, "it faulted");
  EXPECT_EQ(refusedBefore(*file->refusal(good, bad.config), "f.json"),
            "refused since " + bad.date +
                ": it faulted; to try it again, remove it from `refused` of `f.json`");
  EXPECT_EQ(file->refusal(good, good.config), nullptr);
  EXPECT_EQ(file->refusal(other, bad.config), nullptr);
  TuningRow edited = good;
  edited.source = "4567";
  EXPECT_EQ(file->refusal(edited, bad.config), nullptr);
  // Another version may have mended it.
  bad.nereid = "0.0.1";
  file->set(bad);
  EXPECT_EQ(file->refusal(good, bad.config), nullptr);
  // Nor does it hold when the configuration was measured after all.
  bad = stamped(bad);
  file->set(bad);
  ASSERT_NE(file->refusal(good, bad.config), nullptr);
  TuningRow mended = bad;
  mended.failure.clear();
  file->set(mended);
  EXPECT_EQ(file->refusal(good, bad.config), nullptr);
  EXPECT_EQ(file->text().find("refused"), std::string::npos);
}

TEST_F(TuningFileTest, WhatIsNoTuningFileIsRefusedAndKept) {
  EXPECT_TRUE(TuningFile::read(path)->rows().empty()); // there is none
  const std::pair<const char *, const char *> wrong[] = {
      {"{\"version\": 1, \"rows\": [", "it is no JSON"},
      {"[]", "it has no version"},
      {"{\"version\": 2, \"rows\": []}", "it is of version 2, this Nereid reads 1"},
      {"{\"version\": 1}", "it has no list of rows"},
      {"{\"version\": 1, \"rows\": [{\"config\": {\"A\": [1]}}]}",
       "row 0 of `rows` cannot be read"},
      {"{\"version\": 1, \"rows\": [{\"config\": {}, \"target\": 3}]}",
       "row 0 of `rows` cannot be read"},
      {"{\"version\": 1, \"rows\": [], \"refused\": 3}", "what it refuses is no list of rows"},
      {"{\"version\": 1, \"rows\": [], \"refused\": [{}]}", "row 0 of `refused` cannot be read"},
  };
  for (auto [text, why] : wrong) {
    std::ofstream(path) << text;
    TuningRow one = row(1, 16);
    Status status = TuningFile::merge(path, {&one, 1});
    ASSERT_FALSE(status) << text;
    EXPECT_NE(status.error().what.find(why), std::string::npos) << status.error().what;
    std::stringstream now;
    now << std::ifstream(path).rdbuf();
    EXPECT_EQ(now.str(), text);
  }
}

} // namespace
} // namespace nereid::engine
