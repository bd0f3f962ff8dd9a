//===- LossScale.cpp - Losses scaled for gradients in f16 -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/loss_scale.h"

#include "compiler/Nn/OptionReader.h"
#include "tinh/autograd.h"

#include <charconv>
#include <cmath>
#include <limits>

using namespace tinh;
using namespace tinh::optim;
using eager::Call;
using eager::fail;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Scales beyond have no inverse among the normal numbers of float32.
static const double kLargest = 0x1p126, kSmallest = 0x1p-126;

static bool isPowerOfTwo(double value) {
  int exponent = 0;
  return value > 0 && std::frexp(value, &exponent) == 0.5;
}

static void requirePowerOfTwo(double value, const char *option,
                              const char *range, bool isInRange,
                              const Call &call) {
  if (!isPowerOfTwo(value) || !isInRange)
    fail(call, option, " is ", value, "; it must be a power of two ", range,
         ", so that scaling rounds nothing");
}

static void requireScale(double scale, const char *option, const Call &call) {
  requirePowerOfTwo(scale, option, "from 2^-126 to 2^126",
                    scale >= kSmallest && scale <= kLargest, call);
}

LossScale::LossScale(const LossScaleOptions &given, At at)
    : options(given), isDynamic(true) {
  Call call{"optim::LossScale", at};
  requireScale(options.init_scale, "init_scale", call);
  requirePowerOfTwo(options.growth_factor, "growth_factor", "above 1",
                    options.growth_factor > 1, call);
  requirePowerOfTwo(options.backoff_factor, "backoff_factor", "below 1",
                    options.backoff_factor < 1, call);
  if (options.growth_interval < 1 ||
      options.growth_interval > std::numeric_limits<int32_t>::max())
    fail(call, "growth_interval is ", options.growth_interval,
         "; it must be from 1 to 2147483647");
}

LossScale::LossScale(double scale, At at) : isDynamic(false) {
  requireScale(scale, "the scale", {"optim::LossScale", at});
  options.init_scale = scale;
}

/// "1024"
static LossScale fixed(std::string_view text, const Options &given,
                       const Call &call) {
  double scale = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, scale);
  if (error != std::errc() || rest != end)
    fail(call, "there is no loss scale \"", text,
         "\"; there are dynamic and powers of two, such as 1024");
  if (!given.empty())
    fail(call, "the loss scale ", text, " is fixed and has no option \"",
         given.front().first, "\", as dynamic has");
  return LossScale(scale, call.at);
}

LossScale LossScale::make(std::string_view name, const Options &given, At at) {
  Call call{"optim::LossScale", at};
  if (name != "dynamic")
    return fixed(name, given, call);
  nn::OptionReader reader(name, given, call);
  LossScaleOptions all;
  all.init_scale = reader.number("init_scale", all.init_scale);
  all.growth_factor = reader.number("growth_factor", all.growth_factor);
  all.backoff_factor = reader.number("backoff_factor", all.backoff_factor);
  all.growth_interval = reader.integer("growth_interval", all.growth_interval);
  reader.finish();
  return LossScale(all, at);
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

void LossScale::update(const Tensor &scale, const Tensor &growthTracker,
                       const Tensor &finite) const {
  if (!isDynamic)
    return;
  NoGrad guard;
  growthTracker.copy_(
      where(finite, (growthTracker + 1) % options.growth_interval, 0));
  Tensor growth = where(growthTracker == 0, options.growth_factor, 1.0);
  scale.copy_(clamp(scale * where(finite, growth, options.backoff_factor),
                    kSmallest, kLargest));
}

/// The largest magnitude says it of a whole tensor: it is NaN if any is.
Tensor optim::all_finite(std::span<const Tensor> gradients) {
  NoGrad guard;
  Tensor finite;
  for (const Tensor &gradient : gradients) {
    if (gradient.numel() == 0)
      continue;
    Tensor each = max(abs(gradient)) < std::numeric_limits<double>::infinity();
    finite = finite.defined() ? logical_and(finite, each) : each;
  }
  return finite.defined() ? finite : full({}, true, boolean);
}
