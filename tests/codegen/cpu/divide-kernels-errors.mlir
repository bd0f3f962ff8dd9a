// Plans that a kernel, or its CPU, does not allow.
// RUN: graph-opt %s --divide-kernels --split-input-file --verify-diagnostics

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{cannot be computed as #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 8, left = in_place, right = copied>: it has no reduction, or more than one}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 8, left = in_place, right = copied>} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{: it is no reduction into places that are computed and surely exist}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.scatter<block = 8, units = 1>} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{: 'outer' must be from 0 to 1, found 2}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 2, lanes = 8, units = 1>} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'lanes' must be a power of two from 1 to 64, found 12}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 0, lanes = 12, units = 1>} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'products' must be 0 plans, found 1}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 1, products = [#cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 8, left = staged, right = copied>]>} {
    return %x : tensor<8xf32>
  }
}

// -----

module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'units' must be at least 1, found 0}}
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.plan = #cpu.rows<outer = 0, lanes = 8, units = 0>} {
    return %x : tensor<8xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // What lies in panels is not what the product reads as its weights.
  // expected-error @+1 {{: it does not read its packed operand as weights}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>, %v: tensor<2x32x16xf32> {cpu.layout = #cpu.panels<of = tensor<32x32xf32>, order = [0, 1], batch = 0, width = 16>}) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 32, left = in_place, right = packed>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'rows of tile' must be from 1 to 32, found 40}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [40, 16], block = [1, 1, 1], depth = 32, left = in_place, right = copied>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'columns of tile' must be a multiple of the 8 lanes of a vector of x86-64-v3, found 20}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 20], block = [1, 1, 1], depth = 32, left = in_place, right = copied>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'lines of block' must be 1, found 2}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [2, 1, 1], depth = 32, left = in_place, right = copied>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'tiles of block' must be from 1 to 8, found 9}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 9, 1], depth = 32, left = in_place, right = copied>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'panels of block' must be from 1 to 2, found 3}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 3], depth = 32, left = in_place, right = copied>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'depth' must be from 1 to 32, found 0}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 0, left = in_place, right = copied>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'right' must be copied or in_place, as no operand of the kernel is packed, found packed}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 32, left = in_place, right = packed>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#x = affine_map<(c, i, n) -> (n + i, c)>
#dy = affine_map<(c, i, n) -> (n, c)>
#dw = affine_map<(c, i, n) -> (c, i)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'channels of tile' must be a multiple of the 8 lanes of a vector of x86-64-v3, found 12}}
  func.func private @k(%x: tensor<12x16xf32>, %dy: tensor<10x16xf32>) -> tensor<16x3xf32> attributes {graph.plan = #cpu.depthwise_gradient<tile = [3, 12], level = 0, sums = 10>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x3xf32>
    %from = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x3xf32>) -> tensor<16x3xf32>
    %dw = linalg.generic {indexing_maps = [#x, #dy, #dw], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %dy : tensor<12x16xf32>, tensor<10x16xf32>) outs(%from : tensor<16x3xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<16x3xf32>
    return %dw : tensor<16x3xf32>
  }
}

// -----

#x = affine_map<(c, i, n) -> (n + i, c)>
#dy = affine_map<(c, i, n) -> (n, c)>
#dw = affine_map<(c, i, n) -> (c, i)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'taps of tile' must be from 1 to 3, found 4}}
  func.func private @k(%x: tensor<12x16xf32>, %dy: tensor<10x16xf32>) -> tensor<16x3xf32> attributes {graph.plan = #cpu.depthwise_gradient<tile = [4, 8], level = 0, sums = 10>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x3xf32>
    %from = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x3xf32>) -> tensor<16x3xf32>
    %dw = linalg.generic {indexing_maps = [#x, #dy, #dw], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %dy : tensor<12x16xf32>, tensor<10x16xf32>) outs(%from : tensor<16x3xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<16x3xf32>
    return %dw : tensor<16x3xf32>
  }
}

// -----

#x = affine_map<(c, i, n) -> (n + i, c)>
#dy = affine_map<(c, i, n) -> (n, c)>
#dw = affine_map<(c, i, n) -> (c, i)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'level' must be 0, found 1}}
  func.func private @k(%x: tensor<12x16xf32>, %dy: tensor<10x16xf32>) -> tensor<16x3xf32> attributes {graph.plan = #cpu.depthwise_gradient<tile = [3, 8], level = 1, sums = 10>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x3xf32>
    %from = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x3xf32>) -> tensor<16x3xf32>
    %dw = linalg.generic {indexing_maps = [#x, #dy, #dw], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %dy : tensor<12x16xf32>, tensor<10x16xf32>) outs(%from : tensor<16x3xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<16x3xf32>
    return %dw : tensor<16x3xf32>
  }
}

// -----

#x = affine_map<(c, i, n) -> (n + i, c)>
#dy = affine_map<(c, i, n) -> (n, c)>
#dw = affine_map<(c, i, n) -> (c, i)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'sums' must be from 1 to 10, found 11}}
  func.func private @k(%x: tensor<12x16xf32>, %dy: tensor<10x16xf32>) -> tensor<16x3xf32> attributes {graph.plan = #cpu.depthwise_gradient<tile = [3, 8], level = 0, sums = 11>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x3xf32>
    %from = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x3xf32>) -> tensor<16x3xf32>
    %dw = linalg.generic {indexing_maps = [#x, #dy, #dw], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %dy : tensor<12x16xf32>, tensor<10x16xf32>) outs(%from : tensor<16x3xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<16x3xf32>
    return %dw : tensor<16x3xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "sapphirerapids"} {
  // expected-error @+1 {{'multiplier' must be vectors, as tiles multiply groups of four bytes, found amx}}
  func.func private @k(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [16, 32], block = [1, 1, 1], depth = 32, left = in_place, right = copied, multiplier = amx>} {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %0 = arith.mulf %p, %q : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "icelake-server"} {
  // expected-error @+1 {{'multiplier' must be vectors, as icelake-server has no tiles for bytes, found amx}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [16, 32], block = [1, 1, 1], depth = 32, left = in_place, right = packed, multiplier = amx>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "sapphirerapids"} {
  // expected-error @+1 {{'depth' must be 32, found 16}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [16, 32], block = [1, 1, 1], depth = 16, left = in_place, right = packed, multiplier = amx>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "sapphirerapids"} {
  // expected-error @+1 {{'rows of tile' must be a multiple of 32, found 48}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [48, 32], block = [1, 1, 1], depth = 32, left = in_place, right = packed, multiplier = amx>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "icelake-server"} {
  // expected-error @+1 {{'depth' must be a multiple of 4, found 6}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [8, 32], block = [1, 1, 1], depth = 6, left = in_place, right = packed>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "icelake-server"} {
  // expected-error @+1 {{'right' must be packed, as the factors are multiplied in groups}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [8, 32], block = [1, 1, 1], depth = 32, left = in_place, right = copied>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "icelake-server"} {
  // expected-error @+1 {{'left' must not be extended, as icelake-server has instructions for the factors, found extended}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [8, 32], block = [1, 1, 1], depth = 32, left = extended, right = packed>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "skylake-avx512"} {
  // expected-error @+1 {{'left' must be extended, as skylake-avx512 has no instruction for the factors, found in_place}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [8, 32], block = [1, 1, 1], depth = 32, left = in_place, right = packed>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{'depth' must be 32, as an operand has 'cpu.group_order', found 16}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<2x8x16x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 16, group = 4>}, %order: tensor<2x11xi16> {cpu.group_order}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 16, left = extended, right = packed>} {
    %groups = tensor.empty() : tensor<8x4x2x16xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<2x8x16x4xi8>) outs(%groups : tensor<8x4x2x16xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x2x16xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x2x16xi8> into tensor<32x2x16xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x2x16xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "icelake-server"} {
  // expected-error @+1 {{no operand must have 'cpu.group_order', as icelake-server has instructions for bytes}}
  func.func private @k(%x: tensor<32x32xi8>, %v: tensor<1x8x32x4xi8> {cpu.layout = #cpu.panels<of = tensor<32x32xi8>, order = [0, 1], batch = 0, width = 32, group = 4>}, %order: tensor<1x11xi16> {cpu.group_order}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [4, 32], block = [1, 1, 1], depth = 32, left = in_place, right = packed>} {
    %groups = tensor.empty() : tensor<8x4x1x32xi8>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x8x32x4xi8>) outs(%groups : tensor<8x4x1x32xi8>) {
    ^bb0(%p: i8, %q: i8):
      linalg.yield %p : i8
    } -> tensor<8x4x1x32xi8>
    %merged = tensor.collapse_shape %lines [[0, 1], [2], [3]] : tensor<8x4x1x32xi8> into tensor<32x1x32xi8>
    %w = tensor.collapse_shape %merged [[0], [1, 2]] : tensor<32x1x32xi8> into tensor<32x32xi8>
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v3"} {
  // expected-error @+1 {{has an order of groups that is not the only one, of no panels of bytes, or}}
  func.func private @k(%x: tensor<32x32xi8>, %w: tensor<32x32xi8>, %order: tensor<2x11xi16> {cpu.group_order}) -> tensor<32x32xi32> attributes {graph.plan = #cpu.contraction<tile = [4, 16], block = [1, 1, 1], depth = 32, left = extended, right = packed>} {
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<32x32xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<32x32xi32>) -> tensor<32x32xi32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xi8>, tensor<32x32xi8>) outs(%init : tensor<32x32xi32>) {
    ^bb0(%p: i8, %q: i8, %s: i32):
      %a = arith.extui %p : i8 to i32
      %b = arith.extsi %q : i8 to i32
      %0 = arith.muli %a, %b : i32
      %1 = arith.addi %s, %0 : i32
      linalg.yield %1 : i32
    } -> tensor<32x32xi32>
    return %y : tensor<32x32xi32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "x86-64-v4"} {
  // expected-error @+1 {{panels must be without 'group', as x86-64-v4 multiplies no pairs of bf16, found group = 2}}
  func.func private @k(%x: tensor<32x32xbf16>, %v: tensor<1x16x32x2xbf16> {cpu.layout = #cpu.panels<of = tensor<32x32xbf16>, order = [0, 1], batch = 0, width = 32, group = 2>}) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [8, 32], block = [1, 1, 1], depth = 32, left = in_place, right = packed>} {
    %groups = tensor.empty() : tensor<16x2x1x32xbf16>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x16x32x2xbf16>) outs(%groups : tensor<16x2x1x32xbf16>) {
    ^bb0(%p: bf16, %q: bf16):
      linalg.yield %p : bf16
    } -> tensor<16x2x1x32xbf16>
    %w = tensor.collapse_shape %lines [[0, 1], [2, 3]] : tensor<16x2x1x32xbf16> into tensor<32x32xbf16>
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xbf16>, tensor<32x32xbf16>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: bf16, %q: bf16, %s: f32):
      %a = arith.extf %p : bf16 to f32
      %b = arith.extf %q : bf16 to f32
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#plain = affine_map<(g, p, l, c) -> (g, p, l, c)>
module attributes {graph.cpu = "znver5"} {
  // expected-error @+1 {{'multiplier' must be vectors, as znver5 has no tiles for bf16, found amx}}
  func.func private @k(%x: tensor<32x32xbf16>, %v: tensor<1x16x32x2xbf16> {cpu.layout = #cpu.panels<of = tensor<32x32xbf16>, order = [0, 1], batch = 0, width = 32, group = 2>}) -> tensor<32x32xf32> attributes {graph.plan = #cpu.contraction<tile = [8, 32], block = [1, 1, 1], depth = 32, left = in_place, right = packed, multiplier = amx>} {
    %groups = tensor.empty() : tensor<16x2x1x32xbf16>
    %lines = linalg.generic {indexing_maps = [affine_map<(g, l, p, c) -> (p, g, c, l)>, #plain], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%v : tensor<1x16x32x2xbf16>) outs(%groups : tensor<16x2x1x32xbf16>) {
    ^bb0(%p: bf16, %q: bf16):
      linalg.yield %p : bf16
    } -> tensor<16x2x1x32xbf16>
    %w = tensor.collapse_shape %lines [[0, 1], [2, 3]] : tensor<16x2x1x32xbf16> into tensor<32x32xbf16>
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<32x32xbf16>, tensor<32x32xbf16>) outs(%init : tensor<32x32xf32>) {
    ^bb0(%p: bf16, %q: bf16, %s: f32):
      %a = arith.extf %p : bf16 to f32
      %b = arith.extf %q : bf16 to f32
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %y : tensor<32x32xf32>
  }
}
