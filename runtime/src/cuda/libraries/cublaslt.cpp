//===- cublaslt.cpp - Products by cuBLASLt ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library's matrices are column-major, so it is asked for the transposed
// product: its A is our right factor, its B our left one, and its rows are our
// columns, along which it adds the bias.
//
//===----------------------------------------------------------------------===//
#include "cuda/libraries/cublaslt.h"

#include "cuda/driver/shared_library.h"
#include "cuda/libraries/library.h"

#include <algorithm>

namespace tinh::runtime::cuda::lt {
namespace {

struct Functions {
  explicit Functions(const std::string &file) : library(file) {}

  SharedLibrary library;
  TINH_CUBLASLT_FUNCTIONS(TINH_FOUND_FUNCTION)

  void check(Status status, const char *what) const {
    if (status != kSuccess)
      throw Error(TINH_DEVICE_ERROR,
                  std::string(what) + ": " + cublasLtGetStatusName(status));
  }
};

/// Owns an object of the library's.
template <typename Object, Status (*Functions::*destroy)(Object)> class Owner {
public:
  explicit Owner(const Functions &api) : api(api) {}
  Owner(const Owner &) = delete;
  ~Owner() {
    if (object)
      (api.*destroy)(object);
  }
  Object *operator&() { return &object; }
  operator Object() const { return object; }

private:
  const Functions &api;
  Object object = nullptr;
};

using Layout = Owner<MatrixLayout, &Functions::cublasLtMatrixLayoutDestroy>;

/// A view without the batch, as the library has it.
struct Matrix {
  uint64_t rows, columns;
  int64_t leading;
  bool transposed; ///< The library is to transpose it.
};

/// The transposed matrix of a view; of a factor it may be what the library has
/// to transpose.
Matrix transposed(const tinh_view_t &view) {
  int64_t rows = view.dims[1], columns = view.dims[2];
  bool by_rows = view.strides[2] == 1 || columns == 1;
  // A line alone has any stride.
  by_rows = by_rows && (view.strides[1] >= columns || rows == 1);
  auto leading = [](int64_t stride, int64_t extent, int64_t lines) {
    return lines == 1 ? extent : stride;
  };
  if (by_rows)
    return {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows),
            leading(view.strides[1], columns, rows), false};
  return {static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
          leading(view.strides[2], rows, columns), true};
}

int type_of(const tinh_kernel_desc_t &kernel, const tinh_view_t &view) {
  switch (kernel.operands[view.operand].dtype) {
  case TINH_DTYPE_F16:
    return kF16;
  case TINH_DTYPE_BF16:
    return kBf16;
  default:
    return kF32;
  }
}

uint32_t epilogue_of(const tinh_library_call_t &call) {
  uint32_t epilogue = 0;
  if (call.activation == TINH_ACTIVATION_RELU)
    epilogue |= kEpilogueRelu;
  if (call.activation == TINH_ACTIVATION_GELU_TANH)
    epilogue |= kEpilogueGelu;
  if (call.bias.operand != TINH_NO_OPERAND)
    epilogue |= kEpilogueBias;
  return epilogue ? epilogue : kEpilogueDefault;
}

class ProductPlan : public LibraryPlan {
public:
  ProductPlan(const Functions &api, Handle handle,
              const tinh_kernel_desc_t &kernel, const Alignments &alignments)
      : api(api), handle(handle), call(*kernel.library), product(api), a(api),
        b(api), c(api), d(api) {
    describe(kernel);
    choose(alignments);
  }

  void execute(void *const *buffers, CUdeviceptr workspace,
               CUstream stream) const override {
    auto at = [&](const tinh_view_t &view) { return buffers[view.operand]; };
    const float one = 1, zero = 0;
    bool adds = call.residual.operand != TINH_NO_OPERAND;
    std::lock_guard lock(mutex);
    if (call.bias.operand != TINH_NO_OPERAND)
      set(kBiasPointer, at(call.bias));
    api.check(api.cublasLtMatmul(
                  handle, product, &one, at(call.right), a, at(call.left), b,
                  adds ? &one : &zero, at(adds ? call.residual : call.result),
                  layout_of_c(), at(call.result), d, &algorithm,
                  reinterpret_cast<void *>(workspace), workspace_size, stream),
              "cublasLtMatmul");
  }

private:
  template <typename Value> void set(int attribute, Value value) const {
    api.check(api.cublasLtMatmulDescSetAttribute(product, attribute, &value,
                                                 sizeof value),
              "cublasLtMatmulDescSetAttribute");
  }

  void describe(const tinh_kernel_desc_t &kernel) {
    api.check(api.cublasLtMatmulDescCreate(
                  &product, call.allow_tf32 ? kCompute32FFastTf32 : kCompute32F,
                  kF32),
              "cublasLtMatmulDescCreate");
    set(kEpilogue, epilogue_of(call));
    if (describe(a, kernel, call.right))
      set(kTransposeA, kTranspose);
    if (describe(b, kernel, call.left))
      set(kTransposeB, kTranspose);
    describe(d, kernel, call.result);
    const tinh_view_t &added = call.residual;
    if (added.operand != TINH_NO_OPERAND &&
        !std::equal(added.strides, added.strides + added.rank,
                    call.result.strides))
      describe(c, kernel, added);
  }

  /// What is added may be what is written over: that takes the same layout.
  MatrixLayout layout_of_c() const { return c ? c : d; }

  /// Says whether the library has to transpose it.
  bool describe(Layout &layout, const tinh_kernel_desc_t &kernel,
                const tinh_view_t &view) {
    Matrix matrix = transposed(view);
    api.check(api.cublasLtMatrixLayoutCreate(&layout, type_of(kernel, view),
                                             matrix.rows, matrix.columns,
                                             matrix.leading),
              "cublasLtMatrixLayoutCreate");
    auto count = static_cast<int32_t>(view.dims[0]);
    for (auto [attribute, value, size] :
         {std::tuple<int, const void *, size_t>(kBatchCount, &count,
                                                sizeof count),
          std::tuple<int, const void *, size_t>(kBatchStride, &view.strides[0],
                                                sizeof(int64_t))})
      api.check(
          api.cublasLtMatrixLayoutSetAttribute(layout, attribute, value, size),
          "cublasLtMatrixLayoutSetAttribute");
    return matrix.transposed;
  }

  /// The algorithm that the library thinks best for such operands.
  void choose(const Alignments &alignments) {
    Owner<Preference, &Functions::cublasLtMatmulPreferenceDestroy> preference(
        api);
    api.check(api.cublasLtMatmulPreferenceCreate(&preference),
              "cublasLtMatmulPreferenceCreate");
    auto prefer = [&](int attribute, auto value) {
      api.check(api.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                         &value, sizeof value),
                "cublasLtMatmulPreferenceSetAttribute");
    };
    auto of = [&](const tinh_view_t &view) { return alignments[view.operand]; };
    bool adds = call.residual.operand != TINH_NO_OPERAND;
    prefer(kMaxWorkspace, kMostWorkspace);
    prefer(kReductionSchemes, kReductionComputeType | kReductionOutputType);
    prefer(kMinAlignmentA, of(call.right));
    prefer(kMinAlignmentB, of(call.left));
    prefer(kMinAlignmentC, of(adds ? call.residual : call.result));
    prefer(kMinAlignmentD, of(call.result));
    // Some versions look at the address, which is not known yet.
    if (call.bias.operand != TINH_NO_OPERAND)
      set(kBiasPointer, static_cast<uintptr_t>(of(call.bias)));
    HeuristicResult best = {};
    int count = 0;
    api.check(api.cublasLtMatmulAlgoGetHeuristic(handle, product, a, b,
                                                 layout_of_c(), d, preference,
                                                 1, &best, &count),
              "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0)
      throw Error(TINH_DEVICE_ERROR, "cuBLASLt knows no algorithm for it");
    api.check(best.state, "cublasLtMatmulAlgoGetHeuristic");
    algorithm = best.algo;
    workspace_size = best.workspaceSize;
  }

  const Functions &api;
  const Handle handle;
  const tinh_library_call_t &call;
  mutable std::mutex mutex; ///< The description has the bias's address.
  Owner<MatmulDesc, &Functions::cublasLtMatmulDescDestroy> product;
  Layout a, b, c, d;
  Algorithm algorithm;
};

class CublasLt : public Library {
public:
  explicit CublasLt(const std::string &file) : api(file), handle(api) {
    api.check(api.cublasLtCreate(&handle), "cublasLtCreate");
  }

  std::string name() const override {
    return "cuBLASLt " + version_text(api.cublasLtGetVersion());
  }

  std::unique_ptr<LibraryPlan> plan(const tinh_kernel_desc_t &kernel,
                                    const Alignments &alignments) override {
    return std::make_unique<ProductPlan>(api, handle, kernel, alignments);
  }

private:
  const Functions api;
  Owner<Handle, &Functions::cublasLtDestroy> handle;
};

} // namespace
} // namespace tinh::runtime::cuda::lt

namespace tinh::runtime::cuda {

std::shared_ptr<Library> load_cublaslt(const std::string &file) {
  return std::make_shared<lt::CublasLt>(file);
}

} // namespace tinh::runtime::cuda
