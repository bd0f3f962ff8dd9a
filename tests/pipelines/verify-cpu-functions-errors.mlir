// What stands in for functions and variables, where there is no GPU, must do so
// for all of them.
// RUN: rm -rf %t && split-file %s %t
// RUN: not graph-compile %t/graph-1.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH1
// RUN: not graph-compile %t/graph-2.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH2
// RUN: not graph-compile %t/graph-3.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH3
// RUN: not graph-compile %t/graph-4.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH4
// RUN: not graph-compile %t/graph-5.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH5
// RUN: not graph-compile %t/graph-6.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH6
// RUN: not graph-compile %t/kernels-1.mlir --from=kernels -o %t/out.so 2>&1 | FileCheck %s --check-prefix=KERNELS1
// RUN: not graph-compile %t/plan-1.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN1
// RUN: not graph-compile %t/plan-2.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN2

//--- graph-1.mlir
// GRAPH1: "g" stands in for "f" where the GPU is missing, but is not in its place among the others of its kind
func.func @main() {
  return
}
func.func @g() attributes {graph.instead_of = "f"} {
  return
}

//--- graph-2.mlir
// GRAPH2: "predict" has nothing that stands in for it where the GPU is missing, as others have
func.func @main() {
  return
}
func.func @predict() {
  return
}
func.func @main_cpu() attributes {graph.instead_of = "main"} {
  return
}

//--- graph-3.mlir
// GRAPH3: "main_cpu" stands in for "main" with other inputs
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) {
  return
}
func.func @main_cpu(%x: tensor<8xf32> {graph.name = "y"}) attributes {graph.instead_of = "main"} {
  return
}

//--- graph-4.mlir
// GRAPH4: "main_cpu" stands in for "main" with other outputs
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  return %x : tensor<8xf32>
}
func.func @main_cpu(%x: tensor<8xf32> {graph.name = "x"}) attributes {graph.instead_of = "main"} {
  return
}

//--- graph-5.mlir
// GRAPH5: "w.cpu" stands in for "w" as another type of variable
graph.variable "w" = dense<0.0> : tensor<8xf32>
graph.variable "w.cpu" = dense<0.0> : tensor<4xf32> {graph.instead_of = "w"}
func.func @main() {
  return
}
func.func @main_cpu() attributes {graph.instead_of = "main"} {
  return
}

//--- graph-6.mlir
// GRAPH6: "main_cpu" stands in for "main" with other inputs
graph.variable "w" = dense<0.0> : tensor<8xf32>
graph.variable "w.cpu" = dense<0.0> : tensor<8xf32> {graph.instead_of = "w"}
func.func @main(%w: tensor<8xf32> {graph.variable = "w"}) {
  return
}
func.func @main_cpu(%w: tensor<8xf32> {graph.variable = "w"}) attributes {graph.instead_of = "main"} {
  return
}

//--- kernels-1.mlir
// KERNELS1: is for the GPU, but in @main_cpu, which is for machines without one
module attributes {graph.cuda = ["emulated"]} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) {
    return
  }
  func.func @main_cpu(%x: tensor<8xf32> {graph.name = "x"}) attributes {graph.instead_of = "main"} {
    %0 = graph.transfer %x to "cuda" : tensor<8xf32>
    %1 = graph.dispatch @relu_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
  func.func private @relu_0(%x: tensor<8xf32>) -> tensor<8xf32>
      attributes {graph.device = "cuda", graph.threads = 256 : i64, graph.chunks = 1 : i64, graph.scratch = 0 : i64} {
    return %x : tensor<8xf32>
  }
}

//--- plan-1.mlir
// PLAN1: "w.cpu" stands in for "w" on the CPU, but lies on the GPU
module attributes {graph.cuda = ["emulated"]} {
  plan.variable "w" : tensor<8xf32> on_device
  plan.variable "w.cpu" : tensor<8xf32> on_device {graph.instead_of = "w"}
  plan.function @main inputs() outputs() arena 0 unplanned 0 lower_bound 0 {
  }
  plan.function @main_cpu inputs() outputs() arena 0 unplanned 0 lower_bound 0 attributes {graph.instead_of = "main"} {
  }
}

//--- plan-2.mlir
// PLAN2: is for the GPU, but in @main_cpu, which is for machines without one
module attributes {graph.cuda = ["emulated"]} {
  plan.function @main inputs("x": tensor<8xf32>) outputs() arena 0 unplanned 0 lower_bound 0 {
  }
  plan.function @main_cpu inputs("x": tensor<8xf32>) outputs() arena 0 unplanned 0 lower_bound 0
      device_arena 32 unplanned 32 lower_bound 32 attributes {graph.instead_of = "main"} {
    %0 = plan.copy input 0[0 to 32] to device[0 to 32]
  }
}
