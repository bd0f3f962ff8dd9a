//===- PlanChecks.cpp - What the numbers of plans may be --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/PlanChecks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tinh::graph {

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

std::string PlanRule::text() const {
  return llvm::formatv(/*Validate=*/false, words, first, second).str() + why;
}

PlanRule PlanRule::because(const char *why) const {
  PlanRule rule = *this;
  rule.why = why;
  return rule;
}

static bool isWithin(int64_t value, int64_t least, int64_t most) {
  return least <= value && value <= most;
}

static bool isPowerOf2Within(int64_t value, int64_t least, int64_t most) {
  return isWithin(value, std::max<int64_t>(least, 1), most) &&
         llvm::isPowerOf2_64(value);
}

PlanRule atLeast(int64_t least) {
  return {[](int64_t value, int64_t least, int64_t) { return value >= least; },
          "at least {0}", least};
}

PlanRule within(int64_t least, int64_t most) {
  return {isWithin, least == most ? "{0}" : "from {0} to {1}", least, most};
}

PlanRule either(int64_t one, int64_t other) {
  return {[](int64_t value, int64_t one, int64_t other) {
            return value == one || value == other;
          },
          "{0} or {1}", one, other};
}

PlanRule powerOf2(int64_t least, int64_t most) {
  return {isPowerOf2Within, "a power of two from {0} to {1}", least, most};
}

PlanRule zeroOrPowerOf2(int64_t most) {
  return {[](int64_t value, int64_t least, int64_t most) {
            return value == 0 || isPowerOf2Within(value, least, most);
          },
          "0, or a power of two from {0} to {1}", 1, most};
}

PlanRule multipleOf(int64_t unit, int64_t most) {
  return {[](int64_t value, int64_t unit, int64_t most) {
            return isWithin(value, 1, most) && value % unit == 0;
          },
          most == INT64_MAX ? "a multiple of {0}"
                            : "a multiple of {0} up to {1}",
          unit, most};
}

PlanRule wholeWarps() { return multipleOf(kWarp, kMostThreads); }

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

LogicalResult checkNumbers(EmitError emitError, ArrayRef<PlanNumber> numbers) {
  for (const PlanNumber &number : numbers) {
    auto isAllowed = [&](int64_t value) { return number.rule.allows(value); };
    if (!number.parts.empty() &&
        number.values.size() != number.parts.count(',') + 1)
      return emitError() << "'" << number.name << "' must be [" << number.parts
                         << "], found [" << number.values << "]";
    if (auto wrong = llvm::find_if_not(number.values, isAllowed);
        wrong != number.values.end())
      return emitError() << "'" << number.name << "' must be "
                         << number.rule.text() << ", found " << *wrong;
  }
  return success();
}

} // namespace tinh::graph
