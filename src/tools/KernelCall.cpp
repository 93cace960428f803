#include "tools/KernelCall.h"

#include "engine/Files.h"
#include "engine/FolderRun.h"
#include "launch/LaunchKey.h"
#include "tools/Verbs.h"

namespace nereid::tools {

using engine::HostArgument;
using launch::Argument;
using ops::Value;

void addKernelWords(CLI::App &app, KernelWords &words) {
  app.add_option("kernel", words.target, "FILE.py:KERNEL")->required();
  app.add_option("-s,--signature", words.signature,
                 "Types of the parameters: \"*fp32:16, i32, 1024\"");
  app.add_option("--arg", words.arguments,
                 "NAME=VALUE: randn(1823x781,f32), [1, 2]:i8, x.npy, 3, None, x.stride(0)")
      ->allow_extra_args(false);
  app.add_option("--const", words.constants, "NAME=VALUE of a constexpr parameter")
      ->allow_extra_args(false);
  app.add_option("--define", words.defines, "NAME=VALUE at module level")->allow_extra_args(false);
  app.add_option("--seed", words.seed, "Seed of random arguments");
  app.add_option("-w,--num-warps,--num_warps", words.numWarps, "Warps a program (default 4)");
  app.add_option("--num-stages,--num_stages", words.numStages,
                 "Stages of pipelined loops (default 3)");
  app.add_option("--num-ctas,--num_ctas", words.numCtas, "Blocks a cluster (default 1)");
  app.add_option("--maxnreg", words.maxnreg, "Registers a thread");
  app.add_option("--input-precision", words.inputPrecision, "Of f32 dot: tf32, tf32x3 or ieee");
  app.add_flag("--debug", words.debug, "Keep device_assert");
  app.add_flag("--json", words.json, "Answer in JSON");
}

Result<ChosenKernel> chooseKernel(const KernelWords &words) {
  auto [file, name] = splitTarget(words.target);
  auto program = engine::loadProgram(file, words.defines);
  if (!program)
    return program.takeError();
  ChosenKernel chosen{std::move(*program), name};
  if (name.empty()) {
    auto kernels = chosen.program->kernels();
    if (kernels.size() != 1)
      return Error{"`" + file + "` has " + std::to_string(kernels.size()) +
                       " kernels: name one as " + file + ":KERNEL",
                   {}};
    chosen.name = kernels[0].name;
  }
  return chosen;
}

ops::CompileOptions compileOptions(const KernelWords &words) {
  ops::CompileOptions options;
  options.numWarps = words.numWarps;
  options.numStages = words.numStages;
  options.numCtas = words.numCtas;
  options.maxnreg = words.maxnreg;
  options.debug = words.debug;
  if (!words.inputPrecision.empty())
    options.defaultInputPrecision = words.inputPrecision;
  return options;
}

Result<std::vector<HostArgument>> orderArguments(emit::Program &program, const std::string &kernel,
                                                 const CallArguments &arguments) {
  auto signature = engine::signatureOf(program, kernel);
  if (!signature)
    return signature.takeError();
  for (const auto &[name, value] : arguments.all()) {
    bool known = false;
    for (const launch::Parameter &parameter : signature->parameters)
      known |= parameter.name == name;
    if (!known)
      return Error{"`" + kernel + "` has no parameter `" + name + "`", {}};
  }
  std::vector<HostArgument> ordered;
  for (const launch::Parameter &parameter : signature->parameters) {
    const Value *value = arguments.find(parameter.name);
    if (!value) {
      ordered.emplace_back();
      continue;
    }
    auto argument = engine::toHostArgument(*value);
    if (!argument)
      return Error{"argument `" + parameter.name + "`: " + argument.error().what, {}};
    ordered.push_back(std::move(*argument));
  }
  return ordered;
}

Result<std::unique_ptr<EmittedCall>> emitKernel(const KernelWords &words) {
  auto call = std::make_unique<EmittedCall>();
  auto chosen = chooseKernel(words);
  if (!chosen)
    return chosen.takeError();
  call->chosen = std::move(*chosen);
  emit::Program &program = *call->chosen.program;
  support::Specialization specialization;
  std::vector<uint32_t> defaulted;
  auto signature = engine::signatureOf(program, call->chosen.name);
  if (!signature)
    return signature.takeError();
  if (!words.signature.empty() ||
      (words.arguments.empty() && words.constants.empty() && signature->parameters.empty())) {
    auto parsed = support::Specialization::parse(words.signature);
    if (!parsed)
      return parsed.takeError();
    specialization = std::move(*parsed);
    if (specialization.arguments.size() > signature->parameters.size())
      return Error{"the signature has " + std::to_string(specialization.arguments.size()) +
                       " types, `" + call->chosen.name + "` has " +
                       std::to_string(signature->parameters.size()) + " parameters",
                   {}};
    for (size_t i = specialization.arguments.size(); i < signature->parameters.size(); ++i) {
      specialization.arguments.push_back(
          support::ArgumentClass::compiledIn(support::Constant::none()));
      defaulted.push_back(uint32_t(i));
    }
    // `--const` gives constexprs by name beside a signature of the rest.
    for (const std::string &word : words.constants) {
      size_t equals = word.find('=');
      auto value = support::Specialization::parse(
          equals == std::string::npos ? "" : word.substr(equals + 1));
      size_t i = 0;
      while (i < signature->parameters.size() &&
             signature->parameters[i].name != word.substr(0, equals))
        ++i;
      if (i == signature->parameters.size() || !value || value->arguments.size() != 1)
        return Error{"constant `" + word + "` is not PARAMETER=VALUE", {}};
      specialization.arguments[i] = value->arguments[0];
      std::erase(defaulted, uint32_t(i));
    }
  } else {
    call->arguments = std::make_unique<CallArguments>(words.seed);
    std::vector<std::string> all = words.arguments;
    all.insert(all.end(), words.constants.begin(), words.constants.end());
    if (Status status = call->arguments->parse(all); !status)
      return status.takeError();
    auto ordered = orderArguments(program, call->chosen.name, *call->arguments);
    if (!ordered)
      return ordered.takeError();
    auto classes = engine::specializeHost(*signature, *ordered, defaulted);
    if (!classes)
      return classes.takeError();
    specialization = std::move(*classes);
  }
  auto emitted = engine::emitKernel(program, call->chosen.name, specialization, defaulted,
                                    compileOptions(words));
  if (!emitted)
    return emitted.takeError();
  call->emitted = std::move(*emitted);
  return call;
}

} // namespace nereid::tools
