// Arguments as the command line spells them: `x=randn(1823x781,f32)`, `m=[1, 0]:i1`,
// `w=weights.npy`, `n=1823`, `s=x.stride(0)`, and grids over them: `(cdiv(n, BLOCK),)`.
#pragma once

#include "emit/Interp.h"
#include "engine/Runner.h"
#include "engine/SpecModule.h"
#include "launch/Signature.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nereid::tools {

/// The arguments of one call, by parameter name.
class CallArguments {
public:
  /// What tensors of recipes hold: their values, or nothing where only what they are is asked.
  enum class Content : uint8_t { Made, Reserved };
  explicit CallArguments(std::string seed, Content content = Content::Made);
  ~CallArguments();

  /// Evaluates `NAME=VALUE` words; a value may use arguments named before or after it.
  Status parse(const std::vector<std::string> &words);
  /// A grid of one to three extents.
  Result<std::array<uint32_t, 3>> grid(const std::string &text);

  const ops::Value *find(std::string_view name) const;
  /// Sets what a configuration or heuristic chose for parameters of the kernel.
  void add(const launch::Signature &signature, const emit::Keywords &chosen);
  /// The tensor of that name, or null.
  engine::SpecTensor *tensor(std::string_view name) const;
  /// All tensors, in the order given.
  std::vector<engine::SpecTensor *> tensors() const;
  const std::vector<std::pair<std::string, ops::Value>> &all() const { return values; }

private:
  Result<ops::Value> evaluate(const std::string &name, const std::string &text, bool *waits);

  std::string seed;
  Content content;
  /// Of what was read: a value may be a function.
  std::vector<std::shared_ptr<const syntax::Module>> trees;
  std::unique_ptr<emit::Interp> interp;
  std::shared_ptr<emit::ModuleObject> module;
  std::vector<std::pair<std::string, ops::Value>> values;
};

} // namespace nereid::tools
