// RUN: graph-opt %s --lay-out-weights --choose-strategies --divide-kernels | FileCheck %s --check-prefix=CHOSEN
// RUN: graph-opt %s --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// A product in tiles: 64 × 64 sums of a block fill the GPU better than 128 × 128,
// and two such blocks on a multiprocessor multiply while others wait.
// CHOSEN:      func.func private @matmul_add_0
// CHOSEN-SAME:   graph.chunks = 256 : i64
// CHOSEN-SAME:   graph.plan = #cuda.contraction<tile = [64, 64], thread = [8, 4], depth = 16, loads = [4, 4], stores = 4>
// CHOSEN-SAME:   graph.scratch = 17408 : i64, graph.threads = 128 : i64

// The sum of 4096 products for each of 32 × 32 elements is computed in parts.
// CHOSEN:      func.func private @matmul_1_parts(%{{.*}}: tensor<32x4096xf32>, %{{.*}}: tensor<4096x32xf32>) -> tensor<[[PARTS:[0-9]+]]x32x32xf32>
// CHOSEN-SAME:   graph.chunks = [[PARTS]] : i64
// CHOSEN-SAME:   graph.plan = #cuda.contraction
// CHOSEN:      func.func private @matmul_1(%{{.*}}: tensor<[[PARTS]]x32x32xf32>) -> tensor<32x32xf32>

// A row of the product belongs to threads that add up along it.
// CHOSEN:      func.func private @matmul_2
// CHOSEN-NOT:    graph.plan = #cuda.contraction
// CHOSEN:      return

// One barrier in each step; the next step's elements are loaded before this
// one's are multiplied, and stored after. The bias is added to vectors.
// CHECK-LABEL: gpu.func @matmul_add_0(
// CHECK-SAME:    nvvm.maxnreg
// CHECK:         vector.load {{.*}} : memref<1048576xf32>, vector<4xf32>
// CHECK:         scf.for {{.*}} iter_args(
// CHECK-NEXT:      gpu.barrier
// CHECK-NOT:       gpu.barrier
// CHECK:           vector.load {{.*}} : memref<1048576xf32>, vector<4xf32>
// CHECK:           vector.load {{.*}}#gpu.address_space<workgroup>>, vector<4xf32>
// CHECK:           vector.fma {{.*}} : vector<4xf32>
// CHECK:           vector.store {{.*}}#gpu.address_space<workgroup>>, vector<4xf32>
// CHECK:         scf.yield
// CHECK-NOT:     scf.if
// CHECK:         arith.addf {{.*}} : vector<4xf32>
// CHECK:         vector.store {{.*}} : memref<1048576xf32>, vector<4xf32>

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
module attributes {graph.cpu = "x86-64-v4", graph.cuda = ["sm_80"]} {
  func.func private @matmul_add_0(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024xf32>) -> tensor<1024x1024xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1024x1024xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<1024x1024xf32>
    %q = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%p, %c : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%e : tensor<1024x1024xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.addf %x, %y : f32
      linalg.yield %0 : f32
    } -> tensor<1024x1024xf32>
    return %q : tensor<1024x1024xf32>
  }

  func.func private @matmul_1(%a: tensor<32x4096xf32>, %b: tensor<4096x32xf32>) -> tensor<32x32xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<32x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
    %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<32x4096xf32>, tensor<4096x32xf32>) outs(%f : tensor<32x32xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<32x32xf32>
    return %p : tensor<32x32xf32>
  }

  func.func private @matmul_2(%a: tensor<1x512xf32>, %b: tensor<1000x512xf32>) -> tensor<1x1000xf32> attributes {graph.device = "cuda"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1x1000xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x1000xf32>) -> tensor<1x1000xf32>
    %p = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<1x512xf32>, tensor<1000x512xf32>) outs(%f : tensor<1x1000xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %s, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<1x1000xf32>
    return %p : tensor<1x1000xf32>
  }

  func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024xf32>, %d: tensor<32x4096xf32>, %e: tensor<4096x32xf32>, %f: tensor<1x512xf32>, %g: tensor<1000x512xf32>) -> (tensor<1024x1024xf32>, tensor<32x32xf32>, tensor<1x1000xf32>) {
    %0 = graph.dispatch @matmul_add_0(%a, %b, %c) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024x1024xf32>
    %1 = graph.dispatch @matmul_1(%d, %e) : (tensor<32x4096xf32>, tensor<4096x32xf32>) -> tensor<32x32xf32>
    %2 = graph.dispatch @matmul_2(%f, %g) : (tensor<1x512xf32>, tensor<1000x512xf32>) -> tensor<1x1000xf32>
    return %0, %1, %2 : tensor<1024x1024xf32>, tensor<32x32xf32>, tensor<1x1000xf32>
  }
}
