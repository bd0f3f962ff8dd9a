//===- fake_nccl.cpp - An NCCL of ranks in one process ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks are threads of this process, on the fake GPU. As NCCL that does not
// block may, a call is in progress until all ranks have made it; then the
// collective is queued on all their streams, or in graphs, and computes when
// all have come to it. What the real one does not check, and would compute
// wrong or hang for, ends here with a line in ncclGetLastError: other calls,
// counts or types on one rank; another stream; a call while another one is in
// progress. Memory that is freed or left registered ends the process.
//
// TINH_FAKE_NCCL_VERSION is the version it has.
//
//===----------------------------------------------------------------------===//
#include "runtime/nccl/nccl.h"
#include "tests/cuda/driver/compute.h"
#include "tests/cuda/driver/fake_library.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <thread>
#include <vector>

namespace tinh::nccl {
#define TINH_DECLARE(result, name, parameters)                                 \
  TINH_LIBRARY result name parameters;
TINH_NCCL_FUNCTIONS(TINH_DECLARE)
#undef TINH_DECLARE
// Those of the fake driver.
using runtime::cuda::CUresult;
extern "C" {
CUresult cuPointerGetAttributes(unsigned, int *, void **,
                                runtime::cuda::CUdeviceptr);
}

namespace {

struct Call {
  std::string function;
  size_t count;
  int type, operation, root;
  const void *input;
  void *output;
  CUstream stream;

  bool same(const Call &other) const {
    return function == other.function && count == other.count &&
           type == other.type && operation == other.operation &&
           root == other.root;
  }
};

struct Group {
  std::vector<Comm> ranks; ///< Null: has not come.
  std::vector<std::unique_ptr<Call>> calls;
};

std::mutex mutex;
std::map<std::string, std::shared_ptr<Group>> groups;
int num_ids = 0;

} // namespace

struct CommObject {
  std::shared_ptr<Group> group;
  size_t rank;
  Result state = kInProgress;
  std::string error;
  CUstream stream = nullptr; ///< Of the first call that is in no graph.
  std::map<void *, size_t> registered;
  std::shared_ptr<std::atomic<bool>> aborted =
      std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<int> in_graphs = std::make_shared<int>();
};

namespace {

/// Sums are rounded after each addition.
struct Bfloat16 {
  Bfloat16() = default;
  explicit Bfloat16(float value) {
    auto whole = std::bit_cast<uint32_t>(value);
    bool isNan = value != value; // Rounding would make it an infinity.
    whole = isNan ? whole | 0x400000 : whole + 0x7fff + (whole >> 16 & 1);
    bits = static_cast<uint16_t>(whole >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

  uint16_t bits;
};

size_t size_of(int type) {
  switch (type) {
  case kUint8:
    return 1;
  case kFloat16:
  case kBfloat16:
    return 2;
  case kInt32:
  case kFloat32:
    return 4;
  default:
    return 8;
  }
}

template <typename T>
void reduce(const std::vector<std::vector<char>> &inputs, size_t first,
            size_t count, int operation, void *output) {
  for (size_t i = 0; i < count; ++i) {
    auto at = [&](size_t rank) {
      T value;
      std::memcpy(&value, inputs[rank].data() + (first + i) * sizeof(T),
                  sizeof(T));
      return value;
    };
    T result = at(0);
    for (size_t rank = 1; rank < inputs.size(); ++rank)
      result =
          operation == kMax ? std::max(result, at(rank)) : T(result + at(rank));
    if (operation == kAvg)
      result = T(result / T(static_cast<float>(inputs.size())));
    static_cast<T *>(output)[i] = result;
  }
}

void reduce(int type, const std::vector<std::vector<char>> &inputs,
            size_t first, const Call &call) {
  auto as = [&]<typename T>(T) {
    reduce<T>(inputs, first, call.count, call.operation, call.output);
  };
  switch (type) {
  case kInt32:
    return as(int32_t());
  case kInt64:
    return as(int64_t());
  case kFloat16:
    return as(_Float16());
  case kBfloat16:
    return as(Bfloat16());
  case kFloat32:
    return as(float());
  default:
    return as(double());
  }
}

size_t input_size(const Call &call, size_t ranks) {
  return call.count * size_of(call.type) *
         (call.function == "ncclReduceScatter" ? ranks : 1);
}

size_t output_size(const Call &call, size_t ranks) {
  return call.count * size_of(call.type) *
         (call.function == "ncclAllGather" ? ranks : 1);
}

void compute_all(const std::vector<Call> &calls) {
  std::vector<std::vector<char>> inputs;
  for (const Call &call : calls) {
    const char *input = static_cast<const char *>(call.input);
    inputs.emplace_back(input, input + input_size(call, calls.size()));
  }
  for (size_t rank = 0; rank < calls.size(); ++rank) {
    const Call &call = calls[rank];
    char *output = static_cast<char *>(call.output);
    if (call.function == "ncclBroadcast")
      std::copy(inputs[call.root].begin(), inputs[call.root].end(), output);
    else if (call.function == "ncclAllGather")
      for (const std::vector<char> &input : inputs)
        output = std::copy(input.begin(), input.end(), output);
    else
      reduce(call.type, inputs,
             call.function == "ncclReduceScatter" ? rank * call.count : 0,
             call);
  }
}

/// Puts the collective on the streams of all ranks.
void queue(const Group &group, const std::vector<Call> &calls) {
  auto together = std::make_shared<tinh::fake::Meeting::Together>();
  together->count = calls.size();
  together->work = [calls] { compute_all(calls); };
  for (size_t rank = 0; rank < calls.size(); ++rank) {
    const Call &call = calls[rank];
    Comm comm = group.ranks[rank];
    bool inGraph = tinh::fake::isCaptured(call.stream);
    tinh::fake::meet(
        call.stream, call.function,
        {{const_cast<void *>(call.input), input_size(call, calls.size())},
         {call.output, output_size(call, calls.size())}},
        {together, comm->aborted, inGraph ? comm->in_graphs : nullptr});
  }
}

/// What the real one may not survive.
[[noreturn]] void end_process(const char *why) {
  std::fprintf(stderr, "NCCL's look-alike: %s\n", why);
  std::abort();
}

bool is_on_gpu(void *memory) {
  unsigned kind = 0;
  int attribute = runtime::cuda::kPointerMemoryType;
  void *values = &kind;
  cuPointerGetAttributes(1, &attribute, &values,
                         runtime::cuda::CUdeviceptr(memory));
  return kind == runtime::cuda::kMemoryDevice;
}

Result wrong(Comm comm, Result result, const std::string &what) {
  comm->error = what;
  return comm->state = result;
}

Result make(Comm comm, Call call) {
  std::lock_guard lock(mutex);
  if (int status = fake::injectedStatus(call.function))
    return wrong(comm, status, "as the test wants it");
  if (comm->state != kSuccess)
    return wrong(comm, kInvalidUsage, "a call is still in progress");
  if (!fake::isCaptured(call.stream)) {
    if (comm->stream && comm->stream != call.stream)
      return wrong(comm, kInvalidUsage, "a collective on another stream");
    comm->stream = call.stream;
  }
  Group &group = *comm->group;
  for (const auto &other : group.calls)
    if (other && !other->same(call))
      return wrong(comm, kInvalidUsage,
                   call.function + " does not fit " + other->function +
                       " of another rank");
  group.calls[comm->rank] = std::make_unique<Call>(call);
  comm->state = kInProgress;
  std::vector<Call> calls;
  for (auto &each : group.calls)
    if (each)
      calls.push_back(*each);
  if (calls.size() < group.calls.size())
    return kInProgress;
  queue(group, calls);
  for (auto &each : group.calls)
    each.reset();
  for (Comm each : group.ranks)
    each->state = kSuccess;
  return kSuccess;
}

} // namespace

Result ncclGetVersion(int *version) {
  const char *wanted = std::getenv("TINH_FAKE_NCCL_VERSION");
  *version = wanted ? std::stoi(wanted) : 22809;
  return kSuccess;
}

Result ncclGetUniqueId(UniqueId *id) {
  std::lock_guard lock(mutex);
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "fake id %d", ++num_ids);
  return kSuccess;
}

const char *ncclGetErrorString(Result result) {
  return result == kInvalidUsage  ? "invalid usage"
         : result == kRemoteError ? "remote process exited or there was a "
                                    "network error"
                                  : "unhandled error";
}

const char *ncclGetLastError(Comm comm) {
  thread_local std::string error;
  std::lock_guard lock(mutex);
  error = comm ? comm->error : "";
  return error.c_str();
}

Result ncclCommInitRankConfig(Comm *comm, int num_ranks, UniqueId id, int rank,
                              Config *config) {
  std::lock_guard lock(mutex);
  if (config->magic != 0xcafebeef || config->size != sizeof(Config) ||
      config->blocking != 0 || rank < 0 || rank >= num_ranks)
    return kInvalidArgument;
  std::shared_ptr<Group> &group = groups[id.internal];
  if (!group) {
    group = std::make_shared<Group>();
    group->ranks.resize(num_ranks);
    group->calls.resize(num_ranks);
  }
  auto *made = new CommObject;
  made->group = group;
  made->rank = size_t(rank);
  *comm = group->ranks[rank] = made;
  if (std::count(group->ranks.begin(), group->ranks.end(), nullptr) == 0)
    for (Comm each : group->ranks)
      each->state = kSuccess;
  return (*comm)->state;
}

Result ncclCommGetAsyncError(Comm comm, Result *error) {
  std::lock_guard lock(mutex);
  *error = comm->state;
  if (int status = fake::injectedStatus("ncclCommGetAsyncError"))
    *error = wrong(comm, status, "as the test wants it");
  return kSuccess;
}

Result ncclCommFinalize(Comm comm) {
  std::lock_guard lock(mutex);
  if (!comm->registered.empty())
    end_process("memory is still registered");
  return kSuccess;
}

/// The others find out, as they do by the real one, when they wait.
static Result end(Comm comm, Result of_others) {
  // As the real one: it waits for the end of graphs that have its collectives.
  while (comm->in_graphs.use_count() > 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::lock_guard lock(mutex);
  for (Comm &each : comm->group->ranks)
    if (each == comm)
      each = nullptr;
    else if (each && of_others != kSuccess)
      wrong(each, of_others, "another rank has left");
  delete comm;
  return kSuccess;
}

Result ncclCommDestroy(Comm comm) { return end(comm, kSuccess); }
Result ncclCommAbort(Comm comm) {
  *comm->aborted = true;
  return end(comm, kRemoteError);
}

Result ncclCommRegister(Comm comm, void *data, size_t size, void **handle) {
  std::lock_guard lock(mutex);
  if (!is_on_gpu(data))
    return wrong(comm, kInvalidArgument, "that is no memory of the GPU");
  comm->registered[ *handle = data] = size;
  return kSuccess;
}

Result ncclCommDeregister(Comm comm, void *handle) {
  std::lock_guard lock(mutex);
  if (!comm->registered.erase(handle))
    return wrong(comm, kInvalidArgument, "there is no such memory");
  if (!is_on_gpu(handle))
    end_process("memory was freed before it was released");
  return kSuccess;
}

Result ncclAllReduce(const void *input, void *output, size_t count, int type,
                     int operation, Comm comm, CUstream stream) {
  return make(comm, {"ncclAllReduce", count, type, operation, 0, input, output,
                     stream});
}

Result ncclReduceScatter(const void *input, void *output, size_t count,
                         int type, int operation, Comm comm, CUstream stream) {
  return make(comm, {"ncclReduceScatter", count, type, operation, 0, input,
                     output, stream});
}

Result ncclAllGather(const void *input, void *output, size_t count, int type,
                     Comm comm, CUstream stream) {
  return make(comm,
              {"ncclAllGather", count, type, 0, 0, input, output, stream});
}

Result ncclBroadcast(const void *input, void *output, size_t count, int type,
                     int root, Comm comm, CUstream stream) {
  return make(comm,
              {"ncclBroadcast", count, type, 0, root, input, output, stream});
}

} // namespace tinh::nccl
