//===- fake_cudnn.cpp - A cuDNN that computes on the host -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the library's graphs that the runtime makes: a convolution,
// additions and a ReLU. Descriptors are lists of attributes; what they mean is
// found out when a plan is made of them. There are two engines, of which the
// first one rounds to tf32, as tensor cores do; a graph that does not fit has
// none.
//
//===----------------------------------------------------------------------===//
#include "runtime/src/cuda/libraries/cudnn.h"

#include "compute.h"
#include "fake_library.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace tinh::runtime::cuda::dnn {
#define TINH_DECLARE(result, name, parameters)                                 \
  TINH_LIBRARY result name parameters;
TINH_CUDNN_FUNCTIONS(TINH_DECLARE)
#undef TINH_DECLARE

struct DnnHandleObject {
  CUstream stream = nullptr;
};
} // namespace tinh::runtime::cuda::dnn

using namespace tinh::runtime::cuda::dnn;
namespace fake = tinh::fake;

namespace {

constexpr int64_t kWorkspace = 4096;

size_t sizeOfType(int type) {
  switch (type) {
  case kInt64Type:
  case kHandleType:
  case kPointerType:
  case kDescriptorType:
    return 8;
  case kBooleanType:
    return 1;
  }
  return 4;
}

struct Plan;

struct Object {
  struct Values {
    int type;
    int64_t count;
    std::vector<char> bytes;
  };
  int kind;
  bool final = false;
  std::map<int, Values> attributes;
  int engine = 0;                   // Of engines and their configurations.
  std::shared_ptr<const Plan> plan; // Of graphs and what is made of them.

  template <typename Value> std::vector<Value> list(int attribute) const {
    auto found = attributes.find(attribute);
    if (found == attributes.end())
      return {};
    std::vector<Value> values(found->second.bytes.size() / sizeof(Value));
    std::memcpy(values.data(), found->second.bytes.data(),
                values.size() * sizeof(Value));
    return values;
  }
  template <typename Value> Value one(int attribute, Value otherwise) const {
    std::vector<Value> values = list<Value>(attribute);
    return values.size() == 1 ? values[0] : otherwise;
  }
  const Object *object(int attribute) const {
    return static_cast<Object *>(one<Descriptor>(attribute, nullptr));
  }
};

/// A tensor, as it was when its descriptor was finalized.
struct Tensor {
  int64_t id = -1, alignment = 1;
  fake::Type type = fake::Type::F32;
  bool isVirtual = false;
  std::vector<int64_t> dims, strides;

  Tensor() = default;
  explicit Tensor(const Object &object) {
    id = object.one<int64_t>(kTensorUniqueId, -1);
    alignment = object.one<int64_t>(kTensorAlignment, 1);
    int dataType = object.one<int>(kTensorDataType, -1);
    type = dataType == kHalf       ? fake::Type::F16
           : dataType == kBfloat16 ? fake::Type::Bf16
                                   : fake::Type::F32;
    isVirtual = object.one<uint8_t>(kTensorIsVirtual, 0) != 0;
    dims = object.list<int64_t>(kTensorDimensions);
    strides = object.list<int64_t>(kTensorStrides);
  }

  /// Indices along dimensions of one element are all 0.
  int64_t at(const std::vector<int64_t> &index) const {
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      offset += dims[d] == 1 ? 0 : index[d] * strides[d];
    return offset;
  }
  fake::Range range(void *base) const {
    int64_t last = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      last += (dims[d] - 1) * strides[d];
    return {base, size_t(last + 1) * fake::sizeOf(type)};
  }
  /// Channels first or last, without gaps: the layouts that there are engines
  /// for.
  bool isDense() const {
    auto follows = [&](std::vector<size_t> order) {
      int64_t stride = 1;
      for (size_t i = order.size(); i-- > 0;) {
        if (strides[order[i]] != stride)
          return false;
        stride *= dims[order[i]];
      }
      return true;
    };
    std::vector<size_t> first, last{0};
    for (size_t d = 0; d < dims.size(); ++d)
      first.push_back(d);
    for (size_t d = 2; d < dims.size(); ++d)
      last.push_back(d);
    last.push_back(1);
    return follows(first) || follows(last);
  }
};

/// What a graph computes.
struct Plan {
  Tensor x, w, y;
  std::vector<int64_t> low, high, strides, dilations;
  struct Step {
    int mode;
    std::optional<Tensor> added;
  };
  std::vector<Step> steps;

  bool read(const Object &graph);
  bool readConvolution(const Object &operation);
  bool isSupported() const;
  std::string name() const;
  void run(const std::map<int64_t, void *> &memory, bool rounds) const;

private:
  double sum(const std::vector<int64_t> &at, const void *image,
             const void *filter, bool rounds) const;
};

bool Plan::readConvolution(const Object &operation) {
  const Object *convolution = operation.object(kForwardConvolution);
  if (!convolution || !convolution->final ||
      operation.one<float>(kForwardAlpha, 0) != 1 ||
      operation.one<float>(kForwardBeta, 1) != 0 ||
      convolution->one<int>(kConvolutionCompType, -1) != kFloat ||
      convolution->one<int>(kConvolutionMode, -1) != kCrossCorrelation)
    return false;
  x = Tensor(*operation.object(kForwardX));
  w = Tensor(*operation.object(kForwardW));
  y = Tensor(*operation.object(kForwardY));
  low = convolution->list<int64_t>(kConvolutionPrePaddings);
  high = convolution->list<int64_t>(kConvolutionPostPaddings);
  strides = convolution->list<int64_t>(kConvolutionStrides);
  dilations = convolution->list<int64_t>(kConvolutionDilations);
  auto rank = convolution->one<int64_t>(kConvolutionSpatialDims, 0);
  for (const auto *list : {&low, &high, &strides, &dilations})
    if (int64_t(list->size()) != rank)
      return false;
  return int64_t(x.dims.size()) == rank + 2;
}

/// Each operation computes from what the one before has.
bool Plan::read(const Object &graph) {
  for (Descriptor handle : graph.list<Descriptor>(kGraphOperations)) {
    const Object &operation = *static_cast<Object *>(handle);
    if (!operation.final)
      return false;
    if (operation.kind == kConvolutionForward) {
      if (!readConvolution(operation))
        return false;
      continue;
    }
    const Object *pointwise = operation.object(kPointwiseDescriptor);
    if (operation.kind != kOperationPointwise || !pointwise ||
        Tensor(*operation.object(kPointwiseX)).id != y.id || !y.isVirtual)
      return false;
    Step step{pointwise->one<int>(kPointwiseMode, -1), {}};
    if (const Object *added = operation.object(kPointwiseB))
      step.added = Tensor(*added);
    if (step.mode == kAdd ? !step.added : step.mode != kReluForward)
      return false;
    steps.push_back(step);
    y = Tensor(*operation.object(kPointwiseY));
  }
  return !y.isVirtual && isSupported();
}

bool Plan::isSupported() const {
  if (x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1] ||
      x.dims[1] % w.dims[1] != 0 || !x.isDense() || !w.isDense() ||
      !y.isDense() || x.type != w.type)
    return false;
  for (size_t d = 0; d < low.size(); ++d) {
    int64_t room = x.dims[d + 2] + low[d] + high[d] -
                   (w.dims[d + 2] - 1) * dilations[d] - 1;
    if (room < 0 || room / strides[d] + 1 != y.dims[d + 2])
      return false;
  }
  return true;
}

std::string Plan::name() const {
  std::ostringstream text;
  text << "convolution";
  for (int64_t dim : y.dims)
    text << " " << dim;
  text << " groups " << x.dims[1] / w.dims[1];
  for (const Step &step : steps)
    text << (step.mode == kReluForward                    ? " relu"
             : step.added->dims[0] == 1 && y.dims[0] != 1 ? " bias"
                                                          : " add");
  return text.str();
}

/// Steps to the next index; false behind the last one.
bool advance(std::vector<int64_t> &index, const std::vector<int64_t> &dims) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < dims[d])
      return true;
    index[d] = 0;
  }
  return false;
}

double Plan::sum(const std::vector<int64_t> &at, const void *image,
                 const void *filter, bool rounds) const {
  auto value = [&](const Tensor &tensor, const void *memory, int64_t offset) {
    double loaded = fake::load(tensor.type, memory, offset);
    return rounds ? fake::toTf32(loaded) : loaded;
  };
  int64_t outputs = w.dims[0] / (x.dims[1] / w.dims[1]);
  std::vector<int64_t> tap(w.dims.size()), of = w.dims, in = at;
  tap[0] = at[1];
  of[0] = at[1] + 1; // That channel alone.
  double sum = 0;
  do {
    if (tap[0] != at[1])
      break;
    in[1] = at[1] / outputs * w.dims[1] + tap[1];
    bool inside = true;
    for (size_t d = 2; d < in.size(); ++d) {
      in[d] = at[d] * strides[d - 2] + tap[d] * dilations[d - 2] - low[d - 2];
      inside &= in[d] >= 0 && in[d] < x.dims[d];
    }
    if (inside)
      sum += value(x, image, x.at(in)) * value(w, filter, w.at(tap));
  } while (advance(tap, of));
  return sum;
}

void Plan::run(const std::map<int64_t, void *> &memory, bool rounds) const {
  std::vector<int64_t> at(y.dims.size(), 0);
  do {
    double result = sum(at, memory.at(x.id), memory.at(w.id), rounds);
    for (const Step &step : steps) {
      if (step.mode == kAdd)
        result += fake::load(step.added->type, memory.at(step.added->id),
                             step.added->at(at));
      else
        result = std::max(result, 0.0);
    }
    fake::store(y.type, memory.at(y.id), y.at(at), result);
  } while (advance(at, y.dims));
}

/// All attributes of an object are there when it is finalized.
Status finalizeObject(Object &object) {
  object.final = true;
  if (object.kind == kOperationGraph) {
    auto plan = std::make_shared<Plan>();
    bool fits = plan->read(object);
    object.plan = fits ? plan : nullptr;
  } else if (object.kind == kHeuristic) {
    const Object *graph = object.object(kHeuristicGraph);
    object.plan = graph && graph->final ? graph->plan : nullptr;
    return object.plan ? kSuccess : kNotSupported;
  } else if (object.kind == kExecutionPlan) {
    const Object *config = object.object(kPlanConfig);
    if (!config || !object.one<Handle>(kPlanHandle, nullptr))
      return kBadParam;
    object.plan = config->plan;
    object.engine = config->engine;
  } else if (object.kind == kTensor) {
    Tensor tensor(object);
    bool valid = tensor.id >= 0 && !tensor.dims.empty() &&
                 tensor.dims.size() == tensor.strides.size();
    return valid ? kSuccess : kBadParam;
  }
  return kSuccess;
}

} // namespace

#define INJECT(function)                                                       \
  if (int status = fake::injectedStatus(#function))                            \
  return status

size_t tinh::runtime::cuda::dnn::cudnnGetVersion() { return 91301; }

const char *tinh::runtime::cuda::dnn::cudnnGetErrorString(Status status) {
  switch (status) {
  case kBadParam:
    return "CUDNN_STATUS_BAD_PARAM";
  case kNotSupported:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case kExecutionFailed:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_STATUS_OF_THE_TEST";
}

Status tinh::runtime::cuda::dnn::cudnnCreate(Handle *handle) {
  INJECT(cudnnCreate);
  *handle = new DnnHandleObject;
  return kSuccess;
}

Status tinh::runtime::cuda::dnn::cudnnDestroy(Handle handle) {
  delete handle;
  return kSuccess;
}

Status tinh::runtime::cuda::dnn::cudnnSetStream(Handle handle,
                                                CUstream stream) {
  handle->stream = stream;
  return kSuccess;
}

Status
tinh::runtime::cuda::dnn::cudnnBackendCreateDescriptor(int kind,
                                                       Descriptor *result) {
  INJECT(cudnnBackendCreateDescriptor);
  auto *object = new Object;
  object->kind = kind;
  *result = object;
  return kSuccess;
}

Status
tinh::runtime::cuda::dnn::cudnnBackendDestroyDescriptor(Descriptor handle) {
  delete static_cast<Object *>(handle);
  return kSuccess;
}

Status tinh::runtime::cuda::dnn::cudnnBackendFinalize(Descriptor handle) {
  INJECT(cudnnBackendFinalize);
  auto &object = *static_cast<Object *>(handle);
  return object.final ? kBadParam : finalizeObject(object);
}

Status tinh::runtime::cuda::dnn::cudnnBackendSetAttribute(Descriptor handle,
                                                          int attribute,
                                                          int type,
                                                          int64_t count,
                                                          const void *values) {
  auto &object = *static_cast<Object *>(handle);
  if (object.final || count < 1)
    return kBadParam;
  const char *bytes = static_cast<const char *>(values);
  object.attributes[attribute] = {
      type, count, {bytes, bytes + size_t(count) * sizeOfType(type)}};
  return kSuccess;
}

/// Engines 0 and 1 of a graph; of the second one nothing is to be said.
Status tinh::runtime::cuda::dnn::cudnnBackendGetAttribute(Descriptor handle,
                                                          int attribute, int,
                                                          int64_t wanted,
                                                          int64_t *count,
                                                          void *values) {
  INJECT(cudnnBackendGetAttribute);
  auto &object = *static_cast<Object *>(handle);
  auto *objects = static_cast<Object **>(values);
  switch (attribute) {
  case kHeuristicResults:
    *count = 2;
    for (int64_t i = 0; i < std::min<int64_t>(2, wanted); ++i) {
      objects[i]->plan = object.plan;
      objects[i]->engine = int(i);
    }
    return kSuccess;
  case kConfigEngine:
    objects[0]->engine = object.engine;
    *count = 1;
    return kSuccess;
  case kEngineNumericalNotes:
    *count = object.engine == 0 ? 1 : 0;
    if (*count)
      *static_cast<int *>(values) = kNoteTensorCore;
    return kSuccess;
  case kPlanWorkspaceSize:
    *static_cast<int64_t *>(values) = kWorkspace;
    *count = 1;
    return kSuccess;
  }
  return kBadParam;
}

Status tinh::runtime::cuda::dnn::cudnnBackendExecute(Handle handle,
                                                     Descriptor planHandle,
                                                     Descriptor packHandle) {
  INJECT(cudnnBackendExecute);
  auto &object = *static_cast<Object *>(planHandle);
  auto &pack = *static_cast<Object *>(packHandle);
  std::vector<int64_t> ids = pack.list<int64_t>(kPackUniqueIds);
  std::vector<void *> pointers = pack.list<void *>(kPackPointers);
  void *workspace = pack.one<void *>(kPackWorkspace, nullptr);
  if (!object.final || !pack.final || !workspace ||
      ids.size() != pointers.size())
    return kBadParam;
  std::shared_ptr<const Plan> plan = object.plan;
  std::map<int64_t, void *> memory;
  for (size_t i = 0; i < ids.size(); ++i)
    memory[ids[i]] = pointers[i];
  std::vector<Tensor> tensors{plan->x, plan->w, plan->y};
  for (const Plan::Step &step : plan->steps)
    if (step.added)
      tensors.push_back(*step.added);
  std::vector<fake::Range> touched{{workspace, size_t(kWorkspace)}};
  for (const Tensor &tensor : tensors) {
    if (!memory.count(tensor.id) ||
        reinterpret_cast<uintptr_t>(memory[tensor.id]) %
            uint64_t(tensor.alignment))
      return kBadParam;
    touched.push_back(tensor.range(memory[tensor.id]));
    // Nothing says when an engine reads what it adds.
    if (tensor.id != plan->y.id && memory[tensor.id] == memory[plan->y.id])
      return kBadParam;
  }
  bool rounds = object.engine == 0 && plan->x.type == fake::Type::F32;
  auto work = [plan, memory, rounds, workspace] {
    std::memset(workspace, 0x5a, size_t(kWorkspace)); // It has what it wants.
    plan->run(memory, rounds);
  };
  return fake::compute(handle->stream, plan->name(), touched, work)
             ? kExecutionFailed
             : kSuccess;
}
