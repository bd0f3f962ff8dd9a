//===- tinh/nn/norms.h - Normalisation layers -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_NORMS_H
#define TINH_NN_NORMS_H

#include "tinh/nn/module.h"

namespace tinh::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  /// How far the running statistics move toward those of a batch.
  double momentum = 0.1;
  bool affine = true;
  /// Without, statistics are always those of the batch.
  bool track_running_stats = true;
};

/// By channel: while training with the statistics of the batch, which the
/// running ones follow, otherwise with these.
class BatchNormBase : public Module {
public:
  Tensor weight, bias; ///< [channels], or none.
  Tensor running_mean, running_var;
  Tensor num_batches_tracked; ///< int64, of rank 0.

protected:
  BatchNormBase(int64_t channels, const BatchNormOptions &options,
                int64_t dims);
  Tensor forward(const Tensor &x) override;
  void infer(const Shape &input) override;

private:
  BatchNormOptions options;
  int64_t dims; ///< Spatial ones.
};

/// Of [N, C] or [N, C, length].
class BatchNorm1d : public BatchNormBase {
public:
  explicit BatchNorm1d(int64_t channels, const BatchNormOptions &options = {})
      : BatchNormBase(channels, options, 1) {}
  std::string type_name() const override { return "BatchNorm1d"; }
};

/// Of [N, C, height, width].
class BatchNorm2d : public BatchNormBase {
public:
  explicit BatchNorm2d(int64_t channels, const BatchNormOptions &options = {})
      : BatchNormBase(channels, options, 2) {}
  std::string type_name() const override { return "BatchNorm2d"; }
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};

/// Over the last dimensions, of the given shape.
class LayerNorm : public Module {
public:
  explicit LayerNorm(const Shape &shape, const LayerNormOptions &options = {});
  std::string type_name() const override { return "LayerNorm"; }

  Tensor weight, bias; ///< Of that shape, or none.

protected:
  Tensor forward(const Tensor &x) override;
  void infer(const Shape &input) override;

private:
  Shape shape;
  double eps;
  bool hasBias;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
};

class GroupNorm : public Module {
public:
  GroupNorm(int64_t groups, int64_t channels,
            const GroupNormOptions &options = {});
  std::string type_name() const override { return "GroupNorm"; }

  Tensor weight, bias; ///< [channels], or none.

protected:
  Tensor forward(const Tensor &x) override;
  void infer(const Shape &input) override;

private:
  int64_t groups;
  double eps;
};

} // namespace tinh::nn

#endif // TINH_NN_NORMS_H
