// The grid of a launch that a kernel built ahead brings along, as host expressions.
#pragma once

#include "engine/ExpressionReader.h"
#include "support/Artifact.h"

#include <span>
#include <string>
#include <vector>

namespace nereid::engine {

/// The axes of the grid that `text` spells, as bytes of support/HostExpression.h: one to three
/// expressions of the leaves, as in "cdiv(n, BLOCK), 2" or
/// `lambda meta: (triton.cdiv(n, meta["BLOCK"]), 2)`. They may hold integers, arguments that are
/// numbers, compiled-in values, `x.shape[0]`, `x.stride(0)` and `x.numel()` of tensors, Python's
/// arithmetic, comparisons and conditional, `cdiv`, `min`, `max` and `next_power_of_2`.
Result<std::vector<std::vector<uint8_t>>> gridExpressions(const std::string &text,
                                                          std::span<const ExpressionLeaf> leaves);

/// Puts it into an artifact.
Status addGrid(support::ArtifactBuilder &builder, const std::string &text,
               std::span<const ExpressionLeaf> leaves);
/// A finished artifact with such a grid of its parameters, in place of its own.
Result<support::Artifact> withGrid(const support::Artifact &artifact, const std::string &text);

/// A function of C beside the others of a header: NAME_run_all, or NAME_launch_all on a stream of a
/// GPU, which computes the grid that the artifact brings and runs it. Empty if it brings none.
/// Fails if the grid asks for what such a program does not pass, as the shape of a pointer.
Result<std::string> wholeGridInC(const support::Artifact &artifact, const std::string &name,
                                 bool isGpu);

} // namespace nereid::engine
