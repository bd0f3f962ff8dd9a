//===- driver.h - What the functions of the fake driver share ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_DRIVER_H
#define TINH_TESTS_CUDA_DRIVER_DRIVER_H

#include "image.h"
#include "runtime/src/cuda/driver/driver.h"
#include "work.h"

#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

namespace tinh::fake {

using namespace tinh::runtime::cuda;

constexpr CUresult kInvalidContext = 201, kInvalidHandle = 400,
                   kCaptureUnsupported = 900;

struct Function;

struct Module {
  std::unique_ptr<LoadedImage> image;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Function {
  std::string name;
  const emulator::Kernel *code = nullptr; // Null if nothing is to run.
  uint64_t maxDynamicShared = 48 << 10;
};

/// What a stream is given while it is captured.
struct Capture {
  std::thread::id thread;
  std::vector<Operation> operations;
};

struct StreamObject {
  std::shared_ptr<Stream> queue = std::make_shared<Stream>();
  std::shared_ptr<Work> last;
  std::optional<Capture> capture;
};

struct Event {
  std::shared_ptr<Work> recorded;
  bool timed = true;
};

struct Graph;

struct GraphNode {
  Graph *graph = nullptr;
  size_t number = 0; // Among the graph's nodes.
  size_t index = 0;  // Its operation: a child graph's last.
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<Operation> operations;
};

struct GraphExec {
  const Graph *graph = nullptr;
  std::map<const GraphNode *, size_t> indices; // Of the graph's nodes, then.
  std::shared_ptr<const std::vector<Operation>> operations;
  std::shared_ptr<Work> last; // Of this graph: one runs at a time.
};

/// All that there is, under one lock.
struct State {
  State();
  ~State();
  static State &get();

  /// The object behind a handle; null, and a line in the log, if there is none.
  template <typename Object>
  Object *find(std::map<void *, std::unique_ptr<Object>> &all, void *handle,
               const char *what);
  template <typename Object>
  Object *add(std::map<void *, std::unique_ptr<Object>> &all);
  /// Whether this thread has a current context.
  static bool hasContext();
  /// "leak …" for all that is still there.
  std::string describeLeaks() const;

  std::mutex mutex;
  Gpu gpu;
  int retained = 0;
  // Streams that it does not block are not ordered with it.
  StreamObject defaultStream;
  std::map<void *, std::unique_ptr<Module>> modules;
  std::map<void *, std::unique_ptr<StreamObject>> streams;
  std::map<void *, std::unique_ptr<Event>> events;
  std::map<void *, std::unique_ptr<Graph>> graphs;
  std::map<void *, std::unique_ptr<GraphExec>> execs;
};

template <typename Object>
Object *State::add(std::map<void *, std::unique_ptr<Object>> &all) {
  auto object = std::make_unique<Object>();
  Object *result = object.get();
  all[result] = std::move(object);
  return result;
}

template <typename Object>
Object *State::find(std::map<void *, std::unique_ptr<Object>> &all,
                    void *handle, const char *what) {
  auto found = all.find(handle);
  if (found != all.end())
    return found->second.get();
  gpu.log.misuse(std::string("there is no such ") + what);
  return nullptr;
}

/// What is written into the log of one call.
using Words = std::ostringstream;

/// Whether a call needs a context that is current.
enum class Needs { Nothing, Context };

/// Runs `body`, which gives the call's code, unless the call is to fail.
CUresult call(const char *function, Needs needs,
              const std::function<CUresult(State &, Words &)> &body);

/// Where `address` lies, as the GPU sees it: memory that is not the driver's is
/// the host's.
Place placeOf(const State &driver, uint64_t address);

/// The kernel of a launch, checked; null and a line in the log if it is wrong.
bool makeKernel(State &driver, const KernelNodeParams &parameters,
                Operation &result);

/// The stream of a handle; the default one of null.
StreamObject *findStream(State &driver, CUstream stream);

/// Whether this thread captures a stream, and whether it must not call a
/// function then.
bool isCapturing(const State &driver);
bool forbiddenInCapture(const char *function);

/// Adds an operation that is a node.
CUgraphNode append(Graph &graph, Operation operation);

/// Adds a node behind the `count` nodes of `after`, which must be different
/// ones of the same graph.
CUresult addNode(State &driver, Words &words, CUgraphNode *result,
                 CUgraph handle, const CUgraphNode *after, size_t count,
                 Operation operation);

/// Puts one operation into the queue of a stream, or into its capture.
CUresult enqueue(State &driver, CUstream stream, Operation operation);

} // namespace tinh::fake

// All that the runtime calls, with the types that it knows.
#define TINH_DECLARE(name, parameters)                                         \
  extern "C" __attribute__((                                                   \
      visibility("default"))) tinh::runtime::cuda::CUresult name parameters;
namespace tinh::runtime::cuda {
TINH_CUDA_DRIVER_FUNCTIONS(TINH_DECLARE)
} // namespace tinh::runtime::cuda
#undef TINH_DECLARE

#define TINH_DRIVER extern "C" __attribute__((visibility("default")))

#endif // TINH_TESTS_CUDA_DRIVER_DRIVER_H
