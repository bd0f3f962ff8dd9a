// RUN: graph-opt %s --schedule-collectives | FileCheck %s
// RUN: graph-opt %s --schedule-collectives='latency=0.001 bandwidth=1000' | FileCheck %s --check-prefix=FAST
// RUN: graph-opt %s --schedule-collectives --plan-memory | FileCheck %s --check-prefix=PLAN

// What depends on a reduction comes last; two that are ready one after the other
// are one where a latency costs more than waiting, whole vectors first.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[B:.*]] = graph.dispatch @three
// CHECK: %[[A:.*]] = graph.dispatch @relu
// CHECK-DAG: %[[FLAT_A:.*]] = graph.reshape %[[A]] : tensor<4x4xf32> to tensor<16xf32>
// CHECK-DAG: %[[FLAT_B:.*]] = graph.reshape %[[B]] : tensor<3xf32> to tensor<3xf32>
// CHECK: %[[BUCKET:.*]] = graph.concat %[[FLAT_A]], %[[FLAT_B]] axis 0
// CHECK-NEXT: %[[ALL:.*]] = graph.all_reduce mean %[[BUCKET]] : tensor<19xf32>
// CHECK: graph.dispatch @other
// CHECK-DAG: graph.slice %[[ALL]] starts [0] sizes [16]
// CHECK-DAG: graph.slice %[[ALL]] starts [16] sizes [3]
// CHECK: graph.dispatch @update_three
// CHECK: graph.dispatch @update

// FAST-LABEL: func.func @gradients
// FAST: graph.all_reduce mean {{.*}} : tensor<3xf32>
// FAST: graph.all_reduce mean {{.*}} : tensor<4x4xf32>
// FAST: graph.dispatch @other
// FAST: graph.dispatch @update_three
// FAST: graph.dispatch @update

// Kernels write their results where they lie in the bucket, which is reduced in
// place while another kernel runs.
// PLAN: plan.function @gradients
// PLAN: plan.dispatch @three {{.*}} writes(arena[64 to 76])
// PLAN: plan.dispatch @relu {{.*}} writes(arena[0 to 64])
// PLAN: %[[START:.*]] = plan.start after {{.*}} <all_reduce, mean, f32> arena[0 to 76] to arena[0 to 76]
// PLAN: plan.dispatch @other {{.*}} writes(output 0[0 to 64])
// PLAN: %[[AWAIT:.*]] = plan.await %[[START]]
// PLAN: plan.dispatch @update_three after %[[AWAIT]]
func.func @gradients(
    %x: tensor<4x4xf32> {graph.name = "x"},
    %y: tensor<3xf32> {graph.name = "y"},
    %w: tensor<4x4xf32> {graph.variable = "w"},
    %b: tensor<3xf32> {graph.variable = "b"})
    -> (tensor<4x4xf32> {graph.name = "z"}, tensor<3xf32> {graph.variable = "b"},
        tensor<4x4xf32> {graph.variable = "w"}) {
  %0 = graph.dispatch @three(%y) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.all_reduce mean %0 : tensor<3xf32>
  %2 = graph.dispatch @update_three(%b, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = graph.dispatch @relu(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = graph.all_reduce mean %3 : tensor<4x4xf32>
  %5 = graph.dispatch @update(%w, %4) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = graph.dispatch @other(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %6, %2, %5 : tensor<4x4xf32>, tensor<3xf32>, tensor<4x4xf32>
}

graph.variable "w" = dense<0.0> : tensor<4x4xf32> trainable
graph.variable "b" = dense<0.0> : tensor<3xf32> trainable

// One on which another one depends is not kept waiting: it is alone, and what
// needs it comes before what needs the others.
// CHECK-LABEL: func.func @norms
// CHECK: %[[X:.*]] = graph.dispatch @three
// CHECK-NEXT: %[[MEAN:.*]] = graph.all_reduce mean %[[X]]
// CHECK: graph.dispatch @three(%arg1)
// CHECK: graph.dispatch @three(%[[MEAN]])
// CHECK: graph.all_reduce mean {{.*}} : tensor<6xf32>
func.func @norms(%x: tensor<3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"})
    -> (tensor<3xf32> {graph.name = "u"}, tensor<3xf32> {graph.name = "v"}) {
  %0 = graph.dispatch @three(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.all_reduce mean %0 : tensor<3xf32>
  %2 = graph.dispatch @three(%y) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = graph.all_reduce mean %2 : tensor<3xf32>
  %4 = graph.dispatch @three(%3) : (tensor<3xf32>) -> tensor<3xf32>
  %5 = graph.dispatch @three(%1) : (tensor<3xf32>) -> tensor<3xf32>
  %6 = graph.all_reduce mean %5 : tensor<3xf32>
  return %4, %6 : tensor<3xf32>, tensor<3xf32>
}

// The same reduction is done once. What else reads the operand later keeps it
// from being reduced in place.
// PLAN: plan.function @twice
// PLAN: %[[START:.*]] = plan.start after {{.*}} <all_reduce, sum, f32> arena[64 to 76] to arena[0 to 12]
// PLAN-NOT: plan.start
// PLAN: plan.dispatch @three {{.*}} reads(arena[64 to 76])
// PLAN: plan.await %[[START]]
func.func @twice(%x: tensor<3xf32> {graph.name = "x"})
    -> (tensor<3xf32> {graph.name = "u"}, tensor<3xf32> {graph.name = "v"}, tensor<3xf32> {graph.name = "w"}) {
  %0 = graph.dispatch @three(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.all_reduce sum %0 : tensor<3xf32>
  %2 = graph.all_reduce sum %0 : tensor<3xf32>
  %3 = graph.dispatch @three(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %4 = graph.dispatch @three(%1) : (tensor<3xf32>) -> tensor<3xf32>
  %5 = graph.dispatch @three(%2) : (tensor<3xf32>) -> tensor<3xf32>
  return %3, %4, %5 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// On the GPU, too, in its arena.
// PLAN: plan.function @on_gpu
// PLAN: plan.dispatch @gpu_three {{.*}} writes(device[0 to 12])
// PLAN: plan.dispatch @gpu_three {{.*}} writes(device[12 to 24])
// PLAN: %[[START:.*]] = plan.start after {{.*}} <all_reduce, mean, f32> device[0 to 24] to device[0 to 24]
// PLAN: %[[AWAIT:.*]] = plan.await %[[START]]
// PLAN: plan.copy after %[[AWAIT]] device[0 to 12] to output 0[0 to 12]
func.func @on_gpu(%x: tensor<3xf32> {graph.name = "x"})
    -> (tensor<3xf32> {graph.name = "u"}, tensor<3xf32> {graph.name = "v"}) {
  %0 = graph.transfer %x to "cuda" : tensor<3xf32>
  %1 = graph.dispatch @gpu_three(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = graph.all_reduce mean %1 {graph.device = "cuda"} : tensor<3xf32>
  %3 = graph.dispatch @gpu_three(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %4 = graph.all_reduce mean %3 {graph.device = "cuda"} : tensor<3xf32>
  %5 = graph.transfer %2 to "cpu" : tensor<3xf32>
  %6 = graph.transfer %4 to "cpu" : tensor<3xf32>
  return %5, %6 : tensor<3xf32>, tensor<3xf32>
}

func.func private @gpu_three(%x: tensor<3xf32>) -> tensor<3xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.threads = 32 : i64, graph.device = "cuda"} {
  return %x : tensor<3xf32>
}
func.func private @three(%x: tensor<3xf32>) -> tensor<3xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.estimate = 100 : i64} {
  return %x : tensor<3xf32>
}
func.func private @relu(%x: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.estimate = 100000 : i64} {
  return %x : tensor<4x4xf32>
}
func.func private @other(%x: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.estimate = 100000 : i64} {
  return %x : tensor<4x4xf32>
}
func.func private @update(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>], graph.estimate = 100 : i64} {
  return %w : tensor<4x4xf32>
}
func.func private @update_three(%w: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>], graph.estimate = 100 : i64} {
  return %w : tensor<3xf32>
}
