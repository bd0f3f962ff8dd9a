//===- cudnn.cpp - Convolutions by cuDNN ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution and what follows it is a graph of operations to the library,
// whose heuristics list engines for it, best first. The first one is taken that
// gives the same results each time, rounds no factor that must not be rounded,
// and is content with the workspace.
//
//===----------------------------------------------------------------------===//
#include "cuda/libraries/cudnn.h"

#include "cuda/driver/shared_library.h"
#include "cuda/libraries/library.h"

#include <algorithm>

namespace tinh::runtime::cuda::dnn {
namespace {

struct Functions {
  explicit Functions(const std::string &file) : library(file) {}

  SharedLibrary library;
  TINH_CUDNN_FUNCTIONS(TINH_FOUND_FUNCTION)

  void check(Status status, const char *what) const {
    if (status != kSuccess)
      throw Error(TINH_DEVICE_ERROR,
                  std::string(what) + ": " + cudnnGetErrorString(status));
  }
};

/// Owns a descriptor, of which everything in the library is one.
class Object {
public:
  Object(const Functions &api, Kind kind) : api(&api) {
    api.check(api.cudnnBackendCreateDescriptor(kind, &handle),
              "cudnnBackendCreateDescriptor");
  }
  Object(Object &&other) noexcept
      : api(other.api), handle(std::exchange(other.handle, nullptr)) {}
  Object &operator=(Object &&other) noexcept {
    std::swap(api, other.api);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Object() {
    if (handle)
      api->cudnnBackendDestroyDescriptor(handle);
  }

  template <typename Value>
  void set(Attribute attribute, Type type, const Value *values, size_t count) {
    api->check(api->cudnnBackendSetAttribute(handle, attribute, type,
                                             static_cast<int64_t>(count),
                                             values),
               "cudnnBackendSetAttribute");
  }
  template <typename Value>
  void set(Attribute attribute, Type type, const Value &value) {
    set(attribute, type, &value, 1);
  }
  void set(Attribute attribute, const Object &other) {
    set(attribute, kDescriptorType, other.handle);
  }
  void finalize(const char *what) {
    api->check(api->cudnnBackendFinalize(handle), what);
  }
  /// Fills in up to `count` values and says how many there are.
  template <typename Value>
  int64_t get(Attribute attribute, Type type, Value *values,
              int64_t count) const {
    int64_t there = 0;
    api->check(api->cudnnBackendGetAttribute(handle, attribute, type, count,
                                             &there, values),
               "cudnnBackendGetAttribute");
    return there;
  }
  Descriptor get() const { return handle; }

private:
  const Functions *api;
  Descriptor handle = nullptr;
};

/// The strides of dense dimensions, the last one of `order` the innermost one.
std::vector<int64_t> dense(const tinh_view_t &view,
                           const std::vector<uint32_t> &order) {
  std::vector<int64_t> strides(view.rank);
  int64_t stride = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    strides[*d] = stride;
    stride *= view.dims[*d];
  }
  return strides;
}

/// Along a dimension of one element any stride will do: those of a layout that
/// the library knows, if the others are its.
std::vector<int64_t> strides_of(const tinh_view_t &view) {
  std::vector<uint32_t> first, last{0}; // Where the channels are.
  for (uint32_t d = 0; d < view.rank; ++d)
    first.push_back(d);
  for (uint32_t d = 2; d < view.rank; ++d)
    last.push_back(d);
  last.push_back(1);
  for (const std::vector<uint32_t> &order : {last, first}) {
    std::vector<int64_t> strides = dense(view, order);
    bool fits = true;
    for (uint32_t d = 0; d < view.rank; ++d)
      fits &= view.dims[d] == 1 || view.strides[d] == strides[d];
    if (fits)
      return strides;
  }
  return {view.strides, view.strides + view.rank};
}

int type_of(const tinh_kernel_desc_t &kernel, const tinh_view_t &view) {
  switch (kernel.operands[view.operand].dtype) {
  case TINH_DTYPE_F16:
    return kHalf;
  case TINH_DTYPE_BF16:
    return kBfloat16;
  default:
    return kFloat;
  }
}

bool is_there(const tinh_view_t &view) {
  return view.operand != TINH_NO_OPERAND;
}

/// The numbers of tensors in memory, whose operands need not be different;
/// those between operations come after.
enum Id : int64_t { kX, kW, kY, kBias, kResidual, kBetween };

/// Makes the graph of operations of a kernel. Between operations all is in f32.
class GraphMaker {
public:
  GraphMaker(const Functions &api, const tinh_kernel_desc_t &kernel,
             const Alignments &alignments)
      : api(api), kernel(kernel), call(*kernel.library),
        alignments(alignments) {}

  Object make(Handle handle) {
    std::vector<std::pair<int, Id>> after; // What is added, if anything is.
    if (is_there(call.residual))
      after.push_back({kAdd, kResidual});
    if (is_there(call.bias))
      after.push_back({kAdd, kBias});
    if (call.activation == TINH_ACTIVATION_RELU)
      after.push_back({kReluForward, kBetween});
    size_t value = tensor_between(after.empty());
    add_convolution(value);
    for (size_t i = 0; i < after.size(); ++i) {
      size_t result = tensor_between(i + 1 == after.size());
      add_pointwise(after[i].first, value, after[i].second, result);
      value = result;
    }
    Object graph(api, kOperationGraph);
    std::vector<Descriptor> all;
    for (const Object &operation : operations)
      all.push_back(operation.get());
    graph.set(kGraphHandle, kHandleType, handle);
    graph.set(kGraphOperations, kDescriptorType, all.data(), all.size());
    graph.finalize("a graph of a convolution");
    return graph;
  }

private:
  size_t add_tensor(int64_t id, int type, int64_t alignment, bool is_virtual,
                    const int64_t *dims, const std::vector<int64_t> &strides) {
    Object &tensor = tensors.emplace_back(api, kTensor);
    tensor.set(kTensorUniqueId, kInt64Type, id);
    tensor.set(kTensorDataType, kDataType, type);
    tensor.set(kTensorAlignment, kInt64Type, alignment);
    tensor.set(kTensorDimensions, kInt64Type, dims, strides.size());
    tensor.set(kTensorStrides, kInt64Type, strides.data(), strides.size());
    if (is_virtual)
      tensor.set(kTensorIsVirtual, kBooleanType, is_virtual);
    tensor.finalize("a tensor of a convolution");
    return tensors.size() - 1;
  }

  size_t add_tensor(Id id, const tinh_view_t &view) {
    constexpr uint32_t kMost = 16; // Nothing loads more at once.
    return add_tensor(id, type_of(kernel, view),
                      std::min(alignments[view.operand], kMost), false,
                      view.dims, strides_of(view));
  }

  /// The result, or what becomes it.
  size_t tensor_between(bool is_last) {
    if (is_last)
      return add_tensor(kY, call.result);
    return add_tensor(next_id++, kFloat, sizeof(float), true, call.result.dims,
                      strides_of(call.result));
  }

  /// It has one element in all dimensions but that of the channels.
  size_t add_bias() {
    tinh_view_t bias = call.bias;
    for (uint32_t d = 0; d < bias.rank; ++d)
      bias.dims[d] = d == 1 ? bias.dims[d] : 1;
    return add_tensor(kBias, bias);
  }

  void add_convolution(size_t y) {
    Object convolution(api, kConvolution);
    int64_t rank = call.left.rank - 2;
    auto size = static_cast<size_t>(rank);
    convolution.set(kConvolutionCompType, kDataType, kFloat);
    convolution.set(kConvolutionMode, kConvolutionModeType, kCrossCorrelation);
    convolution.set(kConvolutionSpatialDims, kInt64Type, rank);
    convolution.set(kConvolutionPrePaddings, kInt64Type, call.low, size);
    convolution.set(kConvolutionPostPaddings, kInt64Type, call.high, size);
    convolution.set(kConvolutionStrides, kInt64Type, call.strides, size);
    convolution.set(kConvolutionDilations, kInt64Type, call.dilations, size);
    convolution.finalize("a convolution");
    size_t x = add_tensor(kX, call.left), w = add_tensor(kW, call.right);
    Object &operation = operations.emplace_back(api, kConvolutionForward);
    operation.set(kForwardConvolution, convolution);
    operation.set(kForwardX, tensors[x]);
    operation.set(kForwardW, tensors[w]);
    operation.set(kForwardY, tensors[y]);
    operation.set(kForwardAlpha, kFloatType, 1.0f);
    operation.set(kForwardBeta, kFloatType, 0.0f);
    operation.finalize("a convolution's operation");
    parts.push_back(std::move(convolution));
  }

  void add_pointwise(int mode, size_t x, Id added, size_t y) {
    Object pointwise(api, kPointwise);
    pointwise.set(kPointwiseMode, kPointwiseModeType, mode);
    pointwise.set(kPointwisePrecision, kDataType, kFloat);
    pointwise.finalize("what follows a convolution");
    size_t other = 0;
    if (mode == kAdd)
      other = added == kBias ? add_bias() : add_tensor(added, call.residual);
    Object &operation = operations.emplace_back(api, kOperationPointwise);
    operation.set(kPointwiseDescriptor, pointwise);
    operation.set(kPointwiseX, tensors[x]);
    if (mode == kAdd)
      operation.set(kPointwiseB, tensors[other]);
    operation.set(kPointwiseY, tensors[y]);
    operation.finalize("the operation of what follows a convolution");
    parts.push_back(std::move(pointwise));
  }

  const Functions &api;
  const tinh_kernel_desc_t &kernel;
  const tinh_library_call_t &call;
  const Alignments &alignments;
  int64_t next_id = kBetween;
  std::vector<Object> tensors, operations, parts;
};

/// Finds a plan for a graph.
class PlanFinder {
public:
  PlanFinder(const Functions &api, Handle handle, const Object &graph,
             bool rounds)
      : api(api), handle(handle), graph(graph), rounds(rounds) {}

  /// And its workspace.
  Object find(uint64_t &workspace_size) const {
    for (int mode : {kModeA, kFallbackMode})
      for (Object &config : configs(mode)) {
        if (!is_fine(config))
          continue;
        Object plan(api, kExecutionPlan);
        if (!finalize(plan, config))
          continue;
        int64_t size = 0;
        plan.get(kPlanWorkspaceSize, kInt64Type, &size, 1);
        if (size < 0 || static_cast<uint64_t>(size) > kMostWorkspace)
          continue;
        workspace_size = static_cast<uint64_t>(size);
        return plan;
      }
    throw Error(TINH_DEVICE_ERROR, "cuDNN has no engine for it");
  }

private:
  std::vector<Object> configs(int mode) const {
    constexpr int64_t kEnough = 16;
    Object heuristic(api, kHeuristic);
    std::vector<Object> found;
    heuristic.set(kHeuristicGraph, graph);
    heuristic.set(kHeuristicMode, kHeuristicModeType, mode);
    if (api.cudnnBackendFinalize(heuristic.get()) != kSuccess)
      return found; // It knows no graph like this.
    std::vector<Descriptor> handles;
    for (int64_t i = 0; i < kEnough; ++i)
      handles.push_back(found.emplace_back(api, kEngineConfig).get());
    int64_t count = heuristic.get(kHeuristicResults, kDescriptorType,
                                  handles.data(), kEnough);
    while (static_cast<int64_t>(found.size()) > count)
      found.pop_back();
    return found;
  }

  bool is_fine(const Object &config) const {
    Object engine(api, kEngine);
    Descriptor of_config = engine.get();
    config.get(kConfigEngine, kDescriptorType, &of_config, 1);
    int notes[kNumNotes];
    int64_t count =
        engine.get(kEngineNumericalNotes, kNumericalNoteType, notes, kNumNotes);
    return std::none_of(notes, notes + count, [&](int note) {
      return note == kNoteNondeterministic || note == kNoteReducedPrecision ||
             note == kNoteFft ||
             (!rounds &&
              (note == kNoteDownConverts || note == kNoteTensorCore));
    });
  }

  /// False if the engine does not take the graph after all.
  bool finalize(Object &plan, const Object &config) const {
    plan.set(kPlanHandle, kHandleType, handle);
    plan.set(kPlanConfig, config);
    return api.cudnnBackendFinalize(plan.get()) == kSuccess;
  }

  const Functions &api;
  const Handle handle;
  const Object &graph;
  const bool rounds; ///< Tensor cores may be used, whatever they round.
};

/// The library lets one thread at a time use a handle, for one stream.
struct SharedHandle {
  Handle handle = nullptr;
  std::mutex mutex;
};

class ConvolutionPlan : public LibraryPlan {
public:
  ConvolutionPlan(const Functions &api, SharedHandle &shared,
                  const tinh_kernel_desc_t &kernel,
                  const Alignments &alignments)
      : api(api), shared(shared), call(*kernel.library),
        maker(api, kernel, alignments), graph(maker.make(shared.handle)),
        plan(PlanFinder(api, shared.handle, graph, rounds(kernel))
                 .find(workspace_size)) {}

  void execute(void *const *buffers, CUdeviceptr workspace,
               CUstream stream) const override {
    std::vector<int64_t> ids;
    std::vector<void *> addresses;
    auto add = [&](Id id, const tinh_view_t &view) {
      if (!is_there(view))
        return;
      ids.push_back(id);
      addresses.push_back(buffers[view.operand]);
    };
    add(kX, call.left);
    add(kW, call.right);
    add(kY, call.result);
    add(kBias, call.bias);
    add(kResidual, call.residual);
    Object pack(api, kVariantPack);
    pack.set(kPackUniqueIds, kInt64Type, ids.data(), ids.size());
    pack.set(kPackPointers, kPointerType, addresses.data(), addresses.size());
    pack.set(kPackWorkspace, kPointerType, reinterpret_cast<void *>(workspace));
    pack.finalize("the addresses of a convolution");
    std::lock_guard lock(shared.mutex);
    api.check(api.cudnnSetStream(shared.handle, stream), "cudnnSetStream");
    Status status =
        api.cudnnBackendExecute(shared.handle, plan.get(), pack.get());
    api.cudnnSetStream(shared.handle, nullptr); // The handle may outlive it.
    api.check(status, "cudnnBackendExecute");
  }

private:
  /// Products of f16 and bf16 are exact in tensor cores.
  static bool rounds(const tinh_kernel_desc_t &kernel) {
    return kernel.library->allow_tf32 ||
           type_of(kernel, kernel.library->left) != kFloat;
  }

  const Functions &api;
  SharedHandle &shared;
  const tinh_library_call_t &call;
  GraphMaker maker; ///< Has what the graph is made of.
  Object graph, plan;
};

class Cudnn : public Library {
public:
  explicit Cudnn(const std::string &file) : api(file) {
    api.check(api.cudnnCreate(&shared.handle), "cudnnCreate");
  }
  ~Cudnn() override { api.cudnnDestroy(shared.handle); }

  std::string name() const override {
    return "cuDNN " + version_text(api.cudnnGetVersion());
  }

  std::unique_ptr<LibraryPlan> plan(const tinh_kernel_desc_t &kernel,
                                    const Alignments &alignments) override {
    std::lock_guard lock(shared.mutex);
    return std::make_unique<ConvolutionPlan>(api, shared, kernel, alignments);
  }

private:
  const Functions api;
  SharedHandle shared;
};

} // namespace
} // namespace tinh::runtime::cuda::dnn

namespace tinh::runtime::cuda {

std::shared_ptr<Library> load_cudnn(const std::string &file) {
  return std::make_shared<dnn::Cudnn>(file);
}

} // namespace tinh::runtime::cuda
