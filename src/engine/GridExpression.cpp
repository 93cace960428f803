#include "engine/GridExpression.h"

#include "engine/AheadOfTimeText.h"
#include "engine/ExpressionReader.h"
#include "syntax/Parser.h"

namespace nereid::engine {

using support::HostExpression;
using support::HostOp;

Result<std::vector<std::vector<uint8_t>>> gridExpressions(const std::string &text,
                                                          std::span<const ExpressionLeaf> leaves) {
  auto fail = [&](const std::string &why) {
    return Error{"cannot read the grid `" + text + "`: " + why, {}};
  };
  auto parsed = syntax::parseExpression(text, "--grid");
  if (!parsed.module) {
    const Diagnostic &first = parsed.diagnostics.front();
    return fail(first.message + (first.hint.empty() ? "" : "; " + first.hint));
  }
  // As programs hold it, `lambda meta: (triton.cdiv(n, meta["BLOCK"]),)`, or its axes.
  const syntax::Expr *body = parsed.expr;
  std::string_view subject;
  if (auto *function = syntax::dynCast<syntax::Lambda>(body)) {
    if (function->args->args.size() != 1)
      return fail("a grid is a function of one parameter, as `lambda meta: ...`");
    subject = function->args->args[0].arg;
    body = function->body;
  }
  std::vector<const syntax::Expr *> axes = {body};
  if (auto *tuple = syntax::dynCast<syntax::Tuple>(body))
    axes.assign(tuple->elts.begin(), tuple->elts.end());
  if (axes.empty() || axes.size() > 3)
    return fail("it has " + std::to_string(axes.size()) + " axes, not one to three");
  std::vector<std::vector<uint8_t>> out;
  for (const syntax::Expr *axis : axes) {
    ExpressionReader reader(leaves, subject);
    auto bytes = reader.read(axis);
    if (!bytes)
      return fail(bytes.error().what);
    out.push_back(*std::move(bytes));
  }
  return out;
}

Status addGrid(support::ArtifactBuilder &builder, const std::string &text,
               std::span<const ExpressionLeaf> leaves) {
  auto axes = gridExpressions(text, leaves);
  if (!axes)
    return axes.takeError();
  builder.expressions.clear();
  for (uint32_t axis = 0; axis < axes->size(); ++axis)
    builder.expressions.push_back(
        {{}, uint32_t(support::ExpressionRole::Grid), axis, builder.blob((*axes)[axis])});
  return Success{};
}

Result<support::Artifact> withGrid(const support::Artifact &artifact, const std::string &text) {
  std::vector<ExpressionLeaf> leaves;
  for (const support::ParameterRecord &parameter : artifact.parameters())
    leaves.push_back(
        {std::string(artifact.text(parameter.name)), std::string(artifact.text(parameter.value))});
  support::ArtifactBuilder builder(artifact);
  if (Status status = addGrid(builder, text, leaves); !status)
    return status.takeError();
  return builder.finish();
}

namespace {

Result<std::string> axisInC(const support::Artifact &artifact,
                            const support::ExpressionRecord &axis, const std::string &prefix) {
  auto expression = HostExpression::open(artifact.blob(axis.code));
  if (!expression)
    return expression.takeError();
  support::HostNames names;
  std::vector<std::string> slots = parametersInC(artifact, prefix);
  for (const support::ParameterRecord &parameter : artifact.parameters())
    names.leaves.push_back(parameter.firstSlot < slots.size()
                               ? "(int64_t)" + slots[parameter.firstSlot]
                               : std::string());
  for (const support::HostNode &node : expression->nodes()) {
    HostOp op = HostOp(node.op);
    bool asksTensor = op >= HostOp::Numel && op <= HostOp::TypeIn;
    if (op != HostOp::Argument && !asksTensor)
      continue;
    const support::ParameterRecord &parameter = artifact.parameters()[node.a];
    std::string called = "`" + std::string(artifact.text(parameter.name)) + "`";
    if (asksTensor)
      return Error{"the grid asks for the shape or type of " + called +
                       ", which a C program does not pass: use parameters that are numbers",
                   {}};
    if (support::SlotKind(artifact.slots()[parameter.firstSlot].kind) != support::SlotKind::Int)
      return Error{"the grid counts with " + called + ", which is no integer", {}};
  }
  return expression->toC(names);
}

} // namespace

Result<std::string> wholeGridInC(const support::Artifact &artifact, const std::string &name,
                                 bool isGpu) {
  std::string axes[3] = {"1", "1", "1"};
  bool isThere = false;
  for (const support::ExpressionRecord &expression : artifact.expressions()) {
    if (support::ExpressionRole(expression.role) != support::ExpressionRole::Grid)
      continue;
    auto axis = axisInC(artifact, expression, name);
    if (!axis)
      return axis.takeError();
    axes[expression.index] = *std::move(axis);
    isThere = true;
  }
  if (!isThere)
    return std::string();
  ParameterText all = parametersOf(artifact, name, "");
  std::string parameters = isGpu                    ? "void *stream" + all.parameters
                           : all.parameters.empty() ? "void"
                                                    : all.parameters.substr(2);
  return replaced(R"(
#ifndef NEREID_HOST_EXPRESSIONS
#define NEREID_HOST_EXPRESSIONS
$HELPERS#endif

/* The whole grid, as big as the arguments ask for. */
static inline int $NAME_$VERB_all($PARAMETERS) {
  const int64_t gx = $X, gy = $Y, gz = $Z;
  if (gx < 0 || gy < 0 || gz < 0 || gx > UINT32_MAX || gy > UINT32_MAX || gz > UINT32_MAX)
    return $BAD_GRID;
  return $NAME_$VERB($STREAM(uint32_t)gx, (uint32_t)gy, (uint32_t)gz$GIVEN);
}
)",
                  {{"HELPERS", std::string(support::hostExpressionHelpersC())},
                   {"NAME", name},
                   {"VERB", isGpu ? "launch" : "run"},
                   {"PARAMETERS", parameters},
                   {"X", axes[0]},
                   {"Y", axes[1]},
                   {"Z", axes[2]},
                   {"BAD_GRID", isGpu ? "NEREID_CUDA_BAD_GRID" : "NEREID_KERNEL_BAD_GRID"},
                   {"STREAM", isGpu ? "stream, " : ""},
                   {"GIVEN", all.given}});
}

} // namespace nereid::engine
