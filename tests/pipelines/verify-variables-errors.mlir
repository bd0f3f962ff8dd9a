// What a module says of its variables must agree.
// RUN: rm -rf %t && split-file %s %t
// RUN: not graph-compile %t/graph-1.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH1
// RUN: not graph-compile %t/graph-2.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH2
// RUN: not graph-compile %t/graph-3.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH3
// RUN: not graph-compile %t/graph-4.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH4
// RUN: not graph-compile %t/graph-5.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH5
// RUN: not graph-compile %t/graph-6.mlir -o %t/out.so 2>&1 | FileCheck %s --check-prefix=GRAPH6
// RUN: not graph-compile %t/plan-1.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN1
// RUN: not graph-compile %t/plan-2.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN2
// RUN: not graph-compile %t/plan-3.mlir --from=plan -o %t/out.so 2>&1 | FileCheck %s --check-prefix=PLAN3

//--- graph-1.mlir
// GRAPH1: variable "w" is declared twice
graph.variable "w" = dense<0.0> : tensor<8xf32>
graph.variable "w" = dense<0.0> : tensor<8xf32>
func.func @step() {
  return
}

//--- graph-2.mlir
// GRAPH2: argument 0 of @step is variable "w", which the module does not declare
func.func @step(%w: tensor<8xf32> {graph.variable = "w"}) {
  return
}

//--- graph-3.mlir
// GRAPH3: argument 0 of @step is variable "w", which is 'tensor<8xf32>', not 'tensor<4xf32>'
graph.variable "w" = dense<0.0> : tensor<8xf32>
func.func @step(%w: tensor<4xf32> {graph.variable = "w"}) {
  return
}

//--- graph-4.mlir
// GRAPH4: argument 1 of @step is variable "w", as is another argument
graph.variable "w" = dense<0.0> : tensor<8xf32>
func.func @step(%v: tensor<8xf32> {graph.variable = "w"}, %w: tensor<8xf32> {graph.variable = "w"}) {
  return
}

//--- graph-5.mlir
// GRAPH5: result 1 of @step is variable "w", as is another result
graph.variable "w" = dense<0.0> : tensor<8xf32>
func.func @step(%w: tensor<8xf32> {graph.variable = "w"})
    -> (tensor<8xf32> {graph.variable = "w"}, tensor<8xf32> {graph.variable = "w"}) {
  return %w, %w : tensor<8xf32>, tensor<8xf32>
}

//--- graph-6.mlir
// GRAPH6: a result of @step is variable "w", but no argument is
graph.variable "w" = dense<0.0> : tensor<8xf32>
func.func @step(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.variable = "w"}) {
  return %x : tensor<8xf32>
}

//--- plan-1.mlir
// PLAN1: variable "w" is declared twice
plan.variable "w" : tensor<8xf32>
plan.variable "w" : tensor<8xf32>
plan.function @step inputs() outputs() arena 0 unplanned 0 lower_bound 0 {
}

//--- plan-2.mlir
// PLAN2: begins as weights[0 to 32], which is no weight
plan.variable "w" = weights[0 to 32] : tensor<8xf32>
plan.function @step inputs() outputs() arena 0 unplanned 0 lower_bound 0 {
}

//--- plan-3.mlir
// PLAN3: has variable "w" of 'tensor<8xf32>' as an input, which the module does not declare
plan.variable "w" : tensor<4xf32>
plan.function @step inputs("w": tensor<8xf32> variable) outputs() arena 0 unplanned 0 lower_bound 0 {
}
