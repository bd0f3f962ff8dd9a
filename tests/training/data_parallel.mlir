// A training step of several ranks.
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --data-parallel --emit=differentiated | FileCheck %s
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --data-parallel --communication-dtype=bf16 --emit=differentiated | FileCheck %s --check-prefix=SENT
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --data-parallel --sync-batch-norm --emit=differentiated | FileCheck %s --check-prefix=SYNC
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --data-parallel --shard-optimizer=4 --emit=differentiated | FileCheck %s --check-prefix=SHARD
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --precision=f16 --data-parallel --shard-optimizer=4 --emit=differentiated | FileCheck %s --check-prefix=SCALED
// RUN: graph-compile %s --train --loss=mse --optimizer=sgd,lr=0.5,momentum=0.9 --data-parallel --emit=plan | FileCheck %s --check-prefix=PLAN

// Running statistics are those of all ranks, the loss is reported as their mean,
// and gradients are averaged before they update anything.
// CHECK-LABEL: func.func @train_step
// CHECK: graph.reduce mean {{.*}} -> tensor<2xf32>
// CHECK: %[[RUNNING:.*]] = graph.add
// CHECK: graph.all_reduce mean %[[RUNNING]] : tensor<2xf32>
// CHECK: graph.all_reduce mean {{.*}} : tensor<f32>
// CHECK: %[[GRADIENT:.*]] = graph.all_reduce mean {{.*}} : tensor<3x2xf32>
// CHECK: graph.all_reduce mean {{.*}} : tensor<2xf32>
// CHECK: graph.add {{.*}}, %[[GRADIENT]]
// What is evaluated is a rank's own.
// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: graph.all_reduce

// Gradients alone are sent in fewer bytes.
// SENT-LABEL: func.func @train_step
// SENT: graph.all_reduce mean {{.*}} : tensor<f32>
// SENT: graph.all_reduce mean {{.*}} communication_dtype bf16 : tensor<3x2xf32>

// SYNC-LABEL: func.func @train_step
// SYNC: %[[OWN:.*]] = graph.reduce mean {{.*}} -> tensor<2xf32>
// SYNC: %[[ALL:.*]] = graph.all_reduce mean %[[OWN]]
// SYNC: graph.sub %[[OWN]], %[[ALL]]
// SYNC: graph.all_reduce mean
// SYNC: graph.mul %[[ALL]],

// 6 elements among 4 ranks are 2 for each.
// SHARD-DAG: graph.variable "optimizer.w.momentum_buffer" = dense<0.000000e+00> : tensor<2xf32>
// SHARD-LABEL: func.func @train_step
// SHARD: %[[RANK:.*]] = graph.reduce_scatter max {{.*}} ranks 4 : tensor<4xi64> -> tensor<1xi64>
// SHARD: graph.reduce_scatter mean {{.*}} ranks 4 : tensor<8xf32> -> tensor<2xf32>
// SHARD: graph.all_gather {{.*}} ranks 4 : tensor<2xf32> -> tensor<8xf32>

// All ranks must find the gradients of all finite.
// SCALED-LABEL: func.func @train_step
// SCALED: graph.reduce_scatter mean
// SCALED: graph.compare less
// SCALED: graph.all_reduce mean {{.*}} : tensor<f32>
// SCALED: graph.compare equal

// PLAN: plan.function @train_step
// PLAN: %[[START:.*]] = plan.start {{.*}} <all_reduce, mean, f32>
// PLAN: plan.await %[[START]]
module attributes {graph.model = "normed"} {
  func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
    %w = graph.constant dense<[[0.5, 1.0], [-0.25, 2.0], [0.125, -1.0]]> : tensor<3x2xf32> loc("w")
    %scale = graph.constant dense<1.0> : tensor<2xf32> loc("scale")
    %bias = graph.constant dense<0.5> : tensor<2xf32> loc("bias")
    %mean = graph.constant dense<0.25> : tensor<2xf32> loc("mean")
    %variance = graph.constant dense<1.5> : tensor<2xf32> loc("variance")
    %0 = graph.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
    %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance epsilon 1.0e-5 channels_first : tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    return %1 : tensor<4x2xf32>
  }
}
