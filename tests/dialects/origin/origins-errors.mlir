// RUN: graph-opt %s --split-input-file --verify-diagnostics

#id = affine_map<(i) -> (i)>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has 'origin.op' = 3 : i64; a linalg.generic may have 'origin.op', a #origin.convolution<…>, #origin.attention<…> or #origin.filters}}
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) attrs = {origin.op = 3} {
  ^bb0(%a: f32, %s: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has 'origin.part' = #origin.attention<sum>; a linalg.generic may have 'origin.op'}}
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) attrs = {origin.part = #origin.attention<sum>} {
  ^bb0(%a: f32, %s: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op has 'origin.op' = #origin.attention<sum>; a linalg.generic may have 'origin.op'}}
func.func @f() attributes {origin.op = #origin.attention<sum>} {
  return
}

// -----

#image = affine_map<(n, p, q, k, r, s, c) -> (n, p + r, q + s, c)>
#filter = affine_map<(n, p, q, k, r, s, c) -> (k, r, s, c)>
#out = affine_map<(n, p, q, k, r, s, c) -> (n, p, q, k)>
func.func @f(%x: tensor<1x4x4x2xf32>, %w: tensor<8x3x3x2xf32>, %y: tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32> {
  // expected-error @below {{has 7 loops, but 6 roles in #origin.convolution<image, position, position, output, tap, tap>}}
  %r = linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x4x2xf32>, tensor<8x3x3x2xf32>) outs(%y : tensor<1x2x2x8xf32>) attrs = {origin.op = #origin.convolution<image, position, position, output, tap, tap>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x2x2x8xf32>
  return %r : tensor<1x2x2x8xf32>
}

// -----

#image = affine_map<(n, p, q, k, r, s, c) -> (n, p + r, q + s, c)>
#filter = affine_map<(n, p, q, k, r, s, c) -> (k, r, s, c)>
#out = affine_map<(n, p, q, k, r, s, c) -> (n, p, q, k)>
func.func @f(%x: tensor<1x4x4x2xf32>, %w: tensor<8x3x3x2xf32>, %y: tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32> {
  // expected-error @below {{gives loop 3, which is parallel, the role 'channel' in #origin.convolution<image, position, position, channel, tap, tap, output>; taps and channels are reductions, and nothing else is}}
  %r = linalg.generic {indexing_maps = [#image, #filter, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x4x2xf32>, tensor<8x3x3x2xf32>) outs(%y : tensor<1x2x2x8xf32>) attrs = {origin.op = #origin.convolution<image, position, position, channel, tap, tap, output>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x2x2x8xf32>
  return %r : tensor<1x2x2x8xf32>
}

// -----

// expected-error @below {{a convolution has a position and a tap for each spatial dimension, found 1 and 2}}
func.func private @f() attributes {test = #origin.convolution<image, position, output, tap, tap, channel>}

// -----

// expected-error @below {{a convolution has a position and a tap for each spatial dimension, found 0 and 0}}
func.func private @f() attributes {test = #origin.convolution<image, output, channel>}

// -----

// expected-error @below {{a convolution has one loop with the role 'channel' at most, found 2}}
func.func private @f() attributes {test = #origin.convolution<position, output, tap, channel, channel>}
