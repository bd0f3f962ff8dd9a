// RUN: graph-opt %s --split-input-file --form-views | FileCheck %s
// RUN: graph-opt %s --split-input-file --form-views | graph-opt --split-input-file | FileCheck %s

// The kernels that compute the pieces write them at the strides of the whole;
// who reads a piece reads it there.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = graph.dispatch @a(%arg0)
// CHECK-NEXT: %[[B:.*]] = graph.dispatch @b(%[[A]])
// CHECK-NEXT: %[[Y:.*]] = graph.concat %[[A]], %[[B]] axis 2 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x16xf32>
// CHECK-NEXT: %[[Z:.*]] = graph.dispatch @read(%[[Y]])
// CHECK-NEXT: return %[[Z]]
// CHECK: func.func private @a(%{{.*}}: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32> {graph.strides = array<i64: 64, 16, 1>})
// CHECK: func.func private @b(%{{.*}}: tensor<1x4x8xf32> {graph.strides = array<i64: 64, 16, 1>}) -> (tensor<1x4x8xf32> {graph.strides = array<i64: 64, 16, 1>})
// CHECK: func.func private @read(%{{.*}}: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
// CHECK-NOT: func.func
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x16xf32> {
  %0 = graph.dispatch @a(%x) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %1 = graph.dispatch @b(%0) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %2 = graph.dispatch @concat(%0, %1) : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x16xf32>
  %3 = graph.dispatch @read(%2) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
  return %3 : tensor<1x4x16xf32>
}
func.func private @a(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  return %x : tensor<1x4x8xf32>
}
func.func private @b(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  return %x : tensor<1x4x8xf32>
}
func.func private @concat(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> tensor<1x4x16xf32> {
  %0 = tensor.concat dim(2) %x, %y : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x16xf32>
  return %0 : tensor<1x4x16xf32>
}
func.func private @read(%x: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  return %x : tensor<1x4x16xf32>
}

// -----

// A concatenation may be a piece of another one, as in DenseNet. A piece that
// cannot be written in its place, here an input, is copied.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = graph.dispatch @a(%arg0)
// CHECK: %[[X:.*]] = graph.dispatch @copy_0(%arg0)
// CHECK: %[[Y:.*]] = graph.concat %[[X]], %[[A]] axis 1
// CHECK: %[[B:.*]] = graph.dispatch @b(%[[Y]])
// CHECK: graph.concat %[[Y]], %[[B]] axis 1 : (tensor<4x16xui8>, tensor<4x8xui8>) -> tensor<4x24xui8>
// CHECK: func.func private @a(%{{.*}}: tensor<4x8xi8>) -> (tensor<4x8xi8> {graph.strides = array<i64: 24, 1>})
// CHECK: func.func private @b(%{{.*}}: tensor<4x16xi8> {graph.strides = array<i64: 24, 1>}) -> (tensor<4x8xi8> {graph.strides = array<i64: 24, 1>})
// CHECK: func.func private @copy_0(%[[IN:.*]]: tensor<4x8xi8>) -> (tensor<4x8xi8> {graph.strides = array<i64: 24, 1>}) {
// CHECK-NEXT: return %[[IN]]
func.func @main(%x: tensor<4x8xui8>) -> tensor<4x24xui8> {
  %0 = graph.dispatch @a(%x) : (tensor<4x8xui8>) -> tensor<4x8xui8>
  %1 = graph.dispatch @concat(%x, %0) : (tensor<4x8xui8>, tensor<4x8xui8>) -> tensor<4x16xui8>
  %2 = graph.dispatch @b(%1) : (tensor<4x16xui8>) -> tensor<4x8xui8>
  %3 = graph.dispatch @concat2(%1, %2) : (tensor<4x16xui8>, tensor<4x8xui8>) -> tensor<4x24xui8>
  return %3 : tensor<4x24xui8>
}
func.func private @a(%x: tensor<4x8xi8>) -> tensor<4x8xi8> {
  return %x : tensor<4x8xi8>
}
func.func private @b(%x: tensor<4x16xi8>) -> tensor<4x8xi8> {
  %0 = tensor.empty() : tensor<4x8xi8>
  return %0 : tensor<4x8xi8>
}
func.func private @concat(%x: tensor<4x8xi8>, %y: tensor<4x8xi8>) -> tensor<4x16xi8> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<4x8xi8>, tensor<4x8xi8>) -> tensor<4x16xi8>
  return %0 : tensor<4x16xi8>
}
func.func private @concat2(%x: tensor<4x16xi8>, %y: tensor<4x8xi8>) -> tensor<4x24xi8> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<4x16xi8>, tensor<4x8xi8>) -> tensor<4x24xi8>
  return %0 : tensor<4x24xi8>
}

// -----

// Along the outermost dimension pieces are contiguous, and may be reshaped.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = graph.dispatch @a(%arg0)
// CHECK: %[[V:.*]] = graph.reshape %[[A]]
// CHECK: %[[B:.*]] = graph.dispatch @b(%arg1)
// CHECK: %[[W:.*]] = graph.reshape %[[B]]
// CHECK: graph.concat %[[V]], %[[W]] axis 1 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x64xf32>
// CHECK-NOT: graph.strides
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<1x64xf32> {
  %0 = graph.dispatch @a(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 : tensor<4x8xf32> to tensor<1x32xf32>
  %2 = graph.dispatch @b(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reshape %2 : tensor<4x8xf32> to tensor<1x32xf32>
  %4 = graph.dispatch @concat(%1, %3) : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x64xf32>
  return %4 : tensor<1x64xf32>
}
func.func private @a(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func private @b(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func private @concat(%x: tensor<1x32xf32>, %y: tensor<1x32xf32>) -> tensor<1x64xf32> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// -----

// A piece that is reshaped, and does not stay contiguous, is copied, and so is
// one that is returned; two of them are not worth it.
// CHECK-LABEL: func.func @main
// CHECK: graph.dispatch @concat
// CHECK-NOT: graph.concat
// CHECK-NOT: graph.strides
func.func @main(%x: tensor<32xf32>, %y: tensor<4x8xf32>) -> (tensor<4x24xf32>, tensor<4x8xf32>) {
  %0 = graph.dispatch @a(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = graph.reshape %0 : tensor<32xf32> to tensor<4x8xf32>
  %2 = graph.dispatch @b(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.dispatch @c(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = graph.dispatch @concat(%1, %2, %3) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x24xf32>
  return %4, %2 : tensor<4x24xf32>, tensor<4x8xf32>
}
func.func private @a(%x: tensor<32xf32>) -> tensor<32xf32> {
  return %x : tensor<32xf32>
}
func.func private @b(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func private @c(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func private @concat(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x24xf32> {
  %0 = tensor.concat dim(1) %x, %y, %z : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x24xf32>
  return %0 : tensor<4x24xf32>
}

// -----

// What constants alone make is computed when the artifact is written.
// CHECK-LABEL: func.func @main
// CHECK: graph.dispatch @concat
// CHECK-NOT: graph.concat
func.func @main(%x: tensor<2xf32>) -> tensor<6xf32> {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.dispatch @a(%c) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.dispatch @concat(%0, %x, %0) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}
func.func private @a(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func private @concat(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<6xf32> {
  %0 = tensor.concat dim(0) %x, %y, %z : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// A small piece that is there early would keep the memory of the large
// concatenation while another large tensor lives.
// CHECK-LABEL: func.func @main
// CHECK: graph.dispatch @concat
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = graph.dispatch @small(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.dispatch @grow(%x) : (tensor<16xf32>) -> tensor<4096xf32>
  %2 = graph.dispatch @shrink(%1) : (tensor<4096xf32>) -> tensor<16xf32>
  %3 = graph.dispatch @large(%2) : (tensor<16xf32>) -> tensor<2000xf32>
  %4 = graph.dispatch @concat(%0, %3) : (tensor<16xf32>, tensor<2000xf32>) -> tensor<2016xf32>
  %5 = graph.dispatch @use(%4) : (tensor<2016xf32>) -> tensor<16xf32>
  return %5 : tensor<16xf32>
}
func.func private @small(%x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}
func.func private @grow(%x: tensor<16xf32>) -> tensor<4096xf32> {
  %0 = tensor.empty() : tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
func.func private @shrink(%x: tensor<4096xf32>) -> tensor<16xf32> {
  %0 = tensor.empty() : tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @large(%x: tensor<16xf32>) -> tensor<2000xf32> {
  %0 = tensor.empty() : tensor<2000xf32>
  return %0 : tensor<2000xf32>
}
func.func private @concat(%x: tensor<16xf32>, %y: tensor<2000xf32>) -> tensor<2016xf32> {
  %0 = tensor.concat dim(0) %x, %y : (tensor<16xf32>, tensor<2000xf32>) -> tensor<2016xf32>
  return %0 : tensor<2016xf32>
}
func.func private @use(%x: tensor<2016xf32>) -> tensor<16xf32> {
  %0 = tensor.empty() : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// A slice is read where it lies: contiguous, in rows, or one row of several.
// What is reshaped has to be contiguous, and what is returned is written.
// CHECK-LABEL: func.func @main
// CHECK: %[[Q:.*]] = graph.slice %arg0 starts [1, 0, 0] sizes [1, 4, 8] steps [1, 1, 1] : tensor<3x4x8xf32> -> tensor<1x4x8xf32>
// CHECK: %[[R:.*]] = graph.reshape %[[Q]]
// CHECK: graph.dispatch @read(%[[R]])
// CHECK: %[[K:.*]] = graph.slice %arg0 starts [0, 0, 4] sizes [3, 4, 4] steps [1, 1, 1]
// CHECK: graph.dispatch @rows(%[[K]])
// CHECK: graph.slice %arg0 starts [0, 1, 0] sizes [3, 2, 8] steps [1, 2, 1]
// CHECK: graph.dispatch @box
// CHECK: graph.dispatch @right2
// CHECK: graph.dispatch @middle2
// CHECK: func.func private @read(%{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK: func.func private @rows(%{{.*}}: tensor<3x4x4xf32> {graph.strides = array<i64: 32, 8, 1>}) -> tensor<3x4x4xf32>
// CHECK: func.func private @steps(%{{.*}}: tensor<3x2x8xf32> {graph.strides = array<i64: 32, 16, 1>}) -> tensor<3x2x8xf32>
func.func @main(%x: tensor<3x4x8xf32>) -> (tensor<4x8xf32>, tensor<3x4x4xf32>, tensor<3x2x8xf32>, tensor<2x2x4xf32>, tensor<48xf32>, tensor<1x4x8xf32>) {
  %0 = graph.dispatch @middle(%x) : (tensor<3x4x8xf32>) -> tensor<1x4x8xf32>
  %1 = graph.reshape %0 : tensor<1x4x8xf32> to tensor<4x8xf32>
  %2 = graph.dispatch @read(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.dispatch @right(%x) : (tensor<3x4x8xf32>) -> tensor<3x4x4xf32>
  %4 = graph.dispatch @rows(%3) : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  %5 = graph.dispatch @odd(%x) : (tensor<3x4x8xf32>) -> tensor<3x2x8xf32>
  %6 = graph.dispatch @steps(%5) : (tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
  %7 = graph.dispatch @box(%x) : (tensor<3x4x8xf32>) -> tensor<2x2x4xf32>
  %8 = graph.dispatch @small(%7) : (tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  %9 = graph.dispatch @right2(%x) : (tensor<3x4x8xf32>) -> tensor<3x4x4xf32>
  %10 = graph.reshape %9 : tensor<3x4x4xf32> to tensor<48xf32>
  %11 = graph.dispatch @middle2(%x) : (tensor<3x4x8xf32>) -> tensor<1x4x8xf32>
  return %2, %4, %6, %8, %10, %11 : tensor<4x8xf32>, tensor<3x4x4xf32>, tensor<3x2x8xf32>, tensor<2x2x4xf32>, tensor<48xf32>, tensor<1x4x8xf32>
}
func.func private @middle(%x: tensor<3x4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = tensor.extract_slice %x[1, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<3x4x8xf32> to tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
func.func private @middle2(%x: tensor<3x4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = tensor.extract_slice %x[1, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<3x4x8xf32> to tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
func.func private @right(%x: tensor<3x4x8xf32>) -> tensor<3x4x4xf32> {
  %0 = tensor.extract_slice %x[0, 0, 4] [3, 4, 4] [1, 1, 1] : tensor<3x4x8xf32> to tensor<3x4x4xf32>
  return %0 : tensor<3x4x4xf32>
}
func.func private @right2(%x: tensor<3x4x8xf32>) -> tensor<3x4x4xf32> {
  %0 = tensor.extract_slice %x[0, 0, 4] [3, 4, 4] [1, 1, 1] : tensor<3x4x8xf32> to tensor<3x4x4xf32>
  return %0 : tensor<3x4x4xf32>
}
func.func private @odd(%x: tensor<3x4x8xf32>) -> tensor<3x2x8xf32> {
  %0 = tensor.extract_slice %x[0, 1, 0] [3, 2, 8] [1, 2, 1] : tensor<3x4x8xf32> to tensor<3x2x8xf32>
  return %0 : tensor<3x2x8xf32>
}
func.func private @box(%x: tensor<3x4x8xf32>) -> tensor<2x2x4xf32> {
  %0 = tensor.extract_slice %x[0, 1, 2] [2, 2, 4] [1, 1, 1] : tensor<3x4x8xf32> to tensor<2x2x4xf32>
  return %0 : tensor<2x2x4xf32>
}
func.func private @read(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func private @rows(%x: tensor<3x4x4xf32>) -> tensor<3x4x4xf32> {
  return %x : tensor<3x4x4xf32>
}
func.func private @steps(%x: tensor<3x2x8xf32>) -> tensor<3x2x8xf32> {
  return %x : tensor<3x2x8xf32>
}
func.func private @small(%x: tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  return %x : tensor<2x2x4xf32>
}
