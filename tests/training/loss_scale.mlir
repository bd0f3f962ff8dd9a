// A training step in f16, whose loss is scaled.
// RUN: graph-compile %s --train --loss=mse --trainable='w*' --optimizer=sgd,lr=0.5,momentum=0.9 --precision=f16 --emit=differentiated | FileCheck %s
// RUN: graph-compile %s --train --loss=mse --trainable='w*' --optimizer=sgd,lr=0.5,momentum=0.9 --emit=normalised -o %t.mlir
// RUN: graph-compile %t.mlir --from=normalised --train --loss=mse --trainable='w*' --optimizer=sgd,lr=0.5,momentum=0.9 --precision=f16 --emit=differentiated | FileCheck %s
// RUN: graph-compile %s --train --loss=mse --trainable='w*' --optimizer=sgd,lr=0.5,momentum=0.9 --precision=f16 --loss-scale=1024 --emit=differentiated | FileCheck %s --check-prefix=FIXED
// RUN: graph-compile %s --train --loss=mse --trainable='w*' --optimizer=sgd,lr=0.5,momentum=0.9 --precision=f16 --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: graph-compile %s --train --loss=mse --trainable='w*' --optimizer=sgd,lr=0.5,momentum=0.9 --precision=f16 --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: graph-compile %s --train --loss=mse --trainable='w*' --optimizer=sgd --precision=bf16 --emit=differentiated | FileCheck %s --check-prefix=NARROW

// CHECK-DAG: graph.variable "loss_scale" = dense<6.553600e+04> : tensor<f32> loc
// CHECK-DAG: graph.variable "loss_scale.growth_tracker" = dense<0> : tensor<i32> loc
// CHECK: func.func @train_step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x2xf32> {graph.variable = "w"}
// CHECK-SAME: %[[MEAN:[a-z0-9]+]]: tensor<3xf32> {graph.variable = "norm.mean"}
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {graph.variable = "loss_scale"}
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<f32> {graph.variable = "optimizer.step"}
// CHECK-SAME: %[[BUFFER:[a-z0-9]+]]: tensor<3x2xf32> {graph.variable = "optimizer.w.momentum_buffer"}
// CHECK-SAME: %[[TRACKER:[a-z0-9]+]]: tensor<i32> {graph.variable = "loss_scale.growth_tracker"}

// The scale is the gradient of the loss.
// CHECK: graph.reduce mean {{.*}} axes [0, 1]
// CHECK: graph.reshape %[[SCALE]]
// CHECK: %[[GRADIENT:[0-9]+]] = graph.matmul {{.*}} transpose_a {{.*}} -> tensor<3x2xf16>
// CHECK: %[[FULL:[0-9]+]] = graph.cast %[[GRADIENT]] : tensor<3x2xf16> to tensor<3x2xf32>

// The largest magnitude says whether all elements are finite.
// CHECK: graph.abs %[[FULL]]
// CHECK: graph.reduce max
// CHECK: %[[FINITE:[0-9]+]] = graph.compare less

// If not, all variables but the scale keep their values.
// CHECK: graph.where %[[FINITE]], %{{[0-9]+}}, %[[MEAN]]
// CHECK: %[[INVERSE:[0-9]+]] = graph.reciprocal %[[SCALE]]
// CHECK: %[[UNSCALED:[0-9]+]] = graph.mul %[[FULL]], %[[INVERSE]] : tensor<3x2xf32>
// CHECK: %[[NEXT_STEP:[0-9]+]] = graph.add %[[STEP]]
// CHECK: graph.where %[[FINITE]], %[[NEXT_STEP]], %[[STEP]]
// CHECK: %[[SUM:[0-9]+]] = graph.add %{{[0-9]+}}, %[[UNSCALED]]
// CHECK: %[[MOVED:[0-9]+]] = graph.where %[[FINITE]], %[[SUM]], %[[BUFFER]]
// CHECK: graph.mul %[[MOVED]]
// CHECK: graph.where %[[FINITE]], %{{[0-9]+}}, %[[W]]

// CHECK: graph.add %[[TRACKER]]
// CHECK: graph.where %[[FINITE]]
// CHECK: graph.mul %[[SCALE]]
// CHECK: func.func @evaluate(
// CHECK-NOT: variable = "loss_scale

// A fixed scale is read alone.
// FIXED: graph.variable "loss_scale" = dense<1.024000e+03> : tensor<f32> loc
// FIXED-NOT: growth_tracker
// FIXED: func.func @train_step(
// FIXED-SAME: {graph.variable = "loss_scale"}
// FIXED-SAME: ->
// FIXED-NOT: {graph.variable = "loss_scale"}
// FIXED-SAME: {graph.variable = "optimizer.step"}
// FIXED: graph.compare less

// The gradient lies in memory in f16, and each of its readers makes f32 of it.
// An update is one kernel, which reads the old value and whether to keep it.
// FUSED: func.func @train_step(
// FUSED: graph.matmul {{.*}} transpose_a {{.*}} -> tensor<3x2xf16>
// FUSED-NEXT: graph.yield %{{[0-9]+}} : tensor<3x2xf16>
// FUSED: graph.cast
// FUSED-NEXT: graph.abs
// FUSED-NEXT: graph.reduce max
// FUSED-NEXT: graph.yield
// FUSED: graph.cast %{{.*}} : tensor<3x2xf16> to tensor<3x2xf32>
// FUSED-NEXT: graph.mul
// FUSED-NEXT: graph.mul
// FUSED-NEXT: graph.add
// FUSED-NEXT: graph.where
// FUSED-NEXT: graph.yield
// FUSED: graph.neg
// FUSED-NEXT: graph.mul
// FUSED-NEXT: graph.add
// FUSED-NEXT: graph.where
// FUSED-NEXT: graph.yield

// All are written over the old values.
// PLAN: plan.function @train_step
// PLAN-NOT: plan.copy
// PLAN: plan.function @evaluate

// NARROW-NOT: variable "loss_scale
func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
  %w = graph.constant dense<[[1.0, -1.0], [0.5, 2.0], [-0.25, 3.0]]> : tensor<3x2xf32> loc("w")
  %scale = graph.constant dense<2.0> : tensor<3xf32> loc("norm.scale")
  %shift = graph.constant dense<1.0> : tensor<3xf32> loc("norm.shift")
  %mean = graph.constant dense<0.0> : tensor<3xf32> loc("norm.mean")
  %variance = graph.constant dense<1.0> : tensor<3xf32> loc("norm.variance")
  %0 = graph.batch_norm %x, %scale, %shift, %mean, %variance epsilon 1.000000e-05 channels_first
      : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %1 = graph.matmul %0, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
