#include "tools/KernelCall.h"

#include "engine/Files.h"
#include "engine/FolderRun.h"
#include "engine/Hooks.h"
#include "engine/SpecRequests.h"
#include "launch/LaunchKey.h"
#include "support/Spelling.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <tuple>

namespace nereid::tools {

using engine::HostArgument;
using ops::Value;

void addKernelWords(CLI::App &app, KernelWords &words) {
  app.add_option("kernel", words.target, "FILE.py:KERNEL")->required();
  addKernelOptions(app, words);
}

void addKernelOptions(CLI::App &app, KernelWords &words) {
  app.add_option("-s,--signature", words.signature,
                 "Types of the parameters: \"*fp32:16, i32, 1024\"");
  app.add_option("--arg", words.arguments,
                 "NAME=VALUE: randn(1823x781,f32), [1, 2]:i8, x.npy, 3, None, x.stride(0)")
      ->allow_extra_args(false);
  app.add_option("--const", words.constants, "NAME=VALUE of a constexpr parameter")
      ->allow_extra_args(false);
  app.add_option("--define", words.defines,
                 "NAME=VALUE for a name at module level: BLOCK=128, TYPE=tl.float16, OP=relu")
      ->allow_extra_args(false);
  app.add_option("--seed", words.seed, "Seed of random arguments");
  const char *how = "How it is compiled";
  app.add_option("-w,--num-warps,--num_warps", words.numWarps, "Warps a program (default 4)")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32}))
      ->group(how);
  app.add_option("--num-stages,--num_stages", words.numStages,
                 "Stages of pipelined loops (default 3)")
      ->check(CLI::Range(1, 1000))
      ->group(how);
  app.add_option("--num-ctas,--num_ctas", words.numCtas,
                 "Taken for Triton's sake: a program is one block")
      ->check(CLI::Range(1, 16))
      ->group(how);
  app.add_flag("--launch-pdl,--launch_pdl", words.launchPdl,
               "Start before the launch ahead has ended, where the kernel calls gdc_wait")
      ->group(how);
  app.add_flag("--launch-cooperative-grid,--launch_cooperative_grid", words.launchCooperative,
               "Run all programs at once, or fail")
      ->group(how);
  app.add_option("--program-loops", words.programLoops,
                 "GPU: whose blocks run several programs: off, on (those that gain), all that can")
      ->check(CLI::IsMember({"off", "on", "all"}))
      ->group(how);
  app.add_option("--extern-lib,--extern_lib", words.externLibs,
                 "NAME=FILE of LLVM bitcode, whose functions tl.extern_elementwise may call")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](std::string &word) {
            return word.find('=') == std::string::npos ? "`" + word + "` is not NAME=FILE" : "";
          },
          ""))
      ->group(how);
  app.add_option("--maxnreg", words.maxnreg, "Registers a thread")
      ->check(CLI::Range(0, 255))
      ->group(how);
  app.add_option(
         "--config", words.configuration,
         "Which configuration of an autotuned kernel, counted from 0 (default: the one that "
         "was tuned, else the first)")
      ->group(how);
  app.add_option("--tuned", words.tuned,
                 "Tuning file (default: tuned.json beside the kernel's file)")
      ->group(how);
  app.add_option("--input-precision", words.inputPrecision, "Of f32 dot: tf32, tf32x3 or ieee")
      ->check(CLI::IsMember({"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"}))
      ->group(how);
  app.add_flag("--debug", words.debug, "Keep device_assert")->group(how);
  app.add_flag("--no-fp-fusion", words.noFpFusion, "Round a * b before + c")->group(how);
  app.add_flag("--no-reflect-ftz", words.noReflectFtz,
               "Keep results of exp2 below the least normal number")
      ->group(how);
  app.add_flag("--json", words.json, "Answer in JSON");
}

Result<ChosenKernel> chooseKernel(const KernelWords &words) {
  auto [file, name] = splitTarget(words.target);
  if (file.empty())
    return Error{"`" + words.target + "` names no file: a kernel is FILE.py:KERNEL", {}};
  auto program = engine::loadProgram(file, words.defines);
  if (!program)
    return program.takeError();
  ChosenKernel chosen{std::move(*program), name};
  if (name.empty()) {
    auto kernels = chosen.program->kernels();
    if (kernels.empty())
      return Error{"`" + file + "` has no kernel, a function under `@triton.jit`", {}};
    std::string names;
    for (const auto &kernel : kernels)
      names += (names.empty() ? "`" : ", `") + kernel.name + "`";
    if (kernels.size() != 1)
      return Error{"`" + file + "` has " + std::to_string(kernels.size()) + " kernels, " + names +
                       ": name one as " + file + ":" + kernels[0].name,
                   {}};
    chosen.name = kernels[0].name;
  }
  return chosen;
}

engine::CodeOptions compileOptions(const KernelWords &words, const emit::LaunchChoices &choices) {
  engine::CodeOptions options;
  for (auto [name, given, into] : {std::tuple("num_warps", words.numWarps, &options.numWarps),
                                   std::tuple("num_stages", words.numStages, &options.numStages),
                                   std::tuple("num_ctas", words.numCtas, &options.numCtas),
                                   std::tuple("maxnreg", words.maxnreg, &options.maxnreg)}) {
    for (const auto &[key, value] : choices.added)
      if (key == name && value.isInt())
        *into = int(value.asInteger().toInt64().value_or(*into));
    if (given)
      *into = *given;
  }
  for (const std::string &word : words.externLibs)
    options.externLibs.push_back({word.substr(0, word.find('=')), word.substr(word.find('=') + 1)});
  if (!words.programLoops.empty())
    options.programLoops = words.programLoops;
  options.debug = words.debug;
  options.launchPdl = words.launchPdl;
  options.launchCooperative = words.launchCooperative;
  options.fpFusion = !words.noFpFusion;
  options.reflectFtz = !words.noReflectFtz;
  if (!words.inputPrecision.empty())
    options.defaultInputPrecision = words.inputPrecision;
  return options;
}

Result<target::CpuFeatureSet> featuresOf(const std::string &level) {
  if (auto features = target::cpuLevel(level))
    return *features;
  return Error{"unknown level `" + level +
                   "`; known are native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4",
               {}};
}

// The kernel's own lines: from its `def` to what stands at the margin next.
static std::string textOf(const ChosenKernel &chosen) {
  std::string head = "def " + chosen.name + "(";
  for (const auto &[file, text] : chosen.program->sources())
    if (size_t begin = text.find(head); begin != std::string_view::npos) {
      static const std::regex margin(R"(\n[^\s#)])");
      std::string own(text.substr(begin));
      std::smatch next;
      return std::regex_search(own, next, margin) ? own.substr(0, size_t(next.position())) : own;
    }
  return "";
}

void noteOneProgram(const ChosenKernel &chosen) {
  auto asksForNumber = [](const auto &source) {
    return source.second.find("program_id") != std::string_view::npos;
  };
  if (!std::ranges::any_of(chosen.program->sources(), asksForNumber))
    return;
  // What programs are counted in is a constant that their number is multiplied by; what they cover
  // is what indices are compared with.
  std::string text = textOf(chosen), block, covered;
  auto matches = [&](const std::string &pattern) {
    return std::regex_search(text, std::regex(pattern));
  };
  if (auto signature = engine::signatureOf(*chosen.program, chosen.name))
    for (const launch::Parameter &parameter : signature->parameters) {
      const std::string &name = parameter.name;
      if (parameter.isConstexpr && block.empty() && matches("\\*\\s*" + name + "\\b"))
        block = name;
      if (!parameter.isConstexpr && covered.empty() && matches("<\\s*" + name + "\\b"))
        covered = name;
    }
  if (block.empty() || covered.empty())
    std::fprintf(stderr, "nereid: note: one program ran; `--grid \"(4,)\"` asks for four\n");
  else
    std::fprintf(stderr,
                 "nereid: note: one program ran; `--grid \"(cdiv(%s, %s),)\"` asks for as many as "
                 "cover %s\n",
                 covered.c_str(), block.c_str(), covered.c_str());
}

// Who names a parameter that is not there.
static Error noParameter(const launch::Signature &signature, const std::string &name) {
  support::Spelling spelling(name);
  std::string names;
  for (const launch::Parameter &parameter : signature.parameters) {
    spelling.consider(parameter.name);
    names += (names.empty() ? "`" : ", `") + parameter.name + "`";
  }
  return {"`" + signature.name + "` has no parameter `" + name + "`; " +
              (spelling.best().empty() ? "it has " + names : spelling.hint()),
          {}};
}

std::string tuningPath(const KernelWords &words) {
  if (!words.tuned.empty())
    return words.tuned;
  return (std::filesystem::path(splitTarget(words.target).first).parent_path() / "tuned.json")
      .string();
}

engine::TunedLaunch tunedLaunch(ChosenKernel &chosen, const emit::Keywords &given,
                                const std::string &device) {
  engine::TunedLaunch launch{chosen.program.get(), chosen.name, given, {}, device};
  for (const auto &[name, value] : given)
    if (auto *tensor = engine::tensorOf(value))
      launch.tensors.emplace_back(name, tensor->dtype);
  return launch;
}

Result<emit::LaunchChoices> chooseLaunch(const KernelWords &words,
                                         const engine::TunedLaunch &launch) {
  if (!words.tuned.empty() && !std::filesystem::exists(words.tuned))
    return Error{"`--tuned " + words.tuned + "`: there is no such file", {}};
  auto file = engine::TuningFile::read(tuningPath(words));
  if (!file)
    return file.takeError();
  if (words.configuration) {
    auto all = launch.program->configurations(launch.kernel);
    if (all && !all->empty() && *words.configuration >= all->size())
      return Error{"`--config " + std::to_string(*words.configuration) + "`: `" + launch.kernel +
                       "` has " + std::to_string(all->size()) + ", counted from 0",
                   {}};
  }
  auto choices = engine::chooseConfiguration(launch, &*file, words.configuration);
  if (!choices)
    return choices.takeError();
  if (words.configuration && choices && choices->configurations.empty())
    return Error{"`--config`: `" + launch.kernel + "` is not autotuned", {}};
  // A single configuration is no choice to speak of.
  if (size_t count = choices->configurations.size(); count > 1 && !words.json) {
    const emit::Configuration &chosen = choices->configurations[choices->chosen];
    std::string given;
    for (const auto &[name, value] : chosen.values)
      if (emit::findKeyword(launch.given, name))
        given += (given.empty() ? ", but `" : ", `") + name + "`";
    std::fprintf(stderr, "configuration %zu of %zu: %s%s\n", choices->chosen, count,
                 chosen.text().c_str(), given.empty() ? "" : (given + " as given").c_str());
  }
  return choices;
}

Result<std::vector<HostArgument>> orderArguments(emit::Program &program, const std::string &kernel,
                                                 const CallArguments &arguments) {
  auto signature = engine::signatureOf(program, kernel);
  if (!signature)
    return signature.takeError();
  for (const auto &[name, value] : arguments.all())
    if (std::ranges::find(signature->parameters, name, &launch::Parameter::name) ==
        signature->parameters.end())
      return noParameter(*signature, name);
  std::vector<HostArgument> ordered;
  for (const launch::Parameter &parameter : signature->parameters) {
    const Value *value = arguments.find(parameter.name);
    if (!value) {
      ordered.emplace_back();
      continue;
    }
    auto argument = engine::toHostArgument(*value);
    if (!argument)
      return Error{"argument `" + parameter.name + "`: " + argument.error().what +
                       (value->as<ops::Callable>() ? "; a tensor is what it gives, as "
                                                     "`randn(8x781,f32)`"
                                                   : ""),
                   {}};
    ordered.push_back(std::move(*argument));
  }
  return ordered;
}

Result<engine::RunRequest> launchRequest(const KernelWords &words, ChosenKernel &chosen,
                                         CallArguments &arguments,
                                         const emit::LaunchChoices &choices,
                                         const std::string &grid) {
  engine::RunRequest request;
  request.program = chosen.program.get();
  request.kernel = chosen.name;
  request.options = compileOptions(words, choices);
  auto signature = engine::signatureOf(*chosen.program, chosen.name);
  if (!signature)
    return signature.takeError();
  // Grids see the constants, too.
  arguments.add(*signature, choices.added);
  auto ordered = orderArguments(*chosen.program, chosen.name, arguments);
  if (!ordered)
    return ordered.takeError();
  request.arguments = std::move(*ordered);
  auto axes = arguments.grid(grid.empty() ? "(1,)" : grid);
  if (!axes)
    return axes.takeError();
  request.grid = *axes;
  return request;
}

namespace {

// A specialisation by `--signature`, beside which `--const` gives constexprs by name; decorators
// see the constants, and what arrives at run time is unknown to them.
Result<support::Specialization> classesBySignature(const KernelWords &words, EmittedCall &call,
                                                   const launch::Signature &signature,
                                                   emit::LaunchChoices &choices) {
  emit::Program &program = *call.chosen.program;
  auto parsed = support::Specialization::parse(words.signature);
  if (!parsed)
    return parsed.takeError();
  support::Specialization &specialization = *parsed;
  const auto &parameters = signature.parameters;
  std::vector<uint32_t> &defaulted = call.defaulted;
  for (size_t i = specialization.arguments.size(); i < parameters.size(); ++i) {
    specialization.arguments.push_back(
        support::ArgumentClass::compiledIn(support::Constant::none()));
    defaulted.push_back(uint32_t(i));
  }
  for (const std::string &word : words.constants) {
    size_t equals = word.find('=');
    if (equals == std::string::npos)
      return Error{"constant `" + word + "` is not PARAMETER=VALUE", {}};
    std::string name = word.substr(0, equals);
    auto parameter = std::ranges::find(parameters, name, &launch::Parameter::name);
    if (parameter == parameters.end())
      return noParameter(signature, name);
    auto value = support::Specialization::parse(word.substr(equals + 1));
    if (!value || value->arguments.size() != 1)
      return Error{"the value of the constant `" + word +
                       "` is none of a signature, as 128, 1.5, True, None, 'text', tl.float16",
                   {}};
    size_t i = size_t(parameter - parameters.begin());
    specialization.arguments[i] = value->arguments[0];
    std::erase(defaulted, uint32_t(i));
  }
  emit::Keywords given;
  auto isOpen = [&](size_t i) { return std::ranges::find(defaulted, i) != defaulted.end(); };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const support::ArgumentClass &argument = specialization.arguments[i];
    const std::string &name = parameters[i].name;
    if (isOpen(i))
      continue;
    bool isPointer = argument.kind == support::ArgumentClass::Kind::Pointer;
    given.emplace_back(name, argument.kind == support::ArgumentClass::Kind::Constant
                                 ? program.interp().fromConstant(argument.constant)
                                 : engine::decoratorValue(
                                       program.interp(), name,
                                       isPointer ? launch::Argument::pointer(nullptr, argument.type)
                                                 : launch::Argument()));
  }
  auto added = chooseLaunch(words, tunedLaunch(call.chosen, given, ""));
  if (!added)
    return added.takeError();
  choices = std::move(*added);
  for (size_t i = 0; i < parameters.size(); ++i)
    for (const auto &[name, value] : choices.added) {
      if (!isOpen(i) || name != parameters[i].name)
        continue;
      launch::Signature one;
      one.name = signature.name;
      one.parameters = {parameters[i]};
      std::vector<uint32_t> none;
      auto argument = engine::toHostArgument(value);
      if (!argument)
        return Error{"`" + name + "`: " + argument.error().what, {}};
      auto classes = engine::specializeHost(one, {*argument}, none);
      if (!classes)
        return classes.takeError();
      specialization.arguments[i] = classes->arguments[0];
      std::erase(defaulted, uint32_t(i));
    }
  // `--arg` beside it says what a launch has, for grids and bytes.
  call.arguments = std::make_unique<CallArguments>(words.seed, CallArguments::Content::Reserved);
  if (Status status = call.arguments->parse(words.arguments); !status)
    return status.takeError();
  for (const auto &[name, value] : call.arguments->all())
    if (std::ranges::find(parameters, name, &launch::Parameter::name) == parameters.end())
      return noParameter(signature, name);
  emit::Keywords constants;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (const support::ArgumentClass &argument = specialization.arguments[i];
        argument.kind == support::ArgumentClass::Kind::Constant && !isOpen(i))
      constants.emplace_back(parameters[i].name, program.interp().fromConstant(argument.constant));
  call.arguments->add(signature, constants);
  return parsed;
}

// That of a launch with the words' arguments.
Result<support::Specialization> classesByArguments(const KernelWords &words, EmittedCall &call,
                                                   const launch::Signature &signature,
                                                   emit::LaunchChoices &choices) {
  call.arguments = std::make_unique<CallArguments>(words.seed, CallArguments::Content::Reserved);
  if (Status status = call.arguments->parse(words.values()); !status)
    return status.takeError();
  auto added = chooseLaunch(words, tunedLaunch(call.chosen, call.arguments->all(), ""));
  if (!added)
    return added.takeError();
  choices = std::move(*added);
  call.arguments->add(signature, choices.added);
  auto ordered = orderArguments(*call.chosen.program, call.chosen.name, *call.arguments);
  if (!ordered)
    return ordered.takeError();
  return engine::specializeHost(signature, *ordered, call.defaulted);
}

} // namespace

Result<std::unique_ptr<EmittedCall>> emitKernel(const KernelWords &words) {
  auto call = std::make_unique<EmittedCall>();
  auto chosen = chooseKernel(words);
  if (!chosen)
    return chosen.takeError();
  call->chosen = std::move(*chosen);
  emit::Program &program = *call->chosen.program;
  auto signature = engine::signatureOf(program, call->chosen.name);
  if (!signature)
    return signature.takeError();
  bool hasSignature =
      !words.signature.empty() ||
      (words.arguments.empty() && words.constants.empty() && signature->parameters.empty());
  emit::LaunchChoices choices;
  auto specialization =
      (hasSignature ? classesBySignature : classesByArguments)(words, *call, *signature, choices);
  if (!specialization)
    return specialization.takeError();
  call->options = compileOptions(words, choices);
  auto emitted = engine::emitKernel(program, call->chosen.name, *specialization, call->defaulted,
                                    call->options);
  if (!emitted)
    return emitted.takeError();
  call->emitted = std::move(*emitted);
  return call;
}

Result<analysis::LaunchValues> launchValues(EmittedCall &call, const std::string &grid) {
  analysis::LaunchValues values;
  CallArguments none("0");
  CallArguments &arguments = call.arguments ? *call.arguments : none;
  if (!grid.empty()) {
    auto axes = arguments.grid(grid);
    if (!axes)
      return axes.takeError();
    values.grid = *axes;
  }
  auto kernel = call.emitted.kernel();
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    auto name = kernel.getArgAttrOfType<mlir::StringAttr>(i, tile::argNameAttr);
    const ops::Value *value = name ? arguments.find(name.str()) : nullptr;
    values.arguments.push_back(value && value->isInt() ? value->asInteger().toInt64()
                                                       : std::nullopt);
  }
  return values;
}

} // namespace nereid::tools
