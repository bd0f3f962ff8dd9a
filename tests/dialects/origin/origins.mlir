// RUN: graph-opt %s | FileCheck %s
// RUN: graph-opt %s | graph-opt | FileCheck %s

// CHECK: linalg.generic {{.*}} {origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>}
#image = affine_map<(n, p, q, k, r, s, c) -> (n, p + r, q + s, c)>
#filter = affine_map<(n, p, q, k, r, s, c) -> (k, r, s, c)>
#out = affine_map<(n, p, q, k, r, s, c) -> (n, p, q, k)>
func.func @f(%x: tensor<1x4x4x2xf32>, %w: tensor<8x3x3x2xf32>, %y: tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32> {
  %r = linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x4x2xf32>, tensor<8x3x3x2xf32>) outs(%y : tensor<1x2x2x8xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, tap, tap, channel>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x2x2x8xf32>
  return %r : tensor<1x2x2x8xf32>
}
