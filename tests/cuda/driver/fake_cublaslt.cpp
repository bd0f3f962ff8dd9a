//===- fake_cublaslt.cpp - A cuBLASLt that computes on the host -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices are column-major, as the library has them. What the real one refuses
// is refused: layouts that do not fit, operands that are not aligned as was
// said when an algorithm was asked for, a workspace that is too small.
//
//===----------------------------------------------------------------------===//
#include "runtime/src/cuda/libraries/cublaslt.h"

#include "compute.h"
#include "fake_library.h"

#include <algorithm>
#include <cmath>

namespace tinh::runtime::cuda::lt {
#define TINH_DECLARE(result, name, parameters)                                 \
  TINH_LIBRARY result name parameters;
TINH_CUBLASLT_FUNCTIONS(TINH_DECLARE)
#undef TINH_DECLARE

struct HandleObject {};

struct MatmulDescObject {
  int compute;
  int32_t transposes[2] = {};
  uint32_t epilogue = kEpilogueDefault;
  const void *bias = nullptr;
};

struct MatrixLayoutObject {
  fake::Type type;
  int64_t rows, columns, leading;
  int32_t count = 1;
  int64_t stride = 0;

  int64_t at(int64_t row, int64_t column, int64_t batch) const {
    return row + column * leading + batch * stride;
  }
  fake::Range range(const void *base) const {
    int64_t last = at(rows - 1, columns - 1, count - 1);
    return {const_cast<void *>(base), size_t(last + 1) * sizeOf(type)};
  }
  bool sameAs(const MatrixLayoutObject &other) const {
    return type == other.type && rows == other.rows &&
           columns == other.columns && count == other.count;
  }
};

struct PreferenceObject {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};
} // namespace tinh::runtime::cuda::lt

using namespace tinh::runtime::cuda::lt;
namespace fake = tinh::fake;

namespace {

constexpr size_t kWorkspace = 8192;

/// What an algorithm is good for.
struct Chosen {
  uint64_t magic;
  uint32_t alignments[4];
};
constexpr uint64_t kMagic = 0x7469'6e68'6c74;

template <typename Value>
Status take(Value &result, const void *data, size_t size) {
  if (size != sizeof result)
    return kInvalidValue;
  std::memcpy(&result, data, size);
  return kSuccess;
}

/// A factor, and whether it is used as its transpose.
struct Operand {
  const MatrixLayoutObject &layout;
  bool transposed;
  const void *memory = nullptr;

  int64_t rows() const { return transposed ? layout.columns : layout.rows; }
  int64_t columns() const { return transposed ? layout.rows : layout.columns; }
  double load(int64_t row, int64_t column, int64_t batch) const {
    if (transposed)
      std::swap(row, column);
    return fake::load(layout.type, memory, layout.at(row, column, batch));
  }
};

bool fit(const MatmulDescObject &product, const MatrixLayoutObject &a,
         const MatrixLayoutObject &b, const MatrixLayoutObject &c,
         const MatrixLayoutObject &d) {
  Operand left{a, product.transposes[0] != 0},
      right{b, product.transposes[1] != 0};
  auto valid = [&](const MatrixLayoutObject &layout) {
    return layout.leading >= layout.rows && layout.count == d.count;
  };
  return valid(a) && valid(b) && valid(c) && valid(d) && c.sameAs(d) &&
         a.type == b.type && left.rows() == d.rows &&
         right.columns() == d.columns && left.columns() == right.rows() &&
         (d.type == a.type || d.type == fake::Type::F32);
}

double activate(uint32_t epilogue, double x) {
  if (epilogue & kEpilogueRelu)
    return std::max(x, 0.0);
  if (!(epilogue & kEpilogueGelu))
    return x;
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

/// A product with all that it needs, when it comes to it.
struct Call {
  MatmulDescObject product;
  MatrixLayoutObject a, b, c, d;
  float alpha, beta;
  const void *inA, *inB, *inC;
  void *out, *workspace;

  void run() const {
    Operand left{a, product.transposes[0] != 0, inA},
        right{b, product.transposes[1] != 0, inB};
    bool rounds = product.compute == kCompute32FFastTf32;
    auto factor = [&](const Operand &operand, int64_t i, int64_t j, int64_t n) {
      double value = operand.load(i, j, n);
      return rounds ? fake::toTf32(value) : value;
    };
    for (int64_t n = 0; n < d.count; ++n)
      for (int64_t j = 0; j < d.columns; ++j)
        for (int64_t i = 0; i < d.rows; ++i) {
          double sum = 0;
          for (int64_t k = 0; k < left.columns(); ++k)
            sum += factor(left, i, k, n) * factor(right, k, j, n);
          sum *= alpha;
          if (beta != 0)
            sum += beta * fake::load(c.type, inC, c.at(i, j, n));
          if (product.epilogue & kEpilogueBias)
            sum += fake::load(d.type, product.bias, i);
          fake::store(d.type, out, d.at(i, j, n),
                      activate(product.epilogue, sum));
        }
  }

  std::string name() const {
    std::ostringstream text;
    text << "product " << d.count << "x" << d.rows << "x" << d.columns
         << " epilogue " << product.epilogue << " beta " << beta << " compute "
         << product.compute << " workspace " << workspace;
    return text.str();
  }
};

bool isAligned(const void *address, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

} // namespace

#define INJECT(function)                                                       \
  if (int status = fake::injectedStatus(#function))                            \
  return status

size_t tinh::runtime::cuda::lt::cublasLtGetVersion() { return 130102; }

const char *tinh::runtime::cuda::lt::cublasLtGetStatusName(Status status) {
  switch (status) {
  case kInvalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case kExecutionFailed:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case kNotSupported:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_OF_THE_TEST";
}

Status tinh::runtime::cuda::lt::cublasLtCreate(Handle *handle) {
  INJECT(cublasLtCreate);
  *handle = new HandleObject;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtDestroy(Handle handle) {
  delete handle;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulDescCreate(MatmulDesc *product,
                                                         int compute,
                                                         int scale) {
  INJECT(cublasLtMatmulDescCreate);
  if (scale != kF32 ||
      (compute != kCompute32F && compute != kCompute32FFastTf32))
    return kNotSupported;
  *product = new MatmulDescObject{compute};
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulDescDestroy(MatmulDesc product) {
  delete product;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulDescSetAttribute(
    MatmulDesc product, int attribute, const void *data, size_t size) {
  switch (attribute) {
  case kTransposeA:
    return take(product->transposes[0], data, size);
  case kTransposeB:
    return take(product->transposes[1], data, size);
  case kEpilogue:
    return take(product->epilogue, data, size);
  case kBiasPointer:
    return take(product->bias, data, size);
  }
  return kInvalidValue;
}

Status tinh::runtime::cuda::lt::cublasLtMatrixLayoutCreate(MatrixLayout *layout,
                                                           int type,
                                                           uint64_t rows,
                                                           uint64_t columns,
                                                           int64_t leading) {
  INJECT(cublasLtMatrixLayoutCreate);
  if (type != kF32 && type != kF16 && type != kBf16)
    return kNotSupported;
  *layout = new MatrixLayoutObject{type == kF32   ? fake::Type::F32
                                   : type == kF16 ? fake::Type::F16
                                                  : fake::Type::Bf16,
                                   int64_t(rows), int64_t(columns), leading};
  return kSuccess;
}

Status
tinh::runtime::cuda::lt::cublasLtMatrixLayoutDestroy(MatrixLayout layout) {
  delete layout;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatrixLayoutSetAttribute(
    MatrixLayout layout, int attribute, const void *data, size_t size) {
  if (attribute == kBatchCount)
    return take(layout->count, data, size);
  if (attribute == kBatchStride)
    return take(layout->stride, data, size);
  return kInvalidValue;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulPreferenceCreate(
    Preference *preference) {
  *preference = new PreferenceObject;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulPreferenceDestroy(
    Preference preference) {
  delete preference;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulPreferenceSetAttribute(
    Preference preference, int attribute, const void *data, size_t size) {
  if (attribute == kMaxWorkspace)
    return take(preference->workspace, data, size);
  if (attribute >= kMinAlignmentA && attribute <= kMinAlignmentD)
    return take(preference->alignments[attribute - kMinAlignmentA], data, size);
  return attribute == kReductionSchemes ? kSuccess : kInvalidValue;
}

Status tinh::runtime::cuda::lt::cublasLtMatmulAlgoGetHeuristic(
    Handle, MatmulDesc product, MatrixLayout a, MatrixLayout b, MatrixLayout c,
    MatrixLayout d, Preference preference, int wanted, HeuristicResult *results,
    int *count) {
  INJECT(cublasLtMatmulAlgoGetHeuristic);
  *count = 0;
  if (wanted < 1 || !fit(*product, *a, *b, *c, *d))
    return kInvalidValue;
  if (preference->workspace < kWorkspace)
    return kNotSupported;
  Chosen chosen{kMagic, {}};
  std::copy_n(preference->alignments, 4, chosen.alignments);
  *results = {};
  std::memcpy(results->algo.data, &chosen, sizeof chosen);
  results->workspaceSize = kWorkspace;
  *count = 1;
  return kSuccess;
}

Status tinh::runtime::cuda::lt::cublasLtMatmul(
    Handle, MatmulDesc product, const void *alpha, const void *inA,
    MatrixLayout a, const void *inB, MatrixLayout b, const void *beta,
    const void *inC, MatrixLayout c, void *out, MatrixLayout d,
    const Algorithm *algorithm, void *workspace, size_t workspaceSize,
    CUstream stream) {
  INJECT(cublasLtMatmul);
  Call call{*product, *a, *b, *c, *d, 0, 0, inA, inB, inC, out, workspace};
  std::memcpy(&call.alpha, alpha, sizeof(float));
  std::memcpy(&call.beta, beta, sizeof(float));
  Chosen chosen;
  std::memcpy(&chosen, algorithm->data, sizeof chosen);
  bool aligned = isAligned(inA, chosen.alignments[0]) &&
                 isAligned(inB, chosen.alignments[1]) &&
                 isAligned(inC, chosen.alignments[2]) &&
                 isAligned(out, chosen.alignments[3]) &&
                 isAligned(workspace, 256);
  if (chosen.magic != kMagic || !aligned || workspaceSize < kWorkspace ||
      !fit(*product, *a, *b, *c, *d))
    return kInvalidValue;
  std::vector<fake::Range> touched = {a->range(inA),
                                      b->range(inB),
                                      c->range(inC),
                                      d->range(out),
                                      {workspace, workspaceSize}};
  if (product->epilogue & kEpilogueBias)
    touched.push_back(
        {const_cast<void *>(product->bias), size_t(d->rows) * sizeOf(d->type)});
  auto work = [call, workspaceSize] {
    std::memset(call.workspace, 0x5a, workspaceSize); // It has what it wants.
    call.run();
  };
  return fake::compute(stream, call.name(), touched, work) ? kExecutionFailed
                                                           : kSuccess;
}
