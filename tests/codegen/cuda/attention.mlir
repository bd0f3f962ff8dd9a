// RUN: graph-opt %s --lay-out-weights --choose-strategies --divide-kernels | FileCheck %s --check-prefix=CHOSEN
// RUN: graph-opt %s --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// What says that it is attention, and computes that: one kernel, whose blocks
// have 32 queries each.
// CHOSEN:      func.func private @attention
// CHOSEN-SAME:   graph.chunks = 16 : i64
// CHOSEN-SAME:   graph.plan = #cuda.attention<queries = 32, keys = 64, rows = 8, depth = 16, step = 16, loads = [4, 4, 4], masks = 4, stores = 4>
// CHOSEN-SAME:   graph.threads = 64 : i64

// The sums are a result, too: blocks would have to store them.
// CHOSEN:      func.func private @with_sums
// CHOSEN-NOT:    graph.plan = #cuda.attention

// The same ops, which do not say what they are.
// CHOSEN:      func.func private @unknown
// CHOSEN-NOT:    graph.plan = #cuda.attention

// Of other weights than a softmax's, whatever they say.
// CHOSEN:      func.func private @other_weights
// CHOSEN-NOT:    graph.plan = #cuda.attention

// Of the first values for all heads.
// CHOSEN:      func.func private @other_heads
// CHOSEN-NOT:    graph.plan = #cuda.attention

// With a result of two queries each.
// CHOSEN:      func.func private @two_queries
// CHOSEN-NOT:    graph.plan = #cuda.attention
// CHOSEN:      return

// The loop over keys carries the largest score and the sum of each of eight
// rows. Scores of a step and values have loops of their own, with a barrier in
// each, and so do weights, which are stored in shared memory once.
// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME:    nvvm.minctasm
// CHECK:         scf.for {{.*}} iter_args(
// CHECK:           scf.for {{.*}} iter_args(
// CHECK:             gpu.barrier
// CHECK:             vector.fma
// CHECK:             scf.yield
// CHECK:           arith.maximumf
// CHECK:           gpu.shuffle xor
// CHECK:           math.exp {{.*}} fastmath<afn>
// CHECK:           gpu.barrier
// CHECK:           vector.store {{.*}}#gpu.address_space<workgroup>>, vector<4xf32>
// CHECK:           scf.for {{.*}} iter_args(
// CHECK:             gpu.barrier
// CHECK:             vector.fma
// CHECK:             scf.yield
// CHECK:           scf.yield
// CHECK:         arith.divf
// CHECK:         vector.store {{.*}} : memref<16384xf32>, vector<4xf32>

#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#v = affine_map<(b, m, n, k) -> (b, k, n)>
#v0 = affine_map<(b, m, n, k) -> (0, k, n)>
#y = affine_map<(b, m, n, k) -> (b, m, n)>
#i3 = affine_map<(b, m, n) -> (b, m, n)>
#back = affine_map<(b, m, n) -> (b, 63 - m, n)>
#row = affine_map<(b, m, n) -> (b, m)>
module attributes {graph.cpu = "x86-64-v4", graph.cuda = ["sm_80"]} {
  func.func private @attention(%q: tensor<8x64x32xf32>, %k: tensor<8x96x32xf32>, %v: tensor<8x96x32xf32>) -> tensor<8x64x32xf32> attributes {graph.device = "cuda"} {
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %se = tensor.empty() : tensor<8x64x96xf32>
    %re = tensor.empty() : tensor<8x64xf32>
    %ye = tensor.empty() : tensor<8x64x32xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<8x64x32xf32>, tensor<8x96x32xf32>) outs(%s0 : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<scores>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %d = linalg.generic {indexing_maps = [#i3, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<8x64x96xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<masked>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.mulf %x, %scale : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %m0 = linalg.fill ins(%lowest : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %m = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<8x64x96xf32>) outs(%m0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<largest>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.maximumf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %e = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %m : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<exponentials>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.subf %x, %w : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %l = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<8x64x96xf32>) outs(%l0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<sum>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.addf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %p = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<weights>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.divf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %y0 = linalg.fill ins(%zero : f32) outs(%ye : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    %y = linalg.generic {indexing_maps = [#q, #v, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<8x64x96xf32>, tensor<8x96x32xf32>) outs(%y0 : tensor<8x64x32xf32>) attrs = {origin.op = #origin.attention<values>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x32xf32>
    return %y : tensor<8x64x32xf32>
  }

  func.func private @with_sums(%q: tensor<8x64x32xf32>, %k: tensor<8x96x32xf32>, %v: tensor<8x96x32xf32>) -> (tensor<8x64x32xf32>, tensor<8x64xf32>) attributes {graph.device = "cuda"} {
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %se = tensor.empty() : tensor<8x64x96xf32>
    %re = tensor.empty() : tensor<8x64xf32>
    %ye = tensor.empty() : tensor<8x64x32xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<8x64x32xf32>, tensor<8x96x32xf32>) outs(%s0 : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<scores>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %d = linalg.generic {indexing_maps = [#i3, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<8x64x96xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<masked>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.mulf %x, %scale : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %m0 = linalg.fill ins(%lowest : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %m = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<8x64x96xf32>) outs(%m0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<largest>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.maximumf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %e = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %m : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<exponentials>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.subf %x, %w : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %l = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<8x64x96xf32>) outs(%l0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<sum>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.addf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %p = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<weights>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.divf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %y0 = linalg.fill ins(%zero : f32) outs(%ye : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    %y = linalg.generic {indexing_maps = [#q, #v, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<8x64x96xf32>, tensor<8x96x32xf32>) outs(%y0 : tensor<8x64x32xf32>) attrs = {origin.op = #origin.attention<values>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x32xf32>
    return %y, %l : tensor<8x64x32xf32>, tensor<8x64xf32>
  }

  func.func private @unknown(%q: tensor<8x64x32xf32>, %k: tensor<8x96x32xf32>, %v: tensor<8x96x32xf32>) -> tensor<8x64x32xf32> attributes {graph.device = "cuda"} {
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %se = tensor.empty() : tensor<8x64x96xf32>
    %re = tensor.empty() : tensor<8x64xf32>
    %ye = tensor.empty() : tensor<8x64x32xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<8x64x32xf32>, tensor<8x96x32xf32>) outs(%s0 : tensor<8x64x96xf32>) {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %d = linalg.generic {indexing_maps = [#i3, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<8x64x96xf32>) outs(%se : tensor<8x64x96xf32>) {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.mulf %x, %scale : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %m0 = linalg.fill ins(%lowest : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %m = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<8x64x96xf32>) outs(%m0 : tensor<8x64xf32>) {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.maximumf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %e = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %m : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.subf %x, %w : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %l = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<8x64x96xf32>) outs(%l0 : tensor<8x64xf32>) {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.addf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %p = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.divf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %y0 = linalg.fill ins(%zero : f32) outs(%ye : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    %y = linalg.generic {indexing_maps = [#q, #v, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<8x64x96xf32>, tensor<8x96x32xf32>) outs(%y0 : tensor<8x64x32xf32>) {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x32xf32>
    return %y : tensor<8x64x32xf32>
  }

  func.func private @other_weights(%q: tensor<8x64x32xf32>, %k: tensor<8x96x32xf32>, %v: tensor<8x96x32xf32>) -> tensor<8x64x32xf32> attributes {graph.device = "cuda"} {
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %se = tensor.empty() : tensor<8x64x96xf32>
    %re = tensor.empty() : tensor<8x64xf32>
    %ye = tensor.empty() : tensor<8x64x32xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<8x64x32xf32>, tensor<8x96x32xf32>) outs(%s0 : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<scores>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %d = linalg.generic {indexing_maps = [#i3, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<8x64x96xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<masked>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.mulf %x, %scale : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %m0 = linalg.fill ins(%lowest : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %m = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<8x64x96xf32>) outs(%m0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<largest>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.maximumf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %e = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %m : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<exponentials>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.subf %x, %w : f32
      %1 = math.exp2 %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %l = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<8x64x96xf32>) outs(%l0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<sum>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.addf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %p = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<weights>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.divf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %y0 = linalg.fill ins(%zero : f32) outs(%ye : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    %y = linalg.generic {indexing_maps = [#q, #v, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<8x64x96xf32>, tensor<8x96x32xf32>) outs(%y0 : tensor<8x64x32xf32>) attrs = {origin.op = #origin.attention<values>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x32xf32>
    return %y : tensor<8x64x32xf32>
  }

  func.func private @other_heads(%q: tensor<8x64x32xf32>, %k: tensor<8x96x32xf32>, %v: tensor<8x96x32xf32>) -> tensor<8x64x32xf32> attributes {graph.device = "cuda"} {
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %se = tensor.empty() : tensor<8x64x96xf32>
    %re = tensor.empty() : tensor<8x64xf32>
    %ye = tensor.empty() : tensor<8x64x32xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<8x64x32xf32>, tensor<8x96x32xf32>) outs(%s0 : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<scores>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %d = linalg.generic {indexing_maps = [#i3, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<8x64x96xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<masked>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.mulf %x, %scale : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %m0 = linalg.fill ins(%lowest : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %m = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<8x64x96xf32>) outs(%m0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<largest>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.maximumf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %e = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %m : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<exponentials>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.subf %x, %w : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %l = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<8x64x96xf32>) outs(%l0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<sum>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.addf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %p = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<weights>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.divf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %y0 = linalg.fill ins(%zero : f32) outs(%ye : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    %y = linalg.generic {indexing_maps = [#q, #v0, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<8x64x96xf32>, tensor<8x96x32xf32>) outs(%y0 : tensor<8x64x32xf32>) attrs = {origin.op = #origin.attention<values>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x32xf32>
    return %y : tensor<8x64x32xf32>
  }

  func.func private @two_queries(%q: tensor<8x64x32xf32>, %k: tensor<8x96x32xf32>, %v: tensor<8x96x32xf32>) -> tensor<8x64x32xf32> attributes {graph.device = "cuda"} {
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %se = tensor.empty() : tensor<8x64x96xf32>
    %re = tensor.empty() : tensor<8x64xf32>
    %ye = tensor.empty() : tensor<8x64x32xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<8x64x32xf32>, tensor<8x96x32xf32>) outs(%s0 : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<scores>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %d = linalg.generic {indexing_maps = [#i3, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<8x64x96xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<masked>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.mulf %x, %scale : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %m0 = linalg.fill ins(%lowest : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %m = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<8x64x96xf32>) outs(%m0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<largest>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.maximumf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %e = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %m : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<exponentials>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.subf %x, %w : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x96xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<8x64xf32>) -> tensor<8x64xf32>
    %l = linalg.generic {indexing_maps = [#i3, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<8x64x96xf32>) outs(%l0 : tensor<8x64xf32>) attrs = {origin.op = #origin.attention<sum>} {
    ^bb0(%x: f32, %a: f32):
      %0 = arith.addf %a, %x : f32
      linalg.yield %0 : f32
    } -> tensor<8x64xf32>
    %p = linalg.generic {indexing_maps = [#i3, #row, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<8x64x96xf32>, tensor<8x64xf32>) outs(%se : tensor<8x64x96xf32>) attrs = {origin.op = #origin.attention<weights>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.divf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x96xf32>
    %y0 = linalg.fill ins(%zero : f32) outs(%ye : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    %y = linalg.generic {indexing_maps = [#q, #v, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<8x64x96xf32>, tensor<8x96x32xf32>) outs(%y0 : tensor<8x64x32xf32>) attrs = {origin.op = #origin.attention<values>} {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %a, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x64x32xf32>
    %r = linalg.generic {indexing_maps = [#i3, #back, #i3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y, %y : tensor<8x64x32xf32>, tensor<8x64x32xf32>) outs(%ye : tensor<8x64x32xf32>) {
    ^bb0(%x: f32, %w: f32, %a: f32):
      %0 = arith.addf %x, %w : f32
      linalg.yield %0 : f32
    } -> tensor<8x64x32xf32>
    return %r : tensor<8x64x32xf32>
  }
}
