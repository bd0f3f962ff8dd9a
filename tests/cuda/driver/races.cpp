//===- races.cpp - Accesses of shared memory that race ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "races.h"

#include <cstring>

namespace tinh::fake {

void RaceDetector::begin(uint64_t size) {
  ++time;
  places.resize((size + kGranule - 1) / kGranule);
}

bool RaceDetector::isUnordered(const Access &access, uint32_t thread) const {
  return access.time == time && access.thread != thread;
}

void RaceDetector::note(Access &access, uint32_t thread) {
  access = {isUnordered(access, thread) ? kSeveral : thread, time};
}

std::string RaceDetector::describe(uint64_t offset, uint32_t thread,
                                   const char *what, const Access &other,
                                   const char *otherWhat) {
  std::string who = other.thread == kSeveral
                        ? "several threads have"
                        : "thread " + std::to_string(other.thread) + " has";
  return "thread " + std::to_string(thread) + " " + what +
         " the shared memory at " + std::to_string(offset) + " that " + who +
         " " + otherWhat + ", with no barrier between";
}

std::string RaceDetector::read(uint64_t offset, uint32_t size,
                               uint32_t thread) {
  for (uint64_t i = offset / kGranule; i < (offset + size) / kGranule; ++i) {
    if (isUnordered(places[i].write, thread))
      return describe(i * kGranule, thread, "reads", places[i].write,
                      "written");
    note(places[i].read, thread);
  }
  return {};
}

std::string RaceDetector::write(uint64_t offset, uint32_t size, uint32_t thread,
                                const char *bytes) {
  for (uint64_t i = offset / kGranule; i < (offset + size) / kGranule; ++i) {
    Place &place = places[i];
    uint16_t value;
    std::memcpy(&value, bytes + (i * kGranule - offset), kGranule);
    if (isUnordered(place.read, thread))
      return describe(i * kGranule, thread, "writes", place.read, "read");
    if (isUnordered(place.write, thread) && value != place.value)
      return describe(i * kGranule, thread, "writes", place.write, "written");
    note(place.write, thread);
    place.value = value;
  }
  return {};
}

} // namespace tinh::fake
