#include "runtime/CublasLt.h"

#include "support/Knobs.h"

#include <dlfcn.h>
#include <optional>
#include <string>
#include <utility>

namespace nereid::runtime {

namespace {
using Code = int; // cublasStatus_t

// As the library numbers them.
enum DataType : int {
  R32F = 0,
  R64F = 1,
  R16F = 2,
  R8I = 3,
  R32I = 10,
  R16BF = 14,
  R8FE4M3 = 28,
  R8FE5M2 = 29
};
enum ComputeType : int { Compute32F = 68, Compute64F = 70, Compute32I = 72, Compute32FTf32 = 77 };
enum DescriptionAttribute : int { TransposeA = 3, TransposeB = 4 };
enum PreferenceAttribute : int { MaxWorkspaceBytes = 1 };
enum Transposition : int32_t { Plain = 0, Transposed = 1 };

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  Code state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

// The ways that are asked for.
constexpr int proposals = 8;

std::optional<DataType> dataType(DType type) {
  switch (type) {
  case DType::Float16:
    return R16F;
  case DType::BFloat16:
    return R16BF;
  case DType::Float32:
    return R32F;
  case DType::Float64:
    return R64F;
  case DType::Float8E4NV:
    return R8FE4M3;
  case DType::Float8E5:
    return R8FE5M2;
  case DType::Int8:
    return R8I;
  case DType::Int32:
    return R32I;
  default:
    return std::nullopt;
  }
}

// A matrix as one of columns, which is how the library sees all of them: `rows` by `columns` with
// that leading dimension, to be transposed or not.
struct View {
  int64_t rows, columns, leading;
  Transposition operation;
};

// Our C is its transpose: C^T = B^T A^T, so that a matrix of rows is one of columns as it lies.
// `matrix` is [rows, columns] by our strides and stands as its transpose.
std::optional<View> transposedView(int64_t rows, int64_t columns, const int64_t (&strides)[2]) {
  if (strides[1] == 1 && strides[0] >= columns)
    return View{columns, rows, strides[0], Plain};
  if (strides[0] == 1 && strides[1] >= rows)
    return View{rows, columns, strides[1], Transposed};
  return std::nullopt;
}
} // namespace

#define NEREID_CUBLASLT_FUNCTIONS(FUNCTION)                                                        \
  FUNCTION(cublasLtCreate, (void **))                                                              \
  FUNCTION(cublasLtDestroy, (void *))                                                              \
  FUNCTION(cublasLtMatmulDescCreate, (void **, int, int))                                          \
  FUNCTION(cublasLtMatmulDescDestroy, (void *))                                                    \
  FUNCTION(cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))                    \
  FUNCTION(cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))                \
  FUNCTION(cublasLtMatrixLayoutDestroy, (void *))                                                  \
  FUNCTION(cublasLtMatmulPreferenceCreate, (void **))                                              \
  FUNCTION(cublasLtMatmulPreferenceDestroy, (void *))                                              \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t))              \
  FUNCTION(cublasLtMatmulAlgoGetHeuristic,                                                         \
           (void *, void *, void *, void *, void *, void *, void *, int, void *, int *))           \
  FUNCTION(cublasLtMatmul, (void *, void *, const void *, const void *, void *, const void *,      \
                            void *, const void *, const void *, void *, void *, void *,            \
                            const void *, void *, size_t, void *))

struct CublasLt::Functions {
#define NEREID_DECLARE(name, signature) Code(*name) signature = nullptr;
  NEREID_CUBLASLT_FUNCTIONS(NEREID_DECLARE)
#undef NEREID_DECLARE
  size_t (*cublasLtGetVersion)() = nullptr;
};

struct CublasLt::Plan::State {
  explicit State(const Functions &functions) : functions(functions) {}
  ~State() {
    for (void *layout : {first, second, result})
      if (layout)
        functions.cublasLtMatrixLayoutDestroy(layout);
    if (description)
      functions.cublasLtMatmulDescDestroy(description);
  }
  State(const State &) = delete;

  const Functions &functions;
  void *description = nullptr, *first = nullptr, *second = nullptr, *result = nullptr;
  bool isInteger = false, isDouble = false;
  std::vector<HeuristicResult> ways;
};

size_t CublasLt::Plan::count() const { return state->ways.size(); }

Result<std::unique_ptr<CublasLt>> CublasLt::open(const char *library) {
  std::string chosen = library;
  if (chosen.empty())
    chosen = support::knobs().cublasLt;
  std::vector<std::string> places = {chosen};
  if (chosen.empty()) {
    places.clear();
    for (const char *folder : {"", "/usr/local/cuda/lib64/"})
      for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"})
        places.push_back(std::string(folder) + name);
  }
  void *opened = nullptr;
  std::string reason;
  for (const std::string &place : places) {
    opened = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened)
      break;
    if (const char *text = ::dlerror(); text && reason.empty())
      reason = text;
  }
  if (!opened)
    return Error{"no cuBLASLt: " + reason + "; NEREID_CUBLASLT names the library", {}};
  auto functions = std::make_unique<Functions>();
  std::string missing;
  auto find = [&](auto &into, const char *name) {
    into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(opened, name));
    if (!into && missing.empty())
      missing = name;
  };
#define NEREID_FIND(name, signature) find(functions->name, #name);
  NEREID_CUBLASLT_FUNCTIONS(NEREID_FIND)
#undef NEREID_FIND
  find(functions->cublasLtGetVersion, "cublasLtGetVersion");
  if (!missing.empty())
    return Error{"the cuBLASLt that was found lacks `" + missing + "`", {}};
  std::unique_ptr<CublasLt> made(new CublasLt());
  made->functions = std::move(functions);
  if (Code code = made->functions->cublasLtCreate(&made->handle))
    return Error{"cuBLASLt does not start: status " + std::to_string(code), {}};
  made->versionNumber = made->functions->cublasLtGetVersion();
  return made;
}

// The library itself stays: its threads and its memory live to the end of the process.
CublasLt::~CublasLt() {
  if (handle)
    functions->cublasLtDestroy(handle);
}

Result<CublasLt::Plan> CublasLt::plan(const MatrixProduct &product) {
  auto refuse = [](const std::string &why) { return Error{"cuBLASLt cannot do it: " + why, {}}; };
  auto a = dataType(product.a), b = dataType(product.b), c = dataType(product.c);
  if (!a || !b || !c)
    return refuse("a data type that it does not have");
  auto viewA = transposedView(product.m, product.k, product.aStrides),
       viewB = transposedView(product.k, product.n, product.bStrides),
       viewC = transposedView(product.m, product.n, product.cStrides);
  if (!viewA || !viewB || !viewC || viewC->operation != Plain)
    return refuse("strides of neither rows nor columns");
  bool isInteger = product.a == DType::Int8, isDouble = product.a == DType::Float64;
  int compute = isInteger                                     ? Compute32I
                : isDouble                                    ? Compute64F
                : product.tf32 && product.a == DType::Float32 ? Compute32FTf32
                                                              : Compute32F;
  int scale = isInteger ? R32I : isDouble ? R64F : R32F;

  Plan made;
  made.state = std::make_shared<Plan::State>(*functions);
  Plan::State &state = *made.state;
  state.isInteger = isInteger;
  state.isDouble = isDouble;
  auto layout = [&](void *&into, DataType type, const View &view) {
    return functions->cublasLtMatrixLayoutCreate(&into, type, uint64_t(view.rows),
                                                 uint64_t(view.columns), view.leading);
  };
  void *preference = nullptr;
  uint64_t workspace = workspaceBytes;
  Code code = functions->cublasLtMatmulDescCreate(&state.description, compute, scale);
  // The library's first factor is our second.
  for (auto [attribute, operation] :
       {std::pair(TransposeA, viewB->operation), std::pair(TransposeB, viewA->operation)})
    code = code ? code
                : functions->cublasLtMatmulDescSetAttribute(state.description, attribute,
                                                            &operation, sizeof operation);
  code = code ? code : layout(state.first, *b, *viewB);
  code = code ? code : layout(state.second, *a, *viewA);
  code = code ? code : layout(state.result, *c, *viewC);
  code = code ? code : functions->cublasLtMatmulPreferenceCreate(&preference);
  code = code ? code
              : functions->cublasLtMatmulPreferenceSetAttribute(preference, MaxWorkspaceBytes,
                                                                &workspace, sizeof workspace);
  int found = 0;
  state.ways.resize(proposals);
  code = code ? code
              : functions->cublasLtMatmulAlgoGetHeuristic(
                    handle, state.description, state.first, state.second, state.result,
                    state.result, preference, proposals, state.ways.data(), &found);
  if (preference)
    functions->cublasLtMatmulPreferenceDestroy(preference);
  if (code)
    return refuse("status " + std::to_string(code));
  state.ways.resize(size_t(found));
  std::erase_if(state.ways, [](const HeuristicResult &way) { return way.state != 0; });
  if (state.ways.empty())
    return refuse("it has no algorithm");
  return made;
}

Status CublasLt::run(const Plan &plan, size_t which, const void *a, const void *b, void *c,
                     void *workspace, void *stream) {
  const Plan::State &state = *plan.state;
  const int32_t integers[] = {1, 0};
  const float floats[] = {1, 0};
  const double doubles[] = {1, 0};
  auto scale = [&](size_t i) -> const void * {
    return state.isInteger  ? static_cast<const void *>(&integers[i])
           : state.isDouble ? static_cast<const void *>(&doubles[i])
                            : static_cast<const void *>(&floats[i]);
  };
  const HeuristicResult &way = state.ways[which];
  if (Code code = functions->cublasLtMatmul(
          handle, state.description, scale(0), b, state.first, a, state.second, scale(1), c,
          state.result, c, state.result, &way.algorithm, workspace, way.workspace, stream))
    return Error{"cuBLASLt fails: status " + std::to_string(code), {}};
  return Success{};
}

} // namespace nereid::runtime
