// RUN: graph-opt %s --split-input-file --simplify-graph | FileCheck %s

// CHECK-LABEL: func.func @neutral
// CHECK-NEXT: return %arg0
func.func @neutral(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %one = graph.constant dense<1.0> : tensor<3xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %true = graph.constant dense<true> : tensor<i1>
  %0 = graph.mul %x, %one : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %1 = graph.add %zero, %0 : tensor<f32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.sub %1, %zero : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %3 = graph.div %2, %one : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %4 = graph.pow %3, %one : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %5 = graph.where %true, %4, %zero : tensor<i1>, tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %6 = graph.cast %5 : tensor<2x3xf32> to tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @not_neutral
// CHECK: graph.sub
// CHECK: graph.and
func.func @not_neutral(%x: tensor<3xf32>, %i: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %one = graph.constant dense<1> : tensor<i32>
  %0 = graph.sub %zero, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %1 = graph.and %i, %one : tensor<3xi32>, tensor<i32> -> tensor<3xi32>
  return %0, %1 : tensor<3xf32>, tensor<3xi32>
}

// -----

// CHECK-LABEL: func.func @broadcasts
// CHECK: %[[C:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: graph.add %arg0, %arg1 : tensor<2x3xf32>, tensor<3xf32>
// CHECK-NEXT: graph.mul %{{.*}}, %[[C]] : tensor<2x3xf32>, tensor<f32>
func.func @broadcasts(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %c = graph.constant dense<2.0> : tensor<2x3xf32>
  %0 = graph.broadcast %b : tensor<3xf32> to tensor<2x3xf32>
  %1 = graph.add %x, %0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.mul %1, %c : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @pow
// CHECK: graph.mul %arg0, %arg0
// CHECK: graph.sqrt %arg0
// CHECK: graph.reciprocal %arg0
func.func @pow(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %minus = graph.constant dense<-1.0> : tensor<f32>
  %0 = graph.pow %x, %two : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.pow %x, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %2 = graph.pow %x, %minus : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @pad
// CHECK: graph.conv %arg0, %arg1 strides [1, 1] padding [1, 2, 1, 0]
func.func @pad(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %z = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.pad %x, %z low [0, 0, 1, 1] high [0, 0, 1, 0] constant : tensor<1x4x8x8xf32>, tensor<f32> -> tensor<1x4x10x9xf32>
  %1 = graph.conv %0, %w strides [1, 1] padding [0, 1, 0, 0] dilations [1, 1] groups 1 channels_first : tensor<1x4x10x9xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x8x8xf32>
  return %1 : tensor<1x2x8x8xf32>
}

// -----

// Taps 24 apart meet an image of 16 once; of those 12 apart, all meet it. In the
// second dimension what would be before the image's first element keeps a tap.
// CHECK-LABEL: func.func @taps
// CHECK: graph.conv {{.*}} padding [0, 20, 0, 0] {{.*}} tensor<2x4x1x2xf32> -> tensor<1x2x16x12xf32>
// CHECK: graph.conv {{.*}} padding [12, 12, 12, 12] {{.*}} tensor<2x4x3x3xf32> -> tensor<1x2x16x16xf32>
func.func @taps(%x: tensor<1x4x16x16xf32>) -> (tensor<1x2x16x12xf32>, tensor<1x2x16x16xf32>) {
  %w = graph.constant dense<0.5> : tensor<2x4x3x3xf32>
  %0 = graph.conv %x, %w strides [1, 1] padding [24, 20, 24, 24] dilations [24, 24] groups 1 channels_first : tensor<1x4x16x16xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x16x12xf32>
  %1 = graph.conv %x, %w strides [1, 1] padding [12, 12, 12, 12] dilations [12, 12] groups 1 channels_first : tensor<1x4x16x16xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x16x16xf32>
  return %0, %1 : tensor<1x2x16x12xf32>, tensor<1x2x16x16xf32>
}

// -----

// Weights that a run gives are not cut.
// CHECK-LABEL: func.func @given_taps
// CHECK-NEXT: graph.conv %arg0, %arg1 strides [1] padding [9, 9]
func.func @given_taps(%x: tensor<1x4x8xf32>, %w: tensor<2x4x3xf32>) -> tensor<1x2x8xf32> {
  %0 = graph.conv %x, %w strides [1] padding [9, 9] dilations [9] groups 1 channels_first : tensor<1x4x8xf32>, tensor<2x4x3xf32> -> tensor<1x2x8xf32>
  return %0 : tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: func.func @matmul
// CHECK: graph.matmul %arg0, %arg1 transpose_b
func.func @matmul(%x: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>) -> tensor<2x4x5xf32> {
  %0 = graph.transpose %k [0, 2, 1] : tensor<2x5x8xf32> -> tensor<2x8x5xf32>
  %1 = graph.matmul %x, %0 : tensor<2x4x8xf32>, tensor<2x8x5xf32> -> tensor<2x4x5xf32>
  return %1 : tensor<2x4x5xf32>
}

// -----

// The heads of one of three products become a slice of a view.
// CHECK-LABEL: func.func @heads
// CHECK: %[[V:.*]] = graph.reshape %arg0 : tensor<1x8x48xf32> to tensor<1x8x12x4xf32>
// CHECK: graph.slice %[[V]] starts [0, 0, 4, 0] sizes [1, 8, 4, 4]
func.func @heads(%x: tensor<1x8x48xf32>) -> tensor<1x8x4x4xf32> {
  %0 = graph.slice %x starts [0, 0, 16] sizes [1, 8, 16] steps [1, 1, 1] : tensor<1x8x48xf32> -> tensor<1x8x16xf32>
  %1 = graph.reshape %0 : tensor<1x8x16xf32> to tensor<1x8x4x4xf32>
  return %1 : tensor<1x8x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @lift
// CHECK-NEXT: graph.transpose %arg0 [0, 1, 3, 2]
// CHECK-NEXT: return
func.func @lift(%x: tensor<1x3x4x5xf32>) -> tensor<1x3x5x4xf32> {
  %0 = graph.reshape %x : tensor<1x3x4x5xf32> to tensor<3x4x5xf32>
  %1 = graph.transpose %0 [0, 2, 1] : tensor<3x4x5xf32> -> tensor<3x5x4xf32>
  %2 = graph.reshape %1 : tensor<3x5x4xf32> to tensor<1x3x5x4xf32>
  return %2 : tensor<1x3x5x4xf32>
}

// -----

// Reshapes around a product and its bias cancel.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT: graph.matmul %arg0, %arg1 : tensor<1x8x4xf32>
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.gelu
// CHECK-NEXT: return
func.func @rows(%x: tensor<1x8x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<1x8x6xf32> {
  %0 = graph.reshape %x : tensor<1x8x4xf32> to tensor<8x4xf32>
  %1 = graph.matmul %0, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %2 = graph.add %1, %b : tensor<8x6xf32>, tensor<6xf32> -> tensor<8x6xf32>
  %3 = graph.reshape %2 : tensor<8x6xf32> to tensor<1x8x6xf32>
  %4 = graph.gelu %3 : tensor<1x8x6xf32>
  return %4 : tensor<1x8x6xf32>
}

// -----

// A residual that lies in memory is viewed like the product's result.
// CHECK-LABEL: func.func @residual
// CHECK: %[[Y:.*]] = graph.matmul
// CHECK: %[[R:.*]] = graph.reshape %arg2 : tensor<1x8x6xf32> to tensor<8x6xf32>
// CHECK: %[[S:.*]] = graph.add %[[Y]], %[[R]] : tensor<8x6xf32>
// CHECK: graph.reshape %[[S]]
func.func @residual(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %r: tensor<1x8x6xf32>) -> (tensor<1x8x6xf32>, tensor<1x8x6xf32>) {
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %1 = graph.reshape %0 : tensor<8x6xf32> to tensor<1x8x6xf32>
  %2 = graph.add %1, %r : tensor<1x8x6xf32>, tensor<1x8x6xf32> -> tensor<1x8x6xf32>
  return %2, %r : tensor<1x8x6xf32>, tensor<1x8x6xf32>
}

// -----

// A view as a vector sinks, too, and leaves other vectors as they are.

// CHECK-LABEL: func.func @sinks_vector
// CHECK: %[[M:.*]] = graph.matmul
// CHECK: %[[S:.*]] = graph.add %[[M]], %arg2 : tensor<1x5xf32>, tensor<5xf32> -> tensor<1x5xf32>
// CHECK: graph.reshape %[[S]] : tensor<1x5xf32> to tensor<5xf32>
func.func @sinks_vector(%a: tensor<1x16xf32>, %b: tensor<16x5xf32>, %c: tensor<5xf32>) -> tensor<5xf32> {
  %0 = graph.matmul %a, %b : tensor<1x16xf32>, tensor<16x5xf32> -> tensor<1x5xf32>
  %1 = graph.reshape %0 : tensor<1x5xf32> to tensor<5xf32>
  %2 = graph.add %1, %c : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  return %2 : tensor<5xf32>
}

// -----

// And past what makes one number of all elements, which fuses with the absolute
// values.

// CHECK-LABEL: func.func @sinks_reduction
// CHECK: %[[A:.*]] = graph.abs %arg0 : tensor<1x5xf32>
// CHECK: %[[M:.*]] = graph.reduce max %[[A]] axes [0, 1] : tensor<1x5xf32> -> tensor<f32>
// CHECK: %[[P:.*]] = graph.reshape %{{.*}} to tensor<4x5xf32>
// CHECK: graph.reduce sum %[[P]] axes [0] :
// CHECK: return %[[M]]
func.func @sinks_reduction(%a: tensor<1x5xf32>, %b: tensor<2x2x5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %0 = graph.reshape %a : tensor<1x5xf32> to tensor<5xf32>
  %1 = graph.abs %0 : tensor<5xf32>
  %2 = graph.reduce max %1 axes [0] : tensor<5xf32> -> tensor<f32>
  %3 = graph.reshape %b : tensor<2x2x5xf32> to tensor<4x5xf32>
  %4 = graph.reduce sum %3 axes [0] : tensor<4x5xf32> -> tensor<5xf32>
  return %2, %4 : tensor<f32>, tensor<5xf32>
}

// -----

// To a wider float and back is nothing; to a narrower one and back rounds.
// CHECK-LABEL: func.func @casts
// CHECK: %[[A:.*]] = graph.cast %arg1 : tensor<4xf32> to tensor<4xbf16>
// CHECK: %[[B:.*]] = graph.cast %[[A]] : tensor<4xbf16> to tensor<4xf32>
// CHECK: return %arg0, %[[B]]
func.func @casts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = graph.cast %x : tensor<4xbf16> to tensor<4xf32>
  %1 = graph.cast %0 : tensor<4xf32> to tensor<4xbf16>
  %2 = graph.cast %y : tensor<4xf32> to tensor<4xbf16>
  %3 = graph.cast %2 : tensor<4xbf16> to tensor<4xf32>
  return %1, %3 : tensor<4xbf16>, tensor<4xf32>
}

// -----

// Floats of 8 bits come back as they were, but for infinities that are limited.
// CHECK-LABEL: func.func @float8
// CHECK: %[[A:.*]] = graph.cast %arg0 : tensor<4xf8E5M2> to tensor<4xf32>
// CHECK: %[[B:.*]] = graph.cast %[[A]] saturate : tensor<4xf32> to tensor<4xf8E5M2>
// CHECK: return %arg0, %[[B]]
func.func @float8(%x: tensor<4xf8E5M2>) -> (tensor<4xf8E5M2>, tensor<4xf8E5M2>) {
  %0 = graph.cast %x : tensor<4xf8E5M2> to tensor<4xf32>
  %1 = graph.cast %0 : tensor<4xf32> to tensor<4xf8E5M2>
  %2 = graph.cast %0 saturate : tensor<4xf32> to tensor<4xf8E5M2>
  return %1, %2 : tensor<4xf8E5M2>, tensor<4xf8E5M2>
}

// -----

// A condition that would be reshaped, beside what keeps the reshape where it is:
// nothing changes, and so this comes to an end.
// CHECK-LABEL: func.func @keep_reshape_before_where
// CHECK: %[[VIEW:.*]] = graph.reshape %arg0
// CHECK: graph.where %{{.*}}, %{{.*}}, %[[VIEW]]
func.func @keep_reshape_before_where(%x: tensor<2x4xf32>, %y: tensor<2x1x2xf32>) -> tensor<2x1x4xf32> {
  %view = graph.reshape %x : tensor<2x4xf32> to tensor<2x1x4xf32>
  %mask = graph.constant dense<[[[true, false, false, true]]]> : tensor<1x1x4xi1>
  %columns = graph.constant dense<[0, 0, 0, 1]> : tensor<4xi64>
  %wide = graph.gather %y, %columns axis 2 : tensor<2x1x2xf32>, tensor<4xi64> -> tensor<2x1x4xf32>
  %result = graph.where %mask, %wide, %view : tensor<1x1x4xi1>, tensor<2x1x4xf32>, tensor<2x1x4xf32> -> tensor<2x1x4xf32>
  return %result : tensor<2x1x4xf32>
}

// Not all powers of two are numbers of f16, and those of f4 are of all floats.
// CHECK-LABEL: func.func @powers
// CHECK: %[[A:.*]] = graph.cast %arg0 : tensor<4xf8E8M0FNU> to tensor<4xf16>
// CHECK: %[[B:.*]] = graph.cast %[[A]] : tensor<4xf16> to tensor<4xf8E8M0FNU>
// CHECK: return %[[B]], %arg1
func.func @powers(%x: tensor<4xf8E8M0FNU>, %q: tensor<4xf4E2M1FN>) -> (tensor<4xf8E8M0FNU>, tensor<4xf4E2M1FN>) {
  %0 = graph.cast %x : tensor<4xf8E8M0FNU> to tensor<4xf16>
  %1 = graph.cast %0 : tensor<4xf16> to tensor<4xf8E8M0FNU>
  %2 = graph.cast %q : tensor<4xf4E2M1FN> to tensor<4xf16>
  %3 = graph.cast %2 : tensor<4xf16> to tensor<4xf4E2M1FN>
  return %1, %3 : tensor<4xf8E8M0FNU>, tensor<4xf4E2M1FN>
}

// CHECK-LABEL: func.func @bits
// CHECK: %[[U:.*]] = graph.bitcast %arg0 : tensor<4xf32> to tensor<4xui32>
// CHECK: return %arg0, %[[U]]
func.func @bits(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xui32>) {
  %0 = graph.bitcast %x : tensor<4xf32> to tensor<4xi32>
  %1 = graph.bitcast %0 : tensor<4xi32> to tensor<4xf32>
  %2 = graph.bitcast %0 : tensor<4xi32> to tensor<4xui32>
  return %1, %2 : tensor<4xf32>, tensor<4xui32>
}

// -----

// A scatter into a box, by a table of tuples. What was put there before goes.
// CHECK-LABEL: func.func @scatter_into_box
// CHECK-NEXT: %[[LEFT:.*]] = graph.slice %arg0 starts [1, 0] sizes [2, 1] steps [1, 1]
// CHECK-NEXT: %[[ROWS:.*]] = graph.concat %[[LEFT]], %arg1 axis 1
// CHECK-NEXT: %[[TOP:.*]] = graph.slice %arg0 starts [0, 0] sizes [1, 5] steps [1, 1]
// CHECK-NEXT: %[[BOTTOM:.*]] = graph.slice %arg0 starts [3, 0] sizes [1, 5] steps [1, 1]
// CHECK-NEXT: %[[Y:.*]] = graph.concat %[[TOP]], %[[ROWS]], %[[BOTTOM]] axis 0
// CHECK-NEXT: return %[[Y]]
func.func @scatter_into_box(%x: tensor<4x5xf32>, %u: tensor<2x4xf32>, %v: tensor<2x4xf32>) -> tensor<4x5xf32> {
  %all = graph.iota start 0 step 1 : tensor<4xi64>
  %some = graph.slice %all starts [1] sizes [2] steps [1] : tensor<4xi64> -> tensor<2xi64>
  %row = graph.reshape %some : tensor<2xi64> to tensor<2x1xi64>
  %rows = graph.broadcast %row : tensor<2x1xi64> to tensor<2x4xi64>
  %column = graph.constant dense<[-4, -3, -2, -1]> : tensor<4xi64>
  %columns = graph.broadcast %column : tensor<4xi64> to tensor<2x4xi64>
  %a = graph.reshape %rows : tensor<2x4xi64> to tensor<2x4x1xi64>
  %b = graph.reshape %columns : tensor<2x4xi64> to tensor<2x4x1xi64>
  %i = graph.concat %a, %b axis 2 : (tensor<2x4x1xi64>, tensor<2x4x1xi64>) -> tensor<2x4x2xi64>
  %0 = graph.scatter_nd assign %x, %i, %v : tensor<4x5xf32>, tensor<2x4x2xi64>, tensor<2x4xf32>
  %1 = graph.scatter_nd assign %0, %i, %u : tensor<4x5xf32>, tensor<2x4x2xi64>, tensor<2x4xf32>
  return %1 : tensor<4x5xf32>
}

// -----

// Places out of order, apart, the same twice, beyond x; sums.
// CHECK-LABEL: func.func @scatter_elsewhere
// CHECK-COUNT-5: graph.scatter_nd
func.func @scatter_elsewhere(%x: tensor<4xf32>, %u: tensor<2xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %back = graph.constant dense<[[1], [0]]> : tensor<2x1xi64>
  %apart = graph.constant dense<[[0], [2]]> : tensor<2x1xi64>
  %twice = graph.constant dense<1> : tensor<2x1xi64>
  %wrapped = graph.constant dense<[[-1], [0]]> : tensor<2x1xi64>
  %next = graph.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %0 = graph.scatter_nd assign %x, %back, %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %1 = graph.scatter_nd assign %x, %apart, %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %2 = graph.scatter_nd assign %x, %twice, %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %3 = graph.scatter_nd assign %x, %wrapped, %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %4 = graph.scatter_nd add %x, %next, %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The same table as a constant.
// CHECK-LABEL: func.func @scatter_by_constant
// CHECK-NOT: graph.scatter_nd
// CHECK: graph.concat {{.*}} axis 1
// CHECK: graph.concat {{.*}} axis 0
func.func @scatter_by_constant(%x: tensor<3x4xf32>, %u: tensor<2x2xf32>) -> tensor<3x4xf32> {
  %i = graph.constant dense<[[[1, -2], [1, -1]], [[2, -2], [2, -1]]]> : tensor<2x2x2xi64>
  %0 = graph.scatter_nd assign %x, %i, %u : tensor<3x4xf32>, tensor<2x2x2xi64>, tensor<2x2xf32>
  return %0 : tensor<3x4xf32>
}
