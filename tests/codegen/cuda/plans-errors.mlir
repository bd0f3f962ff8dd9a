// Plans that nothing can be computed by: what is wrong, and what is allowed.
//
// RUN: graph-opt %s --split-input-file --choose-strategies --divide-kernels --verify-diagnostics

// A tile that no warps have whole parts of.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{'tile' must be a power of two from 32 to 256, found 48}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [48, 64], thread = [4, 4], depth = 16, loads = [4, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Too few threads for a warp, 4 high and 8 wide.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{'thread' must leave a multiple of 4 × 8 threads for 'tile', found 4 × 4}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [64, 64], thread = [16, 16], depth = 16, loads = [4, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// More threads than a block has.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{'threads' must be a multiple of 32 up to 1024, found 4096}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [256, 256], thread = [4, 4], depth = 16, loads = [4, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Sums that a thread has no registers for.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{the sums of a thread take 256 registers, of which 128 can be for them}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [256, 256], thread = [16, 16], depth = 16, loads = [4, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Threads whose registers do not fit.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{a block has 512 threads that take up to 240 registers each, of which a multiprocessor has 65536}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [128, 64], thread = [4, 4], depth = 32, loads = [4, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Vectors that the elements do not lie in.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{the rows' factor cannot be loaded 8 elements at a time, where they lie or are computed so are 4 at most}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [64, 64], thread = [8, 4], depth = 16, loads = [8, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// A step of which threads would have no vector each.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{a step has 512 elements of the rows' factor, which 256 threads cannot share in vectors of 4}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 8, loads = [4, 4], stores = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Tensor cores for exact products of f32.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{tensor cores take factors of f16, bf16 or bytes, or with --allow-tf32 of f32}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [64, 64], thread = [8, 4], depth = 16, loads = [4, 4], stores = 4, tensor_cores = <warp = [32, 32], stages = 4, loads = [4, 4], stores = 4>>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Warps that are others than FFMA's.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{'warp' must divide 'tile' among the 256 threads that FFMA has, found 32 × 32}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 16, loads = [4, 4], stores = 4, tensor_cores = <warp = [32, 32], stages = 4, loads = [4, 4], stores = 4>>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// A plan for another kernel.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{it reduces along the last dimension, or nothing}}
  func.func private @k(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> attributes {graph.device = "cuda", graph.plan = #cuda.windows<lanes = 1, outputs = 4, threads = 256>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96x128xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<96x128xf32>
    return %y : tensor<96x128xf32>
  }
}

// -----

// Rows of more dimensions than all values have in common.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{: 'outer' must be from 0 to 1, found 2}}
  func.func private @k(%a: tensor<64x1000xf32>) -> tensor<64xf32> attributes {graph.device = "cuda", graph.plan = #cuda.rows<outer = 2, columns = 0, lanes = 4, team = 128, threads = 128, unrolled = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x1000xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%x: f32, %s: f32):
      %0 = arith.addf %s, %x : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

// -----

// Columns of a dimension that is added up.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{the last dimension is not one that all its values have in common, so 'columns' must be 0}}
  func.func private @k(%a: tensor<64x1000xf32>) -> tensor<64xf32> attributes {graph.device = "cuda", graph.plan = #cuda.rows<outer = 1, columns = 32, lanes = 4, team = 128, threads = 128, unrolled = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x1000xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%x: f32, %s: f32):
      %0 = arith.addf %s, %x : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

// -----

// Teams of several warps that share a block.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{teams of more than a warp are a block, found 64 of 128 threads}}
  func.func private @k(%a: tensor<64x1000xf32>) -> tensor<64xf32> attributes {graph.device = "cuda", graph.plan = #cuda.rows<outer = 1, columns = 0, lanes = 4, team = 64, threads = 128, unrolled = 4>} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x1000xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%x: f32, %s: f32):
      %0 = arith.addf %s, %x : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

// -----

// More results than a line has.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{: 'outputs' must be from 1 to 7, found 8}}
  func.func private @k(%a: tensor<2x9x9x6xf32>) -> tensor<2x7x7x6xf32> attributes {graph.device = "cuda", graph.plan = #cuda.windows<lanes = 1, outputs = 8, threads = 256>} {
    %z = arith.constant 0xFF800000 : f32
    %t = tensor.empty() : tensor<3x3xf32>
    %e = tensor.empty() : tensor<2x7x7x6xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x7x7x6xf32>) -> tensor<2x7x7x6xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j)>, affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %t : tensor<2x9x9x6xf32>, tensor<3x3xf32>) outs(%f : tensor<2x7x7x6xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.maximumf %s, %x : f32
      linalg.yield %0 : f32
    } -> tensor<2x7x7x6xf32>
    return %y : tensor<2x7x7x6xf32>
  }
}

// -----

// Vectors that channels do not divide into.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{channels cannot be computed in vectors of 4}}
  func.func private @k(%a: tensor<2x9x9x6xf32>) -> tensor<2x7x7x6xf32> attributes {graph.device = "cuda", graph.plan = #cuda.windows<lanes = 4, outputs = 4, threads = 256>} {
    %z = arith.constant 0xFF800000 : f32
    %t = tensor.empty() : tensor<3x3xf32>
    %e = tensor.empty() : tensor<2x7x7x6xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x7x7x6xf32>) -> tensor<2x7x7x6xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j)>, affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %t : tensor<2x9x9x6xf32>, tensor<3x3xf32>) outs(%f : tensor<2x7x7x6xf32>) {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %0 = arith.maximumf %s, %x : f32
      linalg.yield %0 : f32
    } -> tensor<2x7x7x6xf32>
    return %y : tensor<2x7x7x6xf32>
  }
}

// -----

// A tile of more shared memory than a chip has.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{a block takes 67584 bytes of shared memory, of which sm_75 has 65536}}
  func.func private @k(%a: tensor<40x72xf32>) -> tensor<72x40xf32> attributes {graph.device = "cuda", graph.plan = #cuda.transpose<lanes = 4, warps = 8>} {
    %e = tensor.empty() : tensor<72x40xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<40x72xf32>) outs(%e : tensor<72x40xf32>) {
    ^bb0(%x: f32, %s: f32):
      linalg.yield %x : f32
    } -> tensor<72x40xf32>
    return %y : tensor<72x40xf32>
  }
}

// -----

// Vectors for more shapes than there are.
module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_75", "sm_90a"]} {
  // expected-error @+1 {{its results have 1 shapes, each of which has a number of 'lanes', found 2}}
  func.func private @k(%a: tensor<40x72xf32>) -> tensor<72x40xf32> attributes {graph.device = "cuda", graph.plan = #cuda.threads<lanes = [1, 1], threads = 256>} {
    %e = tensor.empty() : tensor<72x40xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<40x72xf32>) outs(%e : tensor<72x40xf32>) {
    ^bb0(%x: f32, %s: f32):
      linalg.yield %x : f32
    } -> tensor<72x40xf32>
    return %y : tensor<72x40xf32>
  }
}
