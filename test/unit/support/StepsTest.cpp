#include "support/Steps.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace nereid::support;

namespace {

TEST(Steps, AreToldToWhoListens) {
  {
    Step unheard("nobody listens");
  }
  EXPECT_FALSE(StepListener::isListening());
  std::vector<StepEvent> steps;
  {
    StepListener listener([&](const StepEvent &step) { steps.push_back(step); });
    EXPECT_TRUE(StepListener::isListening());
    EXPECT_EQ(inStep("outer",
                     [] {
                       Step first("first");
                       std::this_thread::sleep_for(std::chrono::milliseconds(2));
                       return 7;
                     }),
              7);
    inStep("second", [] {});
    // Of another thread nothing is heard.
    std::thread([] { Step elsewhere("elsewhere"); }).join();
    {
      std::vector<std::string> inner;
      StepListener own([&](const StepEvent &step) { inner.push_back(step.name); });
      Step taken("taken by the listener made last");
    }
  }
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].name, "first"); // steps end before what they are part of
  EXPECT_EQ(steps[0].depth, 1u);
  EXPECT_EQ(steps[0].order, 1u);
  EXPECT_EQ(steps[1].name, "outer");
  EXPECT_EQ(steps[1].depth, 0u);
  EXPECT_EQ(steps[1].order, 0u);
  EXPECT_GE(steps[0].seconds, 0.002);
  EXPECT_GE(steps[1].seconds, steps[0].seconds);
  EXPECT_LT(steps[1].processorSeconds, steps[1].seconds + 0.001);
  EXPECT_EQ(steps[2].name, "second");
  EXPECT_FALSE(StepListener::isListening());
}

} // namespace
