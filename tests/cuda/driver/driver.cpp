//===- driver.cpp - The state of the fake driver ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace tinh::fake {

static Settings environmentSettings() {
  const char *text = std::getenv("TINH_FAKE_CUDA");
  return parseSettings(text ? text : "");
}

State::State() : gpu(environmentSettings()) {}

State &State::get() {
  static State driver;
  return driver;
}

/// The end of the process.
State::~State() {
  if (!gpu.settings.log.empty())
    std::ofstream(gpu.settings.log) << gpu.log.all() << describeLeaks();
}

std::string State::describeLeaks() const {
  std::string text;
  auto add = [&](const char *what, size_t count) {
    if (count)
      text += "leak " + std::to_string(count) + " " + what + "\n";
  };
  add("allocations of device memory", gpu.memory.count(MemoryKind::Device));
  add("allocations of host memory", gpu.memory.count(MemoryKind::Host));
  add("contexts", retained);
  add("modules", modules.size());
  add("streams", streams.size());
  add("events", events.size());
  add("graphs", graphs.size());
  add("executable graphs", execs.size());
  return text;
}

static bool mustFail(const State &driver, const char *function, uint64_t number,
                     CUresult &code) {
  for (const Failure &failure : driver.gpu.settings.failures)
    if (failure.function == function && failure.number == number) {
      code = failure.code;
      return true;
    }
  return false;
}

/// What is given back is given back, even if nothing else works any more.
static bool givesBack(const char *function) {
  for (const char *part : {"Destroy", "Free", "Unload", "Release", "Pop"})
    if (std::strstr(function, part))
      return true;
  return false;
}

static CUresult perform(State &driver, const char *function, Needs needs,
                        const std::function<CUresult(State &, Words &)> &body,
                        Words &words) {
  if (needs == Needs::Context && !State::hasContext()) {
    driver.gpu.log.misuse(std::string(function) + " without a context");
    return kInvalidContext;
  }
  if (isCapturing(driver) && forbiddenInCapture(function)) {
    driver.gpu.log.misuse(std::string(function) +
                          " while a stream is captured");
    return kCaptureUnsupported;
  }
  bool failed = driver.gpu.failure != 0 && needs == Needs::Context;
  if (failed && !givesBack(function))
    return driver.gpu.failure;
  CUresult result = body(driver, words);
  // What went wrong before, or in what this call waited for.
  if (needs == Needs::Context && driver.gpu.failure != 0)
    return driver.gpu.failure;
  return result;
}

CUresult call(const char *function, Needs needs,
              const std::function<CUresult(State &, Words &)> &body) {
  State &driver = State::get();
  std::lock_guard lock(driver.mutex);
  Words words;
  CUresult result = kSuccess;
  uint64_t number = driver.gpu.log.count(function);
  if (!mustFail(driver, function, number, result))
    result = perform(driver, function, needs, body, words);
  driver.gpu.log.add(function + words.str() + " -> " + std::to_string(result));
  return result;
}

Place placeOf(const State &driver, uint64_t address) {
  Place place{reinterpret_cast<char *>(address), MemoryKind::Host};
  driver.gpu.memory.find(place.address, place.kind);
  return place;
}

StreamObject *findStream(State &driver, CUstream stream) {
  if (!stream)
    return &driver.defaultStream;
  return driver.find(driver.streams, stream, "stream");
}

CUresult enqueue(State &driver, CUstream stream, Operation operation) {
  StreamObject *object = findStream(driver, stream);
  if (!object)
    return kInvalidHandle;
  if (std::string problem = driver.gpu.check(operation); !problem.empty()) {
    driver.gpu.log.misuse(problem);
    return kInvalidValue;
  }
  if (object->capture) {
    std::vector<Operation> &captured = object->capture->operations;
    if (!captured.empty())
      operation.after = {captured.size() - 1};
    captured.push_back(std::move(operation));
    return kSuccess;
  }
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  object->last = driver.gpu.queue(
      object->queue,
      std::make_shared<const std::vector<Operation>>(std::move(operations)));
  return kSuccess;
}

} // namespace tinh::fake

using namespace tinh::fake;

// For tests in the same process.

/// New settings; the log and the numbers of calls begin anew.
TINH_DRIVER void tinh_fake_cuda_configure(const char *settings) {
  State &driver = State::get();
  std::lock_guard lock(driver.mutex);
  driver.gpu.configure(parseSettings(settings));
}

/// The log, until the next call of this function.
TINH_DRIVER const char *tinh_fake_cuda_log() {
  static std::string text;
  State &driver = State::get();
  std::lock_guard lock(driver.mutex);
  text = driver.gpu.log.all();
  return text.c_str();
}

/// What is still there; the same.
TINH_DRIVER const char *tinh_fake_cuda_leaks() {
  static std::string text;
  State &driver = State::get();
  std::lock_guard lock(driver.mutex);
  text = driver.describeLeaks();
  return text.c_str();
}
