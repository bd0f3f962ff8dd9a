// RUN: graph-opt %s --split-input-file --lower-kernels --mlir-print-local-scope | FileCheck %s

// Broadcasting is in the maps: a size of 1 is read at 0.

// CHECK-LABEL: func.func private
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK: arith.addf
func.func @main(%a: tensor<4x1x5xf32>, %b: tensor<3x1xf32>) -> tensor<4x3x5xf32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<4x1x5xf32>, tensor<3x1xf32>) -> tensor<4x3x5xf32> {
    %y = graph.add %a_, %b_ : tensor<4x1x5xf32>, tensor<3x1xf32> -> tensor<4x3x5xf32>
    graph.yield %y : tensor<4x3x5xf32>
  }
  return %r : tensor<4x3x5xf32>
}

// -----

// Narrow floats are computed in f32, which the next op of a kernel may take.

// CHECK-LABEL: func.func private
// CHECK: ^bb0(%[[X:.*]]: f16, %{{.*}}: f16):
// CHECK: %[[W:.*]] = arith.extf %[[X]] fastmath<contract> : f16 to f32
// CHECK: %[[E:.*]] = math.exp %[[W]] : f32
// CHECK: %[[N:.*]] = arith.truncf %[[E]] fastmath<contract> : f32 to f16
// CHECK: linalg.yield %[[N]]
func.func @main(%a: tensor<5xf16>) -> tensor<5xf16> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf16>) -> tensor<5xf16> {
    %y = graph.exp %a_ : tensor<5xf16>
    graph.yield %y : tensor<5xf16>
  }
  return %r : tensor<5xf16>
}

// -----

// The maximum propagates NaN.

// CHECK-LABEL: func.func private
// CHECK: arith.maximumf
func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    %y = graph.max %a_, %b_ : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
    graph.yield %y : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// relu keeps NaN.

// CHECK-LABEL: func.func private
// CHECK: %[[L:.*]] = arith.cmpf olt, %[[X:.*]], %[[Z:.*]] : f32
// CHECK: arith.select %[[L]], %[[Z]], %[[X]]
func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf32>) -> tensor<5xf32> {
    %y = graph.relu %a_ : tensor<5xf32>
    graph.yield %y : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// No division of integers traps: not by 0, not of the smallest by -1.

// CHECK-LABEL: func.func private
// CHECK: arith.cmpi eq, %[[D:.*]], %c0
// CHECK: arith.cmpi eq, %[[D]], %c-1
// CHECK: arith.ori
// CHECK: %[[S:.*]] = arith.select
// CHECK: arith.divsi %{{.*}}, %[[S]]
// CHECK: arith.select
// CHECK: arith.select
func.func @main(%a: tensor<5xi32>, %b: tensor<5xi32>) -> tensor<5xi32> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32> {
    %y = graph.div %a_, %b_ : tensor<5xi32>, tensor<5xi32> -> tensor<5xi32>
    graph.yield %y : tensor<5xi32>
  }
  return %r : tensor<5xi32>
}

// -----

// A known exponent costs no pow.

// CHECK-LABEL: func.func private
// CHECK-NOT: powf
// CHECK: arith.mulf %[[X:.*]], %[[X]]
// CHECK-NOT: powf
func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf32>) -> tensor<5xf32> {
    %two = graph.constant dense<2.0> : tensor<f32>
    %y = graph.pow %a_, %two : tensor<5xf32>, tensor<f32> -> tensor<5xf32>
    graph.yield %y : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}

// -----

// Comparisons by signedness; booleans are i1.

// CHECK-LABEL: func.func private
// CHECK: arith.cmpi ult
// CHECK-> tensor<5xi1>
func.func @main(%a: tensor<5xui8>, %b: tensor<5xui8>) -> tensor<5xi1> {
  %r = graph.kernel (%a_ = %a, %b_ = %b) : (tensor<5xui8>, tensor<5xui8>) -> tensor<5xi1> {
    %y = graph.compare less %a_, %b_ : tensor<5xui8>, tensor<5xui8> -> tensor<5xi1>
    graph.yield %y : tensor<5xi1>
  }
  return %r : tensor<5xi1>
}

// -----

// Float to a narrow integer wraps by way of 32 bits.

// CHECK-LABEL: func.func private
// CHECK: arith.fptosi %{{.*}} : f32 to i32
// CHECK: arith.trunci %{{.*}} : i32 to i8
func.func @main(%a: tensor<5xf32>) -> tensor<5xui8> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf32>) -> tensor<5xui8> {
    %y = graph.cast %a_ : tensor<5xf32> to tensor<5xui8>
    graph.yield %y : tensor<5xui8>
  }
  return %r : tensor<5xui8>
}

// -----

// From f64 to half precision by way of f32: a cast rounds.

// CHECK-LABEL: func.func private
// CHECK: %[[S:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %[[S]] : f32 to bf16
func.func @main(%a: tensor<5xf64>) -> tensor<5xbf16> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf64>) -> tensor<5xbf16> {
    %y = graph.cast %a_ : tensor<5xf64> to tensor<5xbf16>
    graph.yield %y : tensor<5xbf16>
  }
  return %r : tensor<5xbf16>
}

// -----

// Floats of 8 bits are bytes: they are made by integers, from f64 at once, which
// rounds once.

// CHECK-LABEL: func.func private
// CHECK-SAME: (%{{.*}}: tensor<5xf64>) -> tensor<5xi8>
// CHECK: ^bb0(%[[X:.*]]: f64, %{{.*}}: i8):
// CHECK: arith.bitcast %[[X]] : f64 to i64
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci %{{.*}} : i64 to i8
func.func @main(%a: tensor<5xf64>) -> tensor<5xf8E4M3FN> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf64>) -> tensor<5xf8E4M3FN> {
    %y = graph.cast %a_ saturate : tensor<5xf64> to tensor<5xf8E4M3FN>
    graph.yield %y : tensor<5xf8E4M3FN>
  }
  return %r : tensor<5xf8E4M3FN>
}

// -----

// A constant of them is one, too.

// CHECK-LABEL: func.func private
// CHECK-SAME: (%{{.*}}: tensor<3xi8>) -> tensor<5xi8>
// CHECK: arith.constant 60 : i8
func.func @main(%a: tensor<3xf8E4M3FN>) -> tensor<5xf8E4M3FN> {
  %r = graph.kernel (%a_ = %a) : (tensor<3xf8E4M3FN>) -> tensor<5xf8E4M3FN> {
    %v = graph.constant dense<1.5> : tensor<f8E4M3FN>
    %y = graph.pad %a_, %v low [1] high [1] constant : tensor<3xf8E4M3FN>, tensor<f8E4M3FN> -> tensor<5xf8E4M3FN>
    graph.yield %y : tensor<5xf8E4M3FN>
  }
  return %r : tensor<5xf8E4M3FN>
}

// -----

// sigmoid

// CHECK-LABEL: func.func private
// CHECK: %[[N:.*]] = arith.negf
// CHECK: %[[E:.*]] = math.exp %[[N]]
// CHECK: %[[S:.*]] = arith.addf %{{.*}}, %[[E]]
// CHECK: arith.divf %{{.*}}, %[[S]]
func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {
  %r = graph.kernel (%a_ = %a) : (tensor<5xf32>) -> tensor<5xf32> {
    %y = graph.sigmoid %a_ : tensor<5xf32>
    graph.yield %y : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}
