// The words that name a kernel and what it is specialised on, shared by run, check, explain and
// compile.
#pragma once

#include "analysis/Explain.h"
#include "engine/Compile.h"
#include "engine/Configurations.h"
#include "engine/Runner.h"
#include "tools/Arguments.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace nereid::tools {

struct KernelWords {
  std::string target; ///< FILE.py:KERNEL
  std::string signature;
  std::vector<std::string> arguments, constants, defines;
  std::string seed = "0";
  bool launchPdl = false, launchCooperative = false;
  std::optional<int> numWarps, numStages, numCtas, maxnreg;
  std::string programLoops;
  std::vector<std::string> externLibs; ///< NAME=FILE
  std::optional<size_t> configuration; ///< of an autotuned kernel
  std::string inputPrecision;
  std::string tuned; ///< tuning file; empty: `tuned.json` beside the kernel's file
  bool debug = false, noFpFusion = false, noReflectFtz = false, json = false;

  /// NAME=VALUE of `--arg` and of `--const`.
  std::vector<std::string> values() const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), constants.begin(), constants.end());
    return all;
  }
};
/// `addKernelWords` also takes the positional word, FILE.py:KERNEL.
void addKernelOptions(CLI::App &app, KernelWords &words);
void addKernelWords(CLI::App &app, KernelWords &words);

std::string tuningPath(const KernelWords &words);

/// The features of a level of x86-64 processors: "native", "x86-64-v3".
Result<target::CpuFeatureSet> featuresOf(const std::string &level);

/// A file loaded and a kernel of it chosen.
struct ChosenKernel {
  std::unique_ptr<emit::Program> program;
  std::string name;
};
Result<ChosenKernel> chooseKernel(const KernelWords &words);

/// Options from the words, else from `choices`, else the language's defaults.
engine::CodeOptions compileOptions(const KernelWords &words, const emit::LaunchChoices &choices);

/// What a launch on `device` gives to the kernel's decorators; no device takes no tuned
/// configuration.
engine::TunedLaunch tunedLaunch(ChosenKernel &chosen, const emit::Keywords &given,
                                const std::string &device);
/// What autotuning and heuristics add to a launch, reported in a line on standard error.
Result<emit::LaunchChoices> chooseLaunch(const KernelWords &words,
                                         const engine::TunedLaunch &launch);

/// `arguments` by parameter, in order; parameters without one are left to their defaults.
Result<std::vector<engine::HostArgument>>
orderArguments(emit::Program &program, const std::string &kernel, const CallArguments &arguments);

/// A launch of the kernel on `arguments`, which get the constants of `choices`, on the programs
/// that `grid` says as text (empty: one).
Result<engine::RunRequest> launchRequest(const KernelWords &words, ChosenKernel &chosen,
                                         CallArguments &arguments,
                                         const emit::LaunchChoices &choices,
                                         const std::string &grid);

/// Says that one program ran, where nobody gave a grid to a kernel that asks for its number.
void noteOneProgram(const ChosenKernel &chosen);

/// A kernel in tile IR, from a signature or from arguments.
struct EmittedCall {
  ChosenKernel chosen;
  std::unique_ptr<CallArguments> arguments; ///< null with a signature
  engine::EmittedKernel emitted;
  std::vector<uint32_t> defaulted; ///< parameters that a launch leaves out
  engine::CodeOptions options;
};
Result<std::unique_ptr<EmittedCall>> emitKernel(const KernelWords &words);

/// What its arguments, and a grid as text if it is not empty, tell of a launch.
Result<analysis::LaunchValues> launchValues(EmittedCall &call, const std::string &grid);

} // namespace nereid::tools
