// The functions of training, of a model in IR.
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --trainable='w*' --emit=differentiated | FileCheck %s
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --trainable='w*' --emit=normalised -o %t.mlir
// RUN: graph-compile %t.mlir --from=normalised --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --emit=differentiated | FileCheck %s
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd --trainable='w*' --emit=plan | FileCheck %s --check-prefix=PLAN

// CHECK-DAG: graph.variable "w" = dense<{{.*}}> : tensor<3x2xf32> trainable
// CHECK-DAG: graph.variable "norm.mean" = dense<0.000000e+00> : tensor<3xf32> loc
// CHECK-DAG: graph.variable "norm.variance" = dense<1.000000e+00> : tensor<3xf32> loc
// CHECK-DAG: graph.variable "optimizer.lr" = dense<5.000000e-01> : tensor<f32> loc
// CHECK-DAG: graph.variable "optimizer.step" = dense<0.000000e+00> : tensor<f32> loc
// CHECK-DAG: graph.variable "optimizer.w.momentum_buffer" = dense<0.000000e+00> : tensor<3x2xf32> loc
// CHECK-NOT: graph.variable

// A frozen weight stays a constant; batch norms take the statistics of the batch
// and change the running ones.
// CHECK: func.func @train_step(
// CHECK-SAME: {graph.name = "x"}
// CHECK-SAME: {graph.name = "target"}
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"}
// CHECK-SAME: {graph.variable = "w"}
// CHECK-SAME: {graph.variable = "norm.mean"}
// CHECK-SAME: {graph.variable = "norm.variance"}
// CHECK-SAME: {graph.variable = "optimizer.step"}
// CHECK-SAME: {graph.variable = "optimizer.w.momentum_buffer"}
// CHECK: graph.reduce mean
// CHECK: graph.variance

// Otherwise they take the running ones.
// CHECK: func.func @evaluate(
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"}
// CHECK-SAME: tensor<4x2xf32> {graph.name = "y"})
// CHECK-NOT: graph.variance
// CHECK: func.func @predict(
// CHECK-NOT: {graph.name = "target"}
// CHECK-SAME: -> (tensor<4x2xf32> {graph.name = "y"})
// CHECK-NOT: graph.variance

// The update is written over the old weights.
// PLAN: plan.function @train_step
// PLAN: "w": tensor<3x2xf32> variable
// PLAN: writes(input 1[0 to 24] inplace
// PLAN: plan.function @evaluate
func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
  %w = graph.constant dense<[[1.0, -1.0], [0.5, 2.0], [-0.25, 3.0]]> : tensor<3x2xf32> loc("w")
  %b = graph.constant dense<[0.25, 0.75]> : tensor<2xf32> loc("b")
  %scale = graph.constant dense<2.0> : tensor<3xf32> loc("norm.scale")
  %shift = graph.constant dense<1.0> : tensor<3xf32> loc("norm.shift")
  %mean = graph.constant dense<0.0> : tensor<3xf32> loc("norm.mean")
  %variance = graph.constant dense<1.0> : tensor<3xf32> loc("norm.variance")
  %0 = graph.batch_norm %x, %scale, %shift, %mean, %variance epsilon 1.000000e-05 channels_first
      : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %1 = graph.matmul %0, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %2 = graph.add %1, %b : tensor<4x2xf32>, tensor<2xf32> -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
