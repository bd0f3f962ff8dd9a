// The canonical forms of branches and loops.
// RUN: graph-opt %s --split-input-file --simplify-graph | FileCheck %s
// MLIR's own pass finds them, too.
// RUN: graph-opt %s --split-input-file --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @known_branch
// CHECK-NEXT:    %[[Y:.*]] = graph.exp %arg0
// CHECK-NEXT:    return %[[Y]]
func.func @known_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<false> : tensor<i1>
  %y = graph.if %c : (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    %0 = graph.exp %x : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @equal_branches
// CHECK-NEXT:    %[[Y:.*]] = graph.exp %arg0
// CHECK-NEXT:    return %[[Y]]
func.func @equal_branches(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %y = graph.if %c : (tensor<4xf32>) {
    %0 = graph.exp %x : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  } else {
    %0 = graph.exp %x : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Of three results one is not read, and one the same in both branches.
// CHECK-LABEL: func.func @results
// CHECK-NEXT:    %[[Y:.*]] = graph.if %arg1 : (tensor<4xf32>) {
// CHECK-NEXT:      %[[L:.*]] = graph.log %arg0
// CHECK-NEXT:      graph.yield %[[L]] : tensor<4xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      graph.yield %arg0 : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    return %arg0, %[[Y]]
func.func @results(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:3 = graph.if %c : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = graph.exp %x : tensor<4xf32>
    %1 = graph.log %x : tensor<4xf32>
    graph.yield %0, %x, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
    graph.yield %x, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %y#1, %y#2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @while_never
// CHECK-NEXT:    return %arg0
func.func @while_never(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<false> : tensor<i1>
  %y = graph.while (%a = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%a) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// %s stays the same, and nothing depends on the counter %n.
// CHECK-LABEL: func.func @while_carried
// CHECK-NEXT:    %[[Y:.*]] = graph.while (%[[A:.*]] = %arg0) : (tensor<f32>) {
// CHECK-NEXT:      %[[GO:.*]] = graph.compare less %[[A]], %arg1
// CHECK-NEXT:      graph.condition %[[GO]]
// CHECK-NEXT:    } do (%[[B:.*]]) {
// CHECK-NEXT:      %[[C:.*]] = graph.add %[[B]], %arg1
// CHECK-NEXT:      graph.yield %[[C]] : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]], %arg1
func.func @while_carried(%x: tensor<f32>, %s: tensor<f32>, %n: tensor<i64>) -> (tensor<f32>, tensor<f32>) {
  %y:3 = graph.while (%a = %x, %b = %s, %i = %n) : (tensor<f32>, tensor<f32>, tensor<i64>) {
    %go = graph.compare less %a, %b : tensor<f32>, tensor<f32> -> tensor<i1>
    graph.condition %go
  } do (%a, %b, %i) {
    %0 = graph.add %a, %b : tensor<f32>, tensor<f32> -> tensor<f32>
    %1 = graph.add %i, %n : tensor<i64>, tensor<i64> -> tensor<i64>
    graph.yield %0, %b, %1 : tensor<f32>, tensor<f32>, tensor<i64>
  }
  return %y#0, %y#1 : tensor<f32>, tensor<f32>
}

// -----

// A value that only another one depends on remains.
// CHECK-LABEL: func.func @while_needed
// CHECK:         graph.while (%{{.*}} = %arg0, %{{.*}} = %arg1) : (tensor<f32>, tensor<f32>) {
func.func @while_needed(%x: tensor<f32>, %s: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %y:2 = graph.while (%a = %x, %b = %s) : (tensor<f32>, tensor<f32>) {
    %go = graph.compare less %a, %x : tensor<f32>, tensor<f32> -> tensor<i1>
    graph.condition %go
  } do (%a, %b) {
    %0 = graph.if %c : (tensor<f32>) {
      graph.yield %b : tensor<f32>
    } else {
      graph.yield %a : tensor<f32>
    }
    %1 = graph.exp %b : tensor<f32>
    graph.yield %0, %1 : tensor<f32>, tensor<f32>
  }
  return %y#0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @scan_never
// CHECK-NEXT:    %[[ZEROS:.*]] = graph.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK-NEXT:    return %arg0, %[[ZEROS]]
func.func @scan_never(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %none = graph.constant dense<-1> : tensor<i64>
  %y:2 = graph.scan %i length 3 trip_count %none carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @no_rows
// CHECK-NEXT:    %[[NONE:.*]] = graph.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT:    return %arg0, %[[NONE]]
func.func @no_rows(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %y:2 = graph.scan %i length 0 carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<0x4xf32>
}

// -----

// A limit above the length, and a condition that always holds.
// CHECK-LABEL: func.func @limits
// CHECK-NEXT:    graph.scan %{{.*}} length 3 carry (%[[A:.*]] = %arg0)
// CHECK-NEXT:      %[[B:.*]] = graph.exp %[[A]]
// CHECK-NEXT:      graph.yield %[[B]] : tensor<4xf32>
func.func @limits(%x: tensor<4xf32>) -> tensor<4xf32> {
  %many = graph.constant dense<3> : tensor<i64>
  %true = graph.constant dense<true> : tensor<i1>
  %y = graph.scan %i length 3 trip_count %many while %true carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %true, %0 : tensor<i1>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// A limit below the length, and a condition that may become false.
// CHECK-LABEL: func.func @limited
// CHECK:         length 3 trip_count %{{.*}} while %{{.*}} carry
func.func @limited(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %few = graph.constant dense<2> : tensor<i64>
  %true = graph.constant dense<true> : tensor<i1>
  %y = graph.scan %i length 3 trip_count %few while %true carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.exp %a : tensor<4xf32>
    graph.yield %c, %0 : tensor<i1>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @once
// CHECK-NEXT:    %[[ROW:.*]] = graph.reshape %arg1 : tensor<1x4xf32> to tensor<4xf32>
// CHECK-NEXT:    %[[MAX:.*]] = graph.reduce max %[[ROW]] axes [0]
// CHECK-NEXT:    %[[ROWS:.*]] = graph.reshape %[[MAX]] : tensor<f32> to tensor<1xf32>
// CHECK-NEXT:    return %[[MAX]], %[[ROWS]]
func.func @once(%x: tensor<f32>, %xs: tensor<1x4xf32>) -> (tensor<f32>, tensor<1xf32>) {
  %y:2 = graph.scan %i length 1 carry (%a = %x) over (%r = %xs) : (tensor<f32>, tensor<1x4xf32>) -> (tensor<f32>, tensor<1xf32>) {
    %0 = graph.reduce max %r axes [0] : tensor<4xf32> -> tensor<f32>
    graph.yield %0, %0 : tensor<f32>, tensor<f32>
  }
  return %y#0, %y#1 : tensor<f32>, tensor<1xf32>
}

// -----

// Rows that are those of %xs, or one from above; what stays the same is not
// carried; nobody reads the rows of %zs.
// CHECK-LABEL: func.func @forwarded
// CHECK:         %[[ONE:.*]] = graph.reshape %arg0 : tensor<4xf32> to tensor<1x4xf32>
// CHECK:         %[[ALL:.*]] = graph.broadcast %[[ONE]] : tensor<1x4xf32> to tensor<3x4xf32>
// CHECK:         %[[Y:.*]] = graph.scan %{{.*}} length 3 carry (%[[A:.*]] = %arg0) over (%[[R:.*]] = %arg1) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT:      %[[B:.*]] = graph.add %[[A]], %[[R]]
// CHECK-NEXT:      graph.yield %[[B]] : tensor<4xf32>
// CHECK:         return %[[Y]], %arg0, %arg1, %[[ALL]]
func.func @forwarded(%x: tensor<4xf32>, %xs: tensor<3x4xf32>, %zs: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %y:5 = graph.scan %i length 3 carry (%a = %x, %s = %x) over (%r = %xs, %z = %zs) : (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
    %0 = graph.add %a, %r : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = graph.exp %z : tensor<4xf32>
    graph.yield %0, %s, %r, %s, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %y#0, %y#1, %y#2, %y#3 : tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// If a scan may end early, rows are not those of an input; %b is needed for the
// condition, %u for nothing.
// CHECK-LABEL: func.func @conditional
// CHECK:         %[[Y:.*]] = graph.scan %{{.*}} length 3 while %arg2 carry (%[[B:.*]] = %arg0) over (%[[R:.*]] = %arg1) : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
// CHECK-NEXT:      %[[C:.*]] = graph.exp %[[B]]
// CHECK-NEXT:      %[[GO:.*]] = graph.compare less %[[B]], %arg0
// CHECK-NEXT:      graph.yield %[[GO]], %[[C]], %[[R]] : tensor<i1>, tensor<f32>, tensor<f32>
func.func @conditional(%x: tensor<f32>, %xs: tensor<3xf32>, %c: tensor<i1>) -> tensor<3xf32> {
  %y:3 = graph.scan %i length 3 while %c carry (%b = %x, %u = %x) over (%r = %xs) : (tensor<f32>, tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<f32>, tensor<3xf32>) {
    %0 = graph.exp %b : tensor<f32>
    %1 = graph.exp %u : tensor<f32>
    %go = graph.compare less %b, %x : tensor<f32>, tensor<f32> -> tensor<i1>
    graph.yield %go, %0, %1, %r : tensor<i1>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %y#2 : tensor<3xf32>
}
