//===- Interruption.cpp - Work that may have to end early -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Interruption.h"

namespace tinh {

Interruption::Work::Work(Interruption *interruption, std::string what)
    : interruption(interruption) {
  if (!interruption)
    return;
  std::lock_guard lock(interruption->mutex);
  place = interruption->work.insert(interruption->work.end(), std::move(what));
}

Interruption::Work::~Work() {
  if (!interruption)
    return;
  std::lock_guard lock(interruption->mutex);
  interruption->work.erase(place);
}

/// As many threads may compile kernels as there are CPUs: a few of them say
/// enough.
std::string Interruption::describeWork() const {
  constexpr size_t kMost = 6;
  std::string all;
  size_t count = 0;
  for (const std::string &what : work) {
    if (++count > kMost)
      return all + " and " + std::to_string(work.size() - kMost) + " more";
    all += (all.empty() ? "" : ", ") + what;
  }
  return all;
}

void Interruption::request(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (requested)
    return;
  std::string at = describeWork();
  text = reason + (at.empty() ? "" : "; it was at " + at);
  requested.store(true, std::memory_order_release);
}

} // namespace tinh
