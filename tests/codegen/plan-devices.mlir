// RUN: graph-opt %s --split-input-file --plan-memory | FileCheck %s
// RUN: graph-opt %s --split-input-file --plan-memory | graph-opt --split-input-file | FileCheck %s

// Each device has an arena. Weights are read where the kernel runs, transfers
// are copies, and a result is copied to where the caller wants it.
// CHECK-LABEL: plan.function @two_arenas
// CHECK: arena 64 unplanned 64 lower_bound 64
// CHECK-NEXT: device_arena 128 unplanned 192 lower_bound 128 {
// CHECK-NEXT: %[[IN:.*]] = plan.copy input 0[0 to 64] to device[0 to 64]
// CHECK-NEXT: %[[A:.*]] = plan.dispatch @add_gpu after %[[IN]] chunks 2 threads 64 scratch 128 reads(device[0 to 64], device_weights[0 to 64]) writes(device[64 to 128])
// CHECK-NEXT: %[[B:.*]] = plan.dispatch @neg_gpu after %[[A]] chunks 1 threads 32 scratch 0 reads(device[64 to 128]) writes(device[{{.*}}])
// CHECK-NEXT: %[[OUT:.*]] = plan.copy after %[[B]] device[{{.*}}] to arena[0 to 64]
// CHECK-NEXT: %{{.*}} = plan.dispatch @add_cpu after %[[OUT]] chunks 1 scratch 0 reads(arena[0 to 64], weights[0 to 64]) writes(output 0[0 to 64])
// CHECK: plan.copy {{.*}}device{{.*}} to output 1[0 to 64]
func.func @init(%0: tensor<16xf32> {graph.source = dense<2.0> : tensor<16xf32>}) -> (tensor<16xf32> {graph.name = "w"}) {
  return %0 : tensor<16xf32>
}
func.func @two_arenas(%x: tensor<16xf32> {graph.name = "x"}) -> (tensor<16xf32> {graph.name = "y"}, tensor<16xf32> {graph.name = "z"}) {
  %w = graph.weight "w" : tensor<16xf32>
  %d = graph.transfer %x to "cuda" : tensor<16xf32>
  %0 = graph.dispatch @add_gpu(%d, %w) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.dispatch @neg_gpu(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %h = graph.transfer %1 to "cpu" : tensor<16xf32>
  %y = graph.dispatch @add_cpu(%h, %w) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %z = graph.transfer %1 to "cpu" : tensor<16xf32>
  return %y, %z : tensor<16xf32>, tensor<16xf32>
}
func.func private @add_gpu(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.device = "cuda", graph.chunks = 2 : i64, graph.threads = 64 : i64, graph.scratch = 128 : i64} {
  return %a : tensor<16xf32>
}
func.func private @neg_gpu(%a: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64} {
  return %a : tensor<16xf32>
}
func.func private @add_cpu(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
  return %a : tensor<16xf32>
}

// -----

// A variable on the GPU is one memory there; its next value is written over the
// old one.
// CHECK: plan.variable "w" : tensor<16xf32> trainable on_device
// CHECK-LABEL: plan.function @step
// CHECK: arena 0 unplanned 0 lower_bound 0
// CHECK-NEXT: device_arena 64 unplanned 64 lower_bound 64 {
// CHECK-NEXT: %[[IN:.*]] = plan.copy input 0[0 to 64] to device[0 to 64]
// CHECK-NEXT: plan.dispatch @update after %[[IN]] chunks 1 threads 32 scratch 0 reads(device[0 to 64], input 1[0 to 64]) writes(input 1[0 to 64] inplace 1)
// CHECK-NEXT: }
graph.variable "w" = dense<0.0> : tensor<16xf32> trainable on "cuda"
func.func @step(%x: tensor<16xf32> {graph.name = "x"}, %w: tensor<16xf32> {graph.variable = "w"}) -> (tensor<16xf32> {graph.variable = "w"}) {
  %d = graph.transfer %x to "cuda" : tensor<16xf32>
  %0 = graph.dispatch @update(%d, %w) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @update(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32>
    attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 1, 0>]} {
  return %a : tensor<16xf32>
}

// -----

// A loop whose condition is computed on the GPU, and read on the CPU. What it
// begins with is a weight that lies there already; rows are found there, and the
// number of the iteration is copied.
// CHECK-LABEL: plan.function @loop
// CHECK: plan.copy input 0[0 to 160] to device[[XS:\[.*\]]]
// CHECK: plan.copy input 1[0 to 1] to arena[[GO:\[.*\]]]
// CHECK: plan.copy device_weights[0 to 16] to device[[A:\[.*\]]]
// CHECK: plan.zero device
// CHECK: plan.loop length 10
// CHECK-NEXT: plan.leave {{.*}}unless arena[[GO]]
// CHECK-NEXT: %[[I:.*]] = plan.copy {{.*}}loop 0[0 to 8] to device[[I:\[.*\]]]
// CHECK-NEXT: %[[D:.*]] = plan.dispatch @body after %{{.*}} chunks 1 threads 32 scratch 0 reads(device[[A]], device[{{.*}}] step (16), device[[I]]) writes(device[[A]] inplace 0, device[[ON:\[.*\]]])
// CHECK-NEXT: plan.copy after %[[D]] device[[ON]] to arena[[GO]]
// CHECK: plan.copy {{.*}} to device[{{.*}}] step (16)
// CHECK: plan.end_loop
// CHECK: to output
func.func @init(%0: tensor<4xf32> {graph.source = dense<2.0> : tensor<4xf32>}) -> (tensor<4xf32> {graph.name = "zero"}) {
  return %0 : tensor<4xf32>
}
func.func @loop(%x: tensor<10x4xf32> {graph.name = "x"}, %go: tensor<i1> {graph.name = "go"})
    -> (tensor<4xf32> {graph.name = "sum"}, tensor<10x4xf32> {graph.name = "sums"}) {
  %xs = graph.transfer %x to "cuda" : tensor<10x4xf32>
  %zero = graph.weight "zero" : tensor<4xf32>
  %sum, %sums = graph.scan %i length 10 while %go carry (%a = %zero) over (%row = %xs)
      : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>) {
    %at = graph.transfer %i to "cuda" : tensor<i64>
    %n, %c = graph.dispatch @body(%a, %row, %at) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i1>)
    %on = graph.transfer %c to "cpu" : tensor<i1>
    graph.yield %on, %n, %n : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  %0 = graph.transfer %sum to "cpu" : tensor<4xf32>
  %1 = graph.transfer %sums to "cpu" : tensor<10x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<10x4xf32>
}
func.func private @body(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: tensor<i64>) -> (tensor<4xf32>, tensor<i1>)
    attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64, graph.inplace = [array<i64: 0, 0>]} {
  %c = arith.constant dense<true> : tensor<i1>
  return %a, %c : tensor<4xf32>, tensor<i1>
}
