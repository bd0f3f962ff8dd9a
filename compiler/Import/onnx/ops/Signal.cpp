//===- Signal.cpp - Fourier transforms, windows, mel bands ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform is a product with the matrices of its cosines and sines, which
// are computed when the artifact is written.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace tinh::onnx {

namespace {

constexpr int64_t kLongest = 4096;

/// A complex tensor in two; the imaginary part is null if it is 0.
struct Complex {
  Value real, imaginary;
};

struct Matrices {
  Value cosine, sine;
};

/// cos and sin of 2π · i · k / length for i < rows, k < columns.
Matrices makeMatrices(NodeBuilder &b, int64_t length, int64_t rows,
                      int64_t columns) {
  Type i64 = b.graph.raw().getI64Type(), element = b.graph.raw().getF64Type();
  Value product = b.mul(b.reshape(b.iota(rows), {rows, 1}), b.iota(columns));
  // Exact for any size: angles of more than one turn would lose digits.
  Value turn = b.create<graph::ModOp>({product, b.scalar(i64, length)});
  double step = 2 * std::numbers::pi / static_cast<double>(length);
  Value angle = b.mul(b.cast(turn, element), b.scalar(element, step));
  return {b.create<graph::CosOp>({angle}), b.create<graph::SinOp>({angle})};
}

/// The transform along the last dimension, by e^(∓2πjik/length).
Complex transform(NodeBuilder &b, const Complex &x, const Matrices &m,
                  bool inverse) {
  Value real = b.matmul(x.real, m.cosine);
  Value imaginary = b.matmul(x.real, m.sine);
  if (!inverse)
    imaginary = b.create<graph::NegOp>({imaginary});
  if (!x.imaginary)
    return {real, imaginary};
  Value cross = b.matmul(x.imaginary, m.sine);
  real = inverse ? b.sub(real, cross) : b.add(real, cross);
  return {real, b.add(imaginary, b.matmul(x.imaginary, m.cosine))};
}

/// Real and imaginary parts side by side in a new last dimension.
Value join(NodeBuilder &b, const Complex &x, Type element) {
  if (!x.real || !x.imaginary)
    return {};
  Ints shape(b.shape(x.real));
  shape.push_back(1);
  Value both =
      b.concat({b.reshape(x.real, shape), b.reshape(x.imaginary, shape)},
               static_cast<int64_t>(shape.size()) - 1);
  return b.cast(both, element);
}

/// The parts of [..., 1] or [..., 2], in f64.
std::optional<Complex> split(NodeBuilder &b, Value x) {
  int64_t last = b.rank(x) - 1;
  if (last < 1 || (b.shape(x)[last] != 1 && b.shape(x)[last] != 2)) {
    b.fail("the last dimension must hold real and imaginary parts, found " +
           graph::shapeToString(x.getType()));
    return std::nullopt;
  }
  ArrayRef<int64_t> shape = b.shape(x).drop_back();
  x = b.cast(x, b.graph.raw().getF64Type());
  Complex parts{b.reshape(b.sliceAxis(x, last, 0, 1), shape), {}};
  if (b.shape(x)[last] == 2)
    parts.imaginary = b.reshape(b.sliceAxis(x, last, 1, 1), shape);
  return parts;
}

/// Cut or filled with zeros to a length, along the last dimension.
Value fit(NodeBuilder &b, Value x, int64_t length) {
  if (!x || b.shape(x).back() == length)
    return x;
  Ints low(b.rank(x), 0), high(low);
  high.back() = length - b.shape(x).back();
  return b.pad(x, b.scalarLike(x, 0), low, high);
}

//===----------------------------------------------------------------------===//
// DFT
//===----------------------------------------------------------------------===//

std::optional<int64_t> readAxis(NodeBuilder &b, int64_t rank) {
  int64_t given = b.opset() < 20 ? b.intAttribute("axis", 1) : -2;
  if (b.opset() >= 20 && b.has(2)) {
    auto number = b.integer(2, "axis");
    if (!number)
      return std::nullopt;
    given = *number;
  }
  auto axis = b.axis(given, rank);
  if (!axis || *axis < rank - 1)
    return axis;
  b.fail("the last dimension cannot be transformed");
  return std::nullopt;
}

/// From the half of a spectrum that a real signal has to the signal: all but
/// the first and the middle element stand for two.
Value transformHalf(NodeBuilder &b, const Complex &x, int64_t length) {
  int64_t half = b.shape(x.real).back();
  SmallVector<double> weights(half, 2 / static_cast<double>(length));
  weights[0] /= 2;
  if (length % 2 == 0 && half == length / 2 + 1)
    weights.back() /= 2;
  Value weight = b.constantFloats(b.element(x.real), half, weights);
  Matrices m = makeMatrices(b, length, half, length);
  Complex scaled{b.mul(x.real, weight), {}};
  if (x.imaginary)
    scaled.imaginary = b.mul(x.imaginary, weight);
  return transform(b, scaled, m, /*inverse=*/true).real;
}

/// The transform along the dimension before the last.
Value transformRows(NodeBuilder &b, Value x, std::optional<int64_t> wanted) {
  auto parts = split(b, x);
  if (!parts)
    return {};
  bool inverse = b.intAttribute("inverse", 0);
  bool onesided = b.intAttribute("onesided", 0);
  int64_t given = b.shape(parts->real).back();
  bool isHalf = inverse && onesided;
  int64_t length = wanted ? *wanted : isHalf ? 2 * (given - 1) : given;
  if (length < 1 || length > kLongest)
    return b.fail("cannot transform a signal of " + Twine(length) +
                  " elements: 1 to " + Twine(kLongest) + " are supported");
  int64_t kept = isHalf ? length / 2 + 1 : length;
  Complex fitted{fit(b, parts->real, kept), fit(b, parts->imaginary, kept)};
  if (isHalf) {
    Value y = transformHalf(b, fitted, length);
    if (!y)
      return {};
    Ints shape(b.shape(y));
    shape.push_back(1);
    return b.cast(b.reshape(y, shape), b.element(x));
  }
  int64_t columns = onesided ? length / 2 + 1 : length;
  Matrices m = makeMatrices(b, length, length, columns);
  Complex y = transform(b, fitted, m, inverse);
  if (inverse) {
    Value factor = b.scalarLike(y.real, 1 / static_cast<double>(length));
    y = {b.mul(y.real, factor), b.mul(y.imaginary, factor)};
  }
  return join(b, y, b.element(x));
}

Results dft(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis = readAxis(b, b.rank(x));
  std::optional<int64_t> length;
  if (axis && b.has(1))
    length = b.integer(1, "dft_length");
  if (b.failed())
    return {Value()};
  Ints permutation = llvm::to_vector(llvm::seq<int64_t>(b.rank(x)));
  std::swap(permutation[*axis], permutation[b.rank(x) - 2]);
  bool isLast = *axis == b.rank(x) - 2;
  Value y = transformRows(b, isLast ? x : b.transpose(x, permutation), length);
  return {isLast || !y ? y : b.transpose(y, permutation)};
}

//===----------------------------------------------------------------------===//
// STFT: transforms of overlapping frames
//===----------------------------------------------------------------------===//

Results stft(NodeBuilder &b) {
  Value x = b.input(0);
  auto step = b.integer(1, "frame_step");
  if (!step || b.rank(x) != 3)
    return {b.fail("expected a signal [batch, length, 1 or 2], found " +
                   graph::shapeToString(x.getType()))};
  int64_t frame = 0, signal = b.shape(x)[1];
  if (b.has(2))
    frame = b.type(b.input(2)).getNumElements();
  if (b.has(3))
    frame = b.integer(3, "frame_length").value_or(0);
  int64_t distance = *step;
  if (frame < 1 || frame > signal || frame > kLongest || distance < 1)
    return {b.fail("cannot cut frames of " + Twine(frame) + " elements, " +
                   Twine(distance) + " apart, from " + Twine(signal))};
  int64_t count = (signal - frame) / distance + 1;
  if (count > (int64_t(1) << 24) / frame)
    return {b.fail(Twine(count) + " frames of " + Twine(frame) +
                   " elements are too many")};
  Ints elements;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < frame; ++k)
      elements.push_back(i * distance + k);
  Value frames = b.gather(x, b.constantInts({count, frame}, elements), 1);
  auto parts = split(b, frames);
  if (!parts)
    return {Value()};
  if (b.has(2)) {
    Value window = b.cast(fit(b, b.input(2), frame), b.element(parts->real));
    parts->real = b.mul(parts->real, window);
    if (parts->imaginary)
      parts->imaginary = b.mul(parts->imaginary, window);
  }
  int64_t columns = b.intAttribute("onesided", 1) ? frame / 2 + 1 : frame;
  Matrices m = makeMatrices(b, frame, frame, columns);
  return {join(b, transform(b, *parts, m, /*inverse=*/false), b.element(x))};
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// a0 - a1 · cos(2πn / N) + a2 · cos(4πn / N)
Results window(NodeBuilder &b, double a0, double a1, double a2) {
  auto given = b.integer(0, "the size");
  constexpr int64_t kFloat32 = 1;
  Type type = b.elementType(b.intAttribute("output_datatype", kFloat32));
  if (!given || !type)
    return {Value()};
  int64_t size = *given;
  if (size < 1 || size > (int64_t(1) << 20))
    return {b.fail("a window of " + Twine(size) + " elements has no sense")};
  bool isPeriodic = b.intAttribute("periodic", 1);
  double length = static_cast<double>(isPeriodic ? size : size - 1);
  SmallVector<double> values;
  for (int64_t n = 0; n < size; ++n) {
    double angle =
        2 * std::numbers::pi * static_cast<double>(n) / std::max(length, 1.0);
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return {b.constantFloats(type, size, values)};
}

Results hann(NodeBuilder &b) { return window(b, 0.5, 0.5, 0); }
Results hamming(NodeBuilder &b) { return window(b, 25.0 / 46, 21.0 / 46, 0); }
Results blackman(NodeBuilder &b) { return window(b, 0.42, 0.5, 0.08); }

//===----------------------------------------------------------------------===//
// MelWeightMatrix
//===----------------------------------------------------------------------===//

double melOf(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertzOf(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// Triangles over the bins of a spectrum, evenly apart in mels: band i rises
/// from edges[i] to edges[i + 1] and falls to edges[i + 2].
SmallVector<double> melTriangles(ArrayRef<int64_t> edges, int64_t bins,
                                 int64_t bands) {
  SmallVector<double> weights(bins * bands, 0);
  for (int64_t i = 0; i < bands; ++i) {
    int64_t low = edges[i], middle = edges[i + 1], high = edges[i + 2];
    auto set = [&](int64_t bin, int64_t part, int64_t whole) {
      weights[bin * bands + i] =
          static_cast<double>(part) / static_cast<double>(whole);
    };
    if (low == middle)
      set(middle, 1, 1);
    else
      for (int64_t bin = low; bin <= middle; ++bin)
        set(bin, bin - low, middle - low);
    for (int64_t bin = middle; bin < high; ++bin)
      set(bin, high - bin, high - middle);
  }
  return weights;
}

Results melWeightMatrix(NodeBuilder &b) {
  static constexpr const char *kNames[] = {"num_mel_bins", "dft_length",
                                           "sample_rate", "lower_edge_hertz",
                                           "upper_edge_hertz"};
  double given[5];
  for (int i = 0; i < 5; ++i) {
    auto value = b.number(i, kNames[i]);
    if (!value)
      return {Value()};
    given[i] = *value;
  }
  auto [bandCount, length, rate, lowest, highest] = given;
  if (!(bandCount >= 1 && bandCount <= kLongest && length >= 1 &&
        length <= kLongest && rate > 0 && lowest >= 0 && highest > lowest &&
        highest <= rate / 2))
    return {b.fail("expected 1 to " + Twine(kLongest) +
                   " for num_mel_bins and dft_length, and edges from 0 to half "
                   "the sample_rate")};
  auto bands = static_cast<int64_t>(bandCount);
  int64_t bins = static_cast<int64_t>(length) / 2 + 1;
  double low = melOf(lowest);
  double step = (melOf(highest) - low) / static_cast<double>(bands + 2);
  Ints edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    double hertz = hertzOf(low + static_cast<double>(i) * step);
    auto bin = static_cast<int64_t>(std::floor((length + 1) * hertz / rate));
    edges.push_back(std::clamp<int64_t>(bin, 0, bins - 1));
  }
  constexpr int64_t kFloat32 = 1;
  Type type = b.elementType(b.intAttribute("output_datatype", kFloat32));
  if (!type)
    return {Value()};
  return {
      b.constantFloats(type, {bins, bands}, melTriangles(edges, bins, bands))};
}

} // namespace

OpFamily signalOps() {
  return {{"BlackmanWindow", blackman},         {"DFT", dft},
          {"HammingWindow", hamming},           {"HannWindow", hann},
          {"MelWeightMatrix", melWeightMatrix}, {"STFT", stft}};
}

} // namespace tinh::onnx
