//===- DecomposeConvTranspose.cpp - conv_transpose into conv ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %y = graph.conv_transpose %x, %w strides [2, 2] … channels_last
//       : tensor<1x8x8x4xf32>, tensor<4x3x2x2xf32> -> tensor<1x16x16x3xf32>
// becomes
//   %v = … %w …                                // rearranged: 12x4x1x1
//   %0 = graph.conv %x, %v strides [1, 1] … channels_last
//       : tensor<1x8x8x4xf32>, tensor<12x4x1x1xf32> -> tensor<1x8x8x12xf32>
//   %1 = graph.reshape %0 : … to tensor<8x8x2x2x3xf32>
//   %2 = graph.transpose %1 [0, 2, 1, 3, 4]
//   %y = graph.reshape %2 : … to tensor<1x16x16x3xf32>
//
// In one dimension, with stride s, the element s·q + r of the result, counted
// from before what `padding` cuts off, is Σ_t x[q - t] · w[s·t + r]: for each
// phase r a convolution over x with every s-th tap. One convolution computes
// all phases, as channels: outputs are [groups, phases…, channels of a group].
// Taps are filled up with zeros to the same number for each phase; elements of
// x that meet such a zero must be finite.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_DECOMPOSECONVTRANSPOSE
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

using Extents = SmallVector<int64_t>;

/// What becomes of a spatial dimension.
struct Dimension {
  int64_t stride, kernel;
  /// Between the taps: of the convolution where there is one phase, else made
  /// of zeros.
  int64_t dilation = 1, spread = 1;
  /// Zeros before the first tap, taps of a phase.
  int64_t lead = 0, taps = 1;
  /// The convolution's padding and extent.
  int64_t before, after, steps;
  /// Where the result begins in what the phases make up, and its extent.
  int64_t start, extent;

  bool isWhole() const { return start == 0 && extent == steps * stride; }
};

Dimension planDimension(ConvTransposeOp op, int64_t i, int64_t in,
                        int64_t extent) {
  int64_t padding = op.getPadding()[i];
  Dimension d;
  d.stride = op.getStrides()[i];
  d.kernel = tensorType(op.getWeights()).getDimSize(2 + i);
  d.extent = extent;
  (d.stride == 1 ? d.dilation : d.spread) = op.getDilations()[i];

  // With these zeros the result begins with the first phase. They are not worth
  // another tap.
  int64_t span = (d.kernel - 1) * d.spread + 1;
  d.taps = llvm::divideCeil(span, d.stride);
  d.lead = llvm::alignTo(padding, d.stride) - padding;
  if (static_cast<int64_t>(llvm::divideCeil(span + d.lead, d.stride)) > d.taps)
    d.lead = 0;

  // A window that lies farther inside of x than this is cut out afterwards.
  int64_t offset = padding + d.lead, reach = (d.taps - 1) * d.dilation;
  int64_t first = std::min(offset / d.stride, reach);
  int64_t last = std::max((offset + extent - 1) / d.stride, in - 1);
  d.before = reach - first;
  d.after = last - (in - 1);
  d.steps = last - first + 1;
  d.start = offset - first * d.stride;
  return d;
}

/// The taps of one phase, from the last one to the first, and the padding of
/// its convolution.
struct Phase {
  Extents starts, sizes, steps, before, after;
  /// Which phase it is of each dimension.
  Extents numbers;

  bool isEmpty() const { return llvm::is_contained(sizes, 0); }
};

using Phases = SmallVector<Phase, 0>;

/// Adds what a dimension is to its phase `number`; false if that cannot have a
/// convolution of its own.
bool addDimension(Phase &phase, const Dimension &d, int64_t number) {
  // Tap t of the phase is number - lead + t · stride of the kernel.
  int64_t begin = number - d.lead;
  int64_t first = begin < 0 ? llvm::divideCeil(-begin, d.stride) : 0;
  int64_t start = begin + first * d.stride;
  int64_t count =
      start < d.kernel ? llvm::divideCeil(d.kernel - start, d.stride) : 0;
  int64_t missing = d.taps - first - count;
  phase.numbers.push_back(number);
  phase.starts.push_back(start + (count - 1) * d.stride);
  phase.sizes.push_back(count);
  phase.steps.push_back(-d.stride);
  phase.before.push_back(d.before - missing * d.dilation);
  phase.after.push_back(d.after - first * d.dilation);
  return count == 0 || (phase.before.back() >= 0 && phase.after.back() >= 0);
}

/// Builds what one op becomes, in its place.
class Decomposition {
public:
  explicit Decomposition(ConvTransposeOp op)
      : op(op), builder(op), loc(op.getLoc()), groups(op.getGroups()) {
    auto x = tensorType(op.getX()), y = tensorType(op.getY());
    spatial = op.getLayout() == Layout::ChannelsFirst ? 2 : 1;
    outputs = tensorType(op.getWeights()).getDimSize(1);
    for (int64_t i = 0; i < x.getRank() - 2; ++i)
      dimensions.push_back(planDimension(op, i, x.getDimSize(spatial + i),
                                         y.getDimSize(spatial + i)));
  }

  Value run() {
    std::optional<Phases> phases = separatePhases();
    if (!phases)
      return cut(interleave(convolve(arrangeWeights())));
    if (phases->size() == 1)
      return cut(placeBetweenZeros(phases->front()));
    return cut(interleave(convolveEach(*phases)));
  }

private:
  Value pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high);
  Value rearrange(Value value, ArrayRef<int64_t> split, ArrayRef<int64_t> order,
                  ArrayRef<int64_t> joined);
  Value spreadTaps(Value weights);
  Value fillTaps(Value weights);
  Value flipTaps(Value weights);
  Value arrangeWeights();
  Value convolve(Value weights);
  std::optional<Phases> separatePhases();
  Value convolve(const Phase &phase);
  Value convolveEach(ArrayRef<Phase> phases);
  Value placeBetweenZeros(const Phase &phase);
  Value interleave(Value phases);
  Value cut(Value whole);

  ConvTransposeOp op;
  OpBuilder builder;
  Location loc;
  /// Channels of the result in each group.
  int64_t groups, outputs;
  /// The first spatial dimension.
  int64_t spatial;
  SmallVector<Dimension> dimensions;
};

/// Pads with zeros; negative amounts cut.
Value Decomposition::pad(Value value, ArrayRef<int64_t> low,
                         ArrayRef<int64_t> high) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return value;
  auto scalar = RankedTensorType::get({}, tensorType(value).getElementType());
  Value zero = createSplat(builder, loc, scalar, 0);
  return PadOp::create(builder, loc, value, zero, low, high, PadMode::Constant)
      .getY();
}

/// Views `value` as `split`, brings these dimensions in `order`, and views the
/// result as `joined`. Dimensions of extent 1 are left out of it.
Value Decomposition::rearrange(Value value, ArrayRef<int64_t> split,
                               ArrayRef<int64_t> order,
                               ArrayRef<int64_t> joined) {
  Extents shape, position, permutation;
  for (int64_t extent : split) {
    position.push_back(shape.size());
    if (extent != 1)
      shape.push_back(extent);
  }
  for (int64_t axis : order)
    if (split[axis] != 1)
      permutation.push_back(position[axis]);
  if (!isIdentityPermutation(permutation)) {
    Value view = reshapeTo(builder, loc, value, shape);
    value = TransposeOp::create(builder, loc, view, permutation).getY();
  }
  return reshapeTo(builder, loc, value, joined);
}

/// Puts `spread` - 1 zeros after each tap.
Value Decomposition::spreadTaps(Value weights) {
  Extents split(tensorType(weights).getShape().take_front(2));
  Extents joined(split), low(2, 0), high(2, 0);
  for (const Dimension &d : dimensions) {
    split.append({d.kernel, 1});
    joined.push_back(d.kernel * d.spread);
    low.append({0, 0});
    high.append({0, d.spread - 1});
  }
  if (ArrayRef<int64_t>(joined) == tensorType(weights).getShape())
    return weights;
  Value padded = pad(reshapeTo(builder, loc, weights, split), low, high);
  return reshapeTo(builder, loc, padded, joined);
}

/// Zeros that give each phase as many taps.
Value Decomposition::fillTaps(Value weights) {
  Extents low(2, 0), high(2, 0);
  for (const Dimension &d : dimensions) {
    low.push_back(d.lead);
    high.push_back(d.taps * d.stride - d.lead - d.kernel * d.spread);
  }
  return pad(weights, low, high);
}

/// Turns the taps of arranged weights around.
Value Decomposition::flipTaps(Value weights) {
  if (llvm::all_of(dimensions, [](auto &d) { return d.taps == 1; }))
    return weights;
  Extents sizes(tensorType(weights).getShape());
  Extents starts(sizes.size(), 0), steps(sizes.size(), 1);
  for (auto [i, d] : llvm::enumerate(dimensions)) {
    starts[2 + i] = d.taps - 1;
    steps[2 + i] = -1;
  }
  return SliceOp::create(builder, loc, weights, starts, sizes, steps).getY();
}

/// From [groups · inputs, outputs, kernel…] to
/// [groups · phases… · outputs, inputs, taps…].
Value Decomposition::arrangeWeights() {
  Value weights = fillTaps(spreadTaps(op.getWeights()));
  int64_t inputs = tensorType(weights).getDimSize(0) / groups;
  int64_t rank = dimensions.size(), results = groups * outputs;
  Extents split = {groups, inputs, outputs}, order = {0};
  for (auto [i, d] : llvm::enumerate(dimensions)) {
    split.append({d.taps, d.stride});
    order.push_back(4 + 2 * i);
    results *= d.stride;
  }
  order.append({2, 1});
  Extents arranged = {results, inputs};
  for (int64_t i = 0; i < rank; ++i) {
    order.push_back(3 + 2 * i);
    arranged.push_back(dimensions[i].taps);
  }
  return flipTaps(rearrange(weights, split, order, arranged));
}

Value Decomposition::convolve(Value weights) {
  Extents ones(dimensions.size(), 1), padding, dilations;
  for (const Dimension &d : dimensions) {
    padding.push_back(d.before);
    dilations.push_back(d.dilation);
  }
  for (const Dimension &d : dimensions)
    padding.push_back(d.after);
  return ConvOp::create(builder, loc, op.getX(), weights, ones, padding,
                        dilations, groups, op.getLayout())
      .getY();
}

/// The phases, in row-major order, if each should have its own convolution: if
/// the zeros were much of the work, and vectors end where its channels do. Only
/// one is left where all others have no taps.
std::optional<Phases> Decomposition::separatePhases() {
  constexpr int64_t kVector = 16;
  int64_t filled = 1, kernel = 1, count = 1;
  for (const Dimension &d : dimensions) {
    filled *= d.taps * d.stride;
    kernel *= d.kernel;
    count *= d.stride;
    if (d.spread != 1)
      return std::nullopt;
  }
  if (groups != 1 || outputs % kVector != 0 || filled * 3 < kernel * 4)
    return std::nullopt;
  Extents channels(tensorType(op.getWeights()).getShape().take_front(2));
  Phases phases;
  for (int64_t number = 0; number < count; ++number) {
    Phase phase{{0, 0}, channels, {1, 1}, {}, {}, {}};
    int64_t rest = number, below = count;
    for (const Dimension &d : dimensions) {
      below /= d.stride;
      if (!addDimension(phase, d, rest / below))
        return std::nullopt;
      rest %= below;
    }
    phases.push_back(phase);
  }
  int64_t empty = llvm::count_if(phases, [](auto &p) { return p.isEmpty(); });
  if (empty == count - 1)
    llvm::erase_if(phases, [](const Phase &phase) { return phase.isEmpty(); });
  else if (empty > 0)
    return std::nullopt;
  return phases;
}

Value Decomposition::convolve(const Phase &phase) {
  int64_t rank = dimensions.size();
  Extents ones(rank, 1), dilations, padding(phase.before), order = {1, 0};
  for (auto [i, d] : llvm::enumerate(dimensions)) {
    dilations.push_back(d.dilation);
    order.push_back(2 + i);
  }
  padding.append(phase.after);
  Value taps = SliceOp::create(builder, loc, op.getWeights(), phase.starts,
                               phase.sizes, phase.steps)
                   .getY();
  Value weights = TransposeOp::create(builder, loc, taps, order).getY();
  return ConvOp::create(builder, loc, op.getX(), weights, ones, padding,
                        dilations, groups, op.getLayout())
      .getY();
}

/// The outputs of each phase as channels.
Value Decomposition::convolveEach(ArrayRef<Phase> phases) {
  SmallVector<Value> outputsOf;
  for (const Phase &phase : phases)
    outputsOf.push_back(convolve(phase));
  bool first = op.getLayout() == Layout::ChannelsFirst;
  int64_t axis = first ? 1 : dimensions.size() + 1;
  return ConcatOp::create(builder, loc, outputsOf, axis).getY();
}

/// The outputs of one phase with zeros in the place of all others.
Value Decomposition::placeBetweenZeros(const Phase &phase) {
  Value outputsOf = convolve(phase);
  Extents joined(tensorType(op.getY()).getShape()), split, low, high;
  auto append = [&](int64_t extent, int64_t before, int64_t after) {
    split.push_back(extent);
    low.push_back(before);
    high.push_back(after);
  };
  for (auto [i, extent] : llvm::enumerate(tensorType(outputsOf).getShape())) {
    append(extent, 0, 0);
    int64_t dim = static_cast<int64_t>(i) - spatial;
    if (dim < 0 || dim >= static_cast<int64_t>(dimensions.size()))
      continue;
    int64_t stride = dimensions[dim].stride;
    append(1, phase.numbers[dim], stride - 1 - phase.numbers[dim]);
    joined[i] = extent * stride;
  }
  Value apart = reshapeTo(builder, loc, outputsOf, split);
  return reshapeTo(builder, loc, pad(apart, low, high), joined);
}

/// Moves each phase from the channels to its dimension, after the steps.
Value Decomposition::interleave(Value phases) {
  int64_t rank = dimensions.size();
  Extents joined(tensorType(op.getY()).getShape());
  Extents steps, channels = {groups};
  for (auto [i, d] : llvm::enumerate(dimensions)) {
    joined[spatial + i] = d.steps * d.stride;
    steps.push_back(d.steps);
    channels.push_back(d.stride);
  }
  channels.push_back(outputs);

  bool first = op.getLayout() == Layout::ChannelsFirst;
  int64_t step = first ? rank + 3 : 1, group = first ? 1 : rank + 1;
  Extents split = {joined[0]}, order = {0};
  split.append(first ? channels : steps);
  split.append(first ? steps : channels);
  if (first)
    order.append({group, group + rank + 1});
  for (int64_t i = 0; i < rank; ++i)
    order.append({step + i, group + 1 + i});
  if (!first)
    order.append({group, group + rank + 1});
  return rearrange(phases, split, order, joined);
}

Value Decomposition::cut(Value whole) {
  Extents sizes(tensorType(op.getY()).getShape());
  Extents starts(sizes.size(), 0), steps(sizes.size(), 1);
  for (auto [i, d] : llvm::enumerate(dimensions))
    starts[spatial + i] = d.start;
  if (llvm::all_of(dimensions, [](auto &d) { return d.isWhole(); }))
    return whole;
  return SliceOp::create(builder, loc, whole, starts, sizes, steps).getY();
}

struct DecomposeConvTransposePass
    : impl::DecomposeConvTransposeBase<DecomposeConvTransposePass> {
  void runOnOperation() override {
    numDecomposed += decomposeConvTranspose(getOperation());
  }
};

} // namespace

int64_t decomposeConvTranspose(func::FuncOp function) {
  int64_t count = 0;
  function.walk([&](ConvTransposeOp op) {
    op.getY().replaceAllUsesWith(Decomposition(op).run());
    op.erase();
    ++count;
  });
  return count;
}

} // namespace tinh::transforms
