// What kernels for GPUs are to libraries.
// RUN: graph-opt %s --lay-out-weights --choose-strategies | FileCheck %s
// RUN: graph-opt %s --lay-out-weights --choose-strategies | graph-opt | FileCheck %s
// RUN: sed 's/graph.allow_tf32, //' %s | graph-opt --lay-out-weights --choose-strategies | FileCheck %s --check-prefix=EXACT

// Products in exact f32 are for libraries as well, convolutions are not.
// EXACT:      func.func private @matmul_add_add_relu_0
// EXACT-SAME:   graph.library = #graph.library<matmul,
// EXACT-NOT:    graph.library

// A bias along the columns, a residual, and a ReLU at the end.
// CHECK:      func.func private @matmul_add_add_relu_0
// CHECK-SAME:   graph.inplace = [array<i64: 3, 0>]
// CHECK-SAME:   graph.library = #graph.library<matmul,
// CHECK-SAME:     left = <0, [1, 64, 32], [0, 32, 1]>, right = <1, [1, 32, 48], [0, 1, 32]>,
// CHECK-SAME:     result = <4, [1, 64, 48], [0, 48, 1]>, bias = <2, [1, 64, 48], [0, 0, 1]>,
// CHECK-SAME:     residual = <3, [1, 64, 48], [0, 48, 1]>, activation = relu, tf32 = true>

// A bias along the rows is none that libraries know.
// CHECK:      func.func private @matmul_add_0
// CHECK-NOT:    graph.library
// CHECK:        return

// What comes after the activation is not the library's.
// CHECK:      func.func private @matmul_relu_add_0
// CHECK-NOT:    graph.library
// CHECK:        return

// A padded convolution with channels last, stride 2: what it adds does not share
// the result's memory.
// CHECK:      func.func private @conv_add_0
// CHECK-NOT:    graph.inplace
// CHECK-SAME:   graph.library = #graph.library<convolution,
// CHECK-SAME:     left = <0, [2, 16, 9, 9], [1296, 1, 144, 16]>, right = <1, [32, 16, 3, 3], [144, 1, 48, 16]>,
// CHECK-SAME:     result = <3, [2, 32, 5, 5], [800, 1, 160, 32]>, residual = <2, [2, 32, 5, 5], [800, 1, 160, 32]>,
// CHECK-SAME:     window = <low = [1, 1], high = [1, 1], strides = [2, 2], dilations = [1, 1]>, tf32 = true>

// A batch of one, and a filter that steps along one dimension: rows of an image
// are none.
// CHECK:      func.func private @conv_1
// CHECK-SAME:   graph.library = #graph.library<convolution,
// CHECK-SAME:     left = <0, [1, 16, 9, 11], [0, 1, 176, 16]>, right = <1, [32, 16, 1, 3], [48, 1, 0, 16]>,
// CHECK-SAME:     result = <2, [1, 32, 9, 9], [0, 1, 288, 32]>,
// CHECK-SAME:     window = <low = [0, 0], high = [0, 0], strides = [1, 1], dilations = [1, 1]>, tf32 = true>

// What no convolution was lowered to is none, whatever its maps are,
// CHECK:      func.func private @other_sum
// CHECK-NOT:    graph.library
// CHECK:        return

// nor is what says that it is one, but with roles that do not fit the maps: of
// taps and channels, or of a tap that steps along nothing.
// CHECK:      func.func private @other_taps
// CHECK-NOT:    graph.library
// CHECK:        return
// CHECK:      func.func private @other_channels
// CHECK-NOT:    graph.library
// CHECK:        return
// CHECK:      func.func private @no_tap
// CHECK-NOT:    graph.library
// CHECK:        return

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#rows = affine_map<(m, n) -> (m)>
#columns = affine_map<(m, n) -> (n)>
#all = affine_map<(a, b, c, d) -> (a, b, c, d)>
#image = affine_map<(n, p, q, k, r, s, c) -> (n, p * 2 + r, q * 2 + s, c)>
#filter = affine_map<(n, p, q, k, r, s, c) -> (k, r, s, c)>
#out = affine_map<(n, p, q, k, r, s, c) -> (n, p, q, k)>
#dense = affine_map<(n, p, q, k, r, s, c) -> (n, p + r, q + s, c)>
#flat = affine_map<(n, p, q, k, r, s, c) -> (n, p + r, q, c)>
module attributes {graph.allow_tf32, graph.cpu = "x86-64-v4", graph.cuda = ["sm_80"]} {
  func.func private @matmul_add_add_relu_0(%a: tensor<64x32xf32>, %b: tensor<48x32xf32>, %bias: tensor<48xf32>, %r: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x48xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
    %p = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x32xf32>, tensor<48x32xf32>) outs(%f : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<64x48xf32>
    %q = linalg.generic {indexing_maps = [#id, #id, #columns, #id], iterator_types = ["parallel", "parallel"]} ins(%r, %p, %bias : tensor<64x48xf32>, tensor<64x48xf32>, tensor<48xf32>) outs(%e : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %w: f32, %s: f32):
      %0 = arith.addf %y, %w : f32
      %1 = arith.addf %x, %0 : f32
      %2 = arith.cmpf olt, %1, %z : f32
      %3 = arith.select %2, %z, %1 : f32
      linalg.yield %3 : f32
    } -> tensor<64x48xf32>
    return %q : tensor<64x48xf32>
  }

  func.func private @matmul_add_0(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %bias: tensor<64xf32>) -> tensor<64x48xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x48xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
    %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x32xf32>, tensor<32x48xf32>) outs(%f : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<64x48xf32>
    %q = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<64x48xf32>, tensor<64xf32>) outs(%e : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.addf %x, %y : f32
      linalg.yield %0 : f32
    } -> tensor<64x48xf32>
    return %q : tensor<64x48xf32>
  }

  func.func private @matmul_relu_add_0(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %r: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x48xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
    %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x32xf32>, tensor<32x48xf32>) outs(%f : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<64x48xf32>
    %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %r : tensor<64x48xf32>, tensor<64x48xf32>) outs(%e : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.cmpf olt, %x, %z : f32
      %1 = arith.select %0, %z, %x : f32
      %2 = arith.addf %1, %y : f32
      linalg.yield %2 : f32
    } -> tensor<64x48xf32>
    return %q : tensor<64x48xf32>
  }

  func.func private @conv_add_0(%x: tensor<2x9x9x16xf32>, %w: tensor<32x3x3x16xf32>, %r: tensor<2x5x5x32xf32>) -> tensor<2x5x5x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %z : f32
    } : tensor<2x9x9x16xf32> to tensor<2x11x11x16xf32>
    %e = tensor.empty() : tensor<2x5x5x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x5x5x32xf32>) -> tensor<2x5x5x32xf32>
    %p = linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded, %w : tensor<2x11x11x16xf32>, tensor<32x3x3x16xf32>) outs(%f : tensor<2x5x5x32xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>} {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<2x5x5x32xf32>
    %q = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%p, %r : tensor<2x5x5x32xf32>, tensor<2x5x5x32xf32>) outs(%e : tensor<2x5x5x32xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<2x5x5x32xf32>
    return %q : tensor<2x5x5x32xf32>
  }

  func.func private @conv_1(%x: tensor<1x9x11x16xf32>, %w: tensor<32x1x3x16xf32>) -> tensor<1x9x9x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1x9x9x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x9x9x32xf32>) -> tensor<1x9x9x32xf32>
    %p = linalg.generic {indexing_maps = [#dense, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x9x11x16xf32>, tensor<32x1x3x16xf32>) outs(%f : tensor<1x9x9x32xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>} {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<1x9x9x32xf32>
    return %p : tensor<1x9x9x32xf32>
  }

  func.func private @other_sum(%x: tensor<2x7x7x16xf32>, %w: tensor<32x3x3x16xf32>) -> tensor<2x5x5x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x5x5x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x5x5x32xf32>) -> tensor<2x5x5x32xf32>
    %p = linalg.generic {indexing_maps = [#dense, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<2x7x7x16xf32>, tensor<32x3x3x16xf32>) outs(%f : tensor<2x5x5x32xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<2x5x5x32xf32>
    return %p : tensor<2x5x5x32xf32>
  }

  func.func private @other_taps(%x: tensor<2x7x7x16xf32>, %w: tensor<32x3x3x16xf32>) -> tensor<2x5x5x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x5x5x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x5x5x32xf32>) -> tensor<2x5x5x32xf32>
    %p = linalg.generic {indexing_maps = [#dense, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<2x7x7x16xf32>, tensor<32x3x3x16xf32>) outs(%f : tensor<2x5x5x32xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, tap, channel, tap>} {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<2x5x5x32xf32>
    return %p : tensor<2x5x5x32xf32>
  }

  func.func private @other_channels(%x: tensor<2x7x7x16xf32>, %w: tensor<32x3x3x16xf32>) -> tensor<2x5x5x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x5x5x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x5x5x32xf32>) -> tensor<2x5x5x32xf32>
    %p = linalg.generic {indexing_maps = [#dense, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<2x7x7x16xf32>, tensor<32x3x3x16xf32>) outs(%f : tensor<2x5x5x32xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, channel, tap, tap>} {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<2x5x5x32xf32>
    return %p : tensor<2x5x5x32xf32>
  }

  func.func private @no_tap(%x: tensor<2x7x5x16xf32>, %w: tensor<32x3x3x16xf32>) -> tensor<2x5x5x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x5x5x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x5x5x32xf32>) -> tensor<2x5x5x32xf32>
    %p = linalg.generic {indexing_maps = [#flat, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<2x7x5x16xf32>, tensor<32x3x3x16xf32>) outs(%f : tensor<2x5x5x32xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>} {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<2x5x5x32xf32>
    return %p : tensor<2x5x5x32xf32>
  }
}
