//===- tinh/nn/conv.h - Convolution layers ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over [N, C, spatial…]. Lists are by spatial dimension, or one number for all.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_CONV_H
#define TINH_NN_CONV_H

#include "tinh/nn/layers.h"

namespace tinh::nn {

/// What lies in the padding: zeros, the elements before the edge backwards, the
/// edge repeated, or the elements of the other end.
enum class PaddingMode { Zeros, Reflect, Replicate, Circular };

struct ConvOptions {
  IntArray stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  PaddingMode padding_mode = PaddingMode::Zeros;
};
struct ConvTransposeOptions {
  IntArray stride = 1, padding = 0, output_padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// What all convolutions have. Initial values are PyTorch's: uniform in
/// ±1/√fan_in.
class ConvBase : public QuantizableLayer {
public:
  int64_t output_axis() const override { return isTransposed ? 1 : 0; }

  Tensor
      weight;  ///< [out, in / groups, kernel…]; transposed: in and out swapped.
  Tensor bias; ///< [out], or none.

protected:
  ConvBase(int64_t in, int64_t out, const IntArray &kernel, int64_t dims,
           ConvTransposeOptions options, PaddingMode mode, bool isTransposed);
  void infer(const Shape &input) override;
  Tensor forward(const Tensor &x) override;
  /// x with the padding that is not zeros.
  Tensor padded(const Tensor &x) const;

  ConvTransposeOptions options;

private:
  Shape weightShape(int64_t in) const;

  PaddingMode mode;
  IntArray edge; ///< The padding, if it is not zeros.

  int64_t out;
  IntArray kernel;
  bool isTransposed;
};

class Conv1d : public ConvBase {
public:
  Conv1d(int64_t in, int64_t out, const IntArray &kernel,
         const ConvOptions &options = {});
  std::string type_name() const override { return "Conv1d"; }
};

class Conv2d : public ConvBase {
public:
  Conv2d(int64_t in, int64_t out, const IntArray &kernel,
         const ConvOptions &options = {});
  std::string type_name() const override { return "Conv2d"; }
};

class ConvTranspose1d : public ConvBase {
public:
  ConvTranspose1d(int64_t in, int64_t out, const IntArray &kernel,
                  const ConvTransposeOptions &options = {});
  std::string type_name() const override { return "ConvTranspose1d"; }
};

class ConvTranspose2d : public ConvBase {
public:
  ConvTranspose2d(int64_t in, int64_t out, const IntArray &kernel,
                  const ConvTransposeOptions &options = {});
  std::string type_name() const override { return "ConvTranspose2d"; }
};

} // namespace tinh::nn

#endif // TINH_NN_CONV_H
