//===- ResourceLimits.cpp - What a compilation may take -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/ResourceLimits.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/Action.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;

namespace tinh {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t ownMemory() {
  char text[128] = "";
  int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  unsigned long long resident = 0, shared = 0;
  if (length <= 0 ||
      std::sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
    return 0;
  return (resident - std::min(resident, shared)) * ::sysconf(_SC_PAGESIZE);
}

/// The number in a file; nothing for "max" or if there is none.
static std::optional<uint64_t> readNumber(const std::string &path) {
  uint64_t number = 0;
  if (std::ifstream(path) >> number)
    return number;
  return std::nullopt;
}

/// The least limit of the groups of this process and of those around them.
static uint64_t cgroupMemory() {
  uint64_t least = UINT64_MAX;
  auto take = [&](const std::string &mount, const char *file, StringRef path) {
    for (;; path = path.rsplit('/').first) {
      path = path.rtrim('/');
      if (auto limit = readNumber(mount + path.str() + file))
        least = std::min(least, *limit);
      if (path.empty())
        return;
    }
  };
  // Lines are HIERARCHY:CONTROLLERS:PATH; version 2 has no controllers.
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    auto [controllers, path] = StringRef(line).split(':').second.split(':');
    if (controllers.empty())
      take("/sys/fs/cgroup", "/memory.max", path);
    else if (controllers == "memory")
      take("/sys/fs/cgroup/memory", "/memory.limit_in_bytes", path);
  }
  return least;
}

uint64_t availableMemory() {
  uint64_t least =
      std::min(uint64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE),
               cgroupMemory());
  for (auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit;
    if (::getrlimit(resource, &limit) == 0)
      least = std::min<uint64_t>(least, limit.rlim_cur);
  }
  return least;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

static std::string describe(const PassExecutionAction &action) {
  Operation *op = action.getOp();
  StringRef name = action.getPass().getArgument();
  if (name.empty())
    name = action.getPass().getName();
  std::string what = ("pass '" + name + "'").str();
  if (auto symbol =
          op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
    what += (" on @" + symbol.getValue()).str();
  return what;
}

/// MLIR calls it in the place of a pass, a pattern or an iteration of patterns.
/// What is left out has failed or has changed nothing.
static void act(Interruption &interruption, llvm::function_ref<void()> work,
                const tracing::Action &action) {
  if (interruption.isRequested())
    return;
  auto *pass = dyn_cast<PassExecutionAction>(&action);
  if (!pass || pass->getPass().getName().contains("OpToOpPassAdaptor"))
    return work();
  Interruption::Work at(&interruption, describe(*pass));
  work();
}

//===----------------------------------------------------------------------===//
// The watchdog
//===----------------------------------------------------------------------===//

Watchdog::Watchdog(const ResourceLimits &limits, Interruption &interruption,
                   MLIRContext &context)
    : limits(limits), interruption(interruption), context(context) {
  if (!limits.any())
    return;
  context.registerActionHandler([&interruption](llvm::function_ref<void()> work,
                                                const tracing::Action &action) {
    act(interruption, work, action);
  });
  thread = llvm::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    isOver = true;
  }
  ended.notify_all();
  thread.join();
  context.registerActionHandler(nullptr);
}

/// Which limit there is no more of; empty if there is.
std::string Watchdog::exceeded() const {
  std::string reason;
  llvm::raw_string_ostream os(reason);
  std::chrono::duration<double> taken = Clock::now() - start;
  uint64_t used = limits.bytes ? ownMemory() : 0;
  if (limits.seconds > 0 && taken.count() >= limits.seconds)
    os << "compiling has not ended within the time limit of "
       << llvm::format("%g", limits.seconds) << " s";
  else if (used > limits.bytes)
    os << "compiling takes " << llvm::format("%.1f", double(used) / 1e6)
       << " MB of memory, and the limit is "
       << llvm::format("%.1f", double(limits.bytes) / 1e6) << " MB";
  else
    return "";
  os << "; allow more, or compile less at once";
  return reason;
}

void Watchdog::watch() {
  constexpr std::chrono::milliseconds kInterval(10), kGrace(500);
  std::unique_lock lock(mutex);
  auto over = [this] { return isOver; };
  std::string reason;
  while ((reason = exceeded()).empty())
    if (ended.wait_for(lock, kInterval, over))
      return;
  interruption.request(reason);
  if (limits.giveUp && !ended.wait_for(lock, kGrace, over))
    limits.giveUp(interruption.message());
}

} // namespace tinh
