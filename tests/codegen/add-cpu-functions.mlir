// RUN: graph-opt %s --split-input-file --add-cpu-functions | FileCheck %s
// RUN: graph-opt %s --split-input-file --add-cpu-functions --place-kernels | FileCheck %s --check-prefix=PLACED

// Variables and functions get copies behind them, under names of their own.
// CHECK: module attributes {graph.cuda = ["sm_80"], graph.place = ["relu=cuda"]} {
// CHECK-NEXT: graph.variable "w" = dense<1.000000e+00> : tensor<8xf32> trainable{{$}}
// CHECK-NEXT: graph.variable "w.cpu" = dense<0.000000e+00> : tensor<8xf32>{{$}}
// CHECK-NEXT: graph.variable "w.cpu.1" = dense<1.000000e+00> : tensor<8xf32> trainable {graph.instead_of = "w"}
// CHECK-NEXT: graph.variable "w.cpu.cpu" = dense<0.000000e+00> : tensor<8xf32> {graph.instead_of = "w.cpu"}
// CHECK: func.func @step(%{{.*}}: tensor<8xf32> {graph.variable = "w"}, %{{.*}}: tensor<8xf32> {graph.variable = "w.cpu"}) -> (tensor<8xf32> {graph.variable = "w"}) {
// CHECK: func.func @main(
// CHECK: func.func @step_cpu(%{{.*}}: tensor<8xf32> {graph.variable = "w.cpu.1"}, %{{.*}}: tensor<8xf32> {graph.variable = "w.cpu.cpu"}) -> (tensor<8xf32> {graph.variable = "w.cpu.1"}) attributes {graph.instead_of = "step"} {
// CHECK: func.func @main_cpu(%{{.*}}: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) attributes {graph.instead_of = "main"} {

// Kernels of the copies stay on the CPU, whatever the rules.
// PLACED: graph.variable "w" = {{.*}} on "cuda"
// PLACED: graph.variable "w.cpu.1" = dense<1.000000e+00> : tensor<8xf32> trainable {
// PLACED: func.func @main(
// PLACED: graph.transfer
// PLACED: graph.kernel {{.*}} attributes {graph.device = "cuda"}
// PLACED: func.func @step_cpu(
// PLACED-NOT: graph.transfer
// PLACED-NOT: graph.device
// PLACED: // -----
module attributes {graph.also_cpu, graph.cuda = ["sm_80"], graph.place = ["relu=cuda"]} {
  graph.variable "w" = dense<1.0> : tensor<8xf32> trainable
  graph.variable "w.cpu" = dense<0.0> : tensor<8xf32>
  func.func @step(%w: tensor<8xf32> {graph.variable = "w"}, %v: tensor<8xf32> {graph.variable = "w.cpu"})
      -> (tensor<8xf32> {graph.variable = "w"}) {
    %0 = graph.kernel (%a = %w, %b = %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      %1 = graph.add %a, %b : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      graph.yield %1 : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %y = graph.kernel (%a = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.relu %a : tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    return %y : tensor<8xf32>
  }
}

// -----

// Where no GPU is compiled for, there is nothing to stand in for.
// CHECK: module {
// CHECK-NOT: graph.instead_of
module attributes {graph.also_cpu} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    return %x : tensor<8xf32>
  }
}
