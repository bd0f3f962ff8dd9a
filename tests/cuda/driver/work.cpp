//===- work.cpp - What is queued for the fake GPU ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "work.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace tinh::fake {

void Log::clear() {
  text.clear();
  calls.clear();
}

std::string Operation::describe() const {
  switch (kind) {
  case Kind::Kernel:
    return "kernel " + kernel;
  case Kind::Copy:
    return std::string("copy ") +
           (from.kind == MemoryKind::Host ? "host" : "device") + " to " +
           (to.kind == MemoryKind::Host ? "host " : "device ") +
           std::to_string(size);
  case Kind::Fill:
    return "fill " + std::to_string(size);
  case Kind::Compute:
    return "library " + kernel;
  case Kind::Nothing:
    return "event";
  }
  __builtin_unreachable();
}

void Gpu::configure(const Settings &wanted) {
  settings = wanted;
  failure = 0;
  log.clear();
  random.seed(unsigned(settings.seed) + 1);
}

std::shared_ptr<Work>
Gpu::queue(const std::shared_ptr<Stream> &stream,
           std::shared_ptr<const std::vector<Operation>> operations,
           std::vector<std::shared_ptr<Work>> after) {
  auto work = std::make_shared<Work>();
  work->number = ++queued;
  work->left = operations->size();
  work->executed.resize(work->left);
  work->operations = std::move(operations);
  work->after = std::move(after);
  stream->push_back(work);
  if (std::find(streams.begin(), streams.end(), stream) == streams.end())
    streams.push_back(stream);
  retire();
  return work;
}

void Gpu::retire() {
  for (auto &stream : streams)
    while (!stream->empty() && stream->front()->isDone())
      stream->pop_front();
  std::erase_if(streams, [](const auto &stream) { return stream->empty(); });
}

/// What nothing orders behind something else.
std::vector<Gpu::Candidate> Gpu::findReady() const {
  std::vector<Candidate> candidates;
  for (const auto &stream : streams) {
    const std::shared_ptr<Work> &work = stream->front();
    if (!std::all_of(work->after.begin(), work->after.end(),
                     [](const auto &other) { return other->isDone(); }))
      continue;
    for (size_t i = 0; i < work->operations->size(); ++i) {
      const auto &after = (*work->operations)[i].after;
      if (!work->executed[i] &&
          std::all_of(after.begin(), after.end(),
                      [&](size_t j) { return work->executed[j]; }))
        candidates.push_back({work, i});
    }
  }
  return candidates;
}

static bool meet(const Operation &a, const Operation &b) {
  return a.meeting && b.meeting && a.meeting->together == b.meeting->together &&
         !*a.meeting->abandoned && !*b.meeting->abandoned;
}

/// What may run: of what streams do together, all or nothing.
std::vector<Gpu::Candidate> Gpu::findCandidates() const {
  const std::vector<Candidate> ready = findReady();
  std::vector<Candidate> candidates;
  for (const Candidate &one : ready) {
    auto present =
        std::count_if(ready.begin(), ready.end(), [&](const Candidate &other) {
          return meet(one.get(), other.get());
        });
    if (present == 0 || size_t(present) == one.get().meeting->together->count)
      candidates.push_back(one);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::pair(a.work->number, a.operation) <
                     std::pair(b.work->number, b.operation);
            });
  return candidates;
}

void Gpu::Candidate::finish() {
  work->executed[operation] = true;
  if (--work->left == 0)
    work->end = std::chrono::steady_clock::now();
}

bool Gpu::advance() {
  std::vector<Candidate> candidates = findCandidates();
  if (candidates.empty())
    return false;
  size_t choice = 0;
  if (settings.schedule == Schedule::Newest)
    choice = candidates.size() - 1;
  else if (settings.schedule == Schedule::Random)
    choice = random() % candidates.size();
  Candidate &chosen = candidates[choice];
  const Operation operation = chosen.get();
  bool isAbandoned = operation.meeting && *operation.meeting->abandoned;
  if (failure == 0 && !isAbandoned)
    execute(operation);
  for (size_t i = 0; i < candidates.size(); ++i)
    if (i == choice || meet(operation, candidates[i].get()))
      candidates[i].finish();
  retire();
  return true;
}

bool Gpu::isMeeting() const {
  std::vector<Candidate> ready = findReady();
  return std::any_of(ready.begin(), ready.end(), [](const Candidate &one) {
    return one.get().meeting.has_value();
  });
}

bool Gpu::finish(const std::shared_ptr<Work> &wanted, std::mutex &held) {
  std::shared_ptr<Work> work = wanted; // The stream may get another last one.
  while (!work->isDone()) {
    if (advance())
      continue;
    if (!isMeeting()) {
      log.misuse("the host waits for work that can never run");
      return false;
    }
    held.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    held.lock();
  }
  return true;
}

void Gpu::finishAll() {
  while (advance())
    ;
  if (!isIdle() && !isMeeting())
    log.misuse("work waits for other work in a circle");
}

bool Gpu::isIdle() const { return streams.empty(); }

std::string Gpu::checkKernel(const Operation &operation) const {
  const emulator::Kernel *code = operation.launch.code;
  if (!code)
    return {};
  for (uint32_t i = 0; i < code->numParameters; ++i) {
    // A tensor without elements may have null, or lie at the end of what is
    // allocated; an access there fails.
    auto *address = reinterpret_cast<char *>(operation.parameters[i]);
    if (!code->parameters[i].pointer || !address)
      continue;
    MemoryKind kind;
    if (!memory.find(address, kind) && !memory.find(address - 1, kind))
      return "operand " + std::to_string(i) + " of kernel '" +
             operation.kernel + "' is no memory of the GPU";
  }
  return {};
}

std::string Gpu::check(const Operation &operation) const {
  auto checkPlace = [&](const Place &place, const char *what) {
    // Any memory of the host may be copied, if slowly; all that it can be is
    // known of the GPU's.
    if (place.kind == MemoryKind::Host ||
        memory.contains(place.address, operation.size, MemoryKind::Device))
      return std::string();
    return operation.describe() + ": the " + what +
           " is not within an allocation";
  };
  std::string problem;
  switch (operation.kind) {
  case Operation::Kind::Kernel:
    return checkKernel(operation);
  case Operation::Kind::Copy:
    problem = checkPlace(operation.from, "source");
    [[fallthrough]];
  case Operation::Kind::Fill:
    return problem.empty() ? checkPlace(operation.to, "destination") : problem;
  case Operation::Kind::Compute:
    for (const auto &[place, size] : operation.touched)
      if (!memory.contains(place.address, size, MemoryKind::Device))
        return operation.describe() + ": an operand is not within an "
                                      "allocation of the GPU";
    return {};
  case Operation::Kind::Nothing:
    return {};
  }
  __builtin_unreachable();
}

static void fill(const Operation &operation) {
  for (size_t i = 0; i < operation.size; i += operation.elementSize)
    std::memcpy(operation.to.address + i, &operation.value,
                operation.elementSize);
}

static std::string runKernel(const Operation &operation,
                             const Settings &settings) {
  Launch launch = operation.launch;
  for (const uint64_t &value : operation.parameters)
    launch.parameters.push_back(const_cast<uint64_t *>(&value));
  return runKernel(launch, settings);
}

void Gpu::execute(const Operation &operation) {
  if (operation.kind != Operation::Kind::Nothing)
    log.add("runs " + operation.describe());
  if (operation.kind == Operation::Kind::Kernel && settings.fault != 0 &&
      operation.kernel == settings.faultyKernel) {
    failure = settings.fault;
    return;
  }
  std::string problem = check(operation);
  if (problem.empty()) {
    if (operation.kind == Operation::Kind::Copy)
      std::memmove(operation.to.address, operation.from.address,
                   operation.size);
    else if (operation.kind == Operation::Kind::Fill)
      fill(operation);
    else if (operation.kind == Operation::Kind::Compute)
      operation.work();
    else if (operation.launch.code)
      problem = runKernel(operation, settings);
  }
  if (problem.empty())
    problem = memory.checkGuards();
  if (problem.empty())
    return;
  log.misuse(problem);
  failure = 719; // CUDA_ERROR_LAUNCH_FAILED
}

} // namespace tinh::fake
