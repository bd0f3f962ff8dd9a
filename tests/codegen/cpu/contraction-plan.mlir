// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// How products are cut whose right-hand side is no constant.

// Rows of the input lie side by side: half of k is summed at a time, and sums
// wait in scratch memory. Two blocks of rows pack each group of columns.
// CHECK-LABEL: func.func private @matmul_0(
// CHECK-SAME:    graph.plan = #cpu.contraction<tile = [12, 32], block = [1, 85, 1], depth = 512, left = in_place, right = copied>
// EMIT-LABEL: func.func @matmul_0(
// EMIT:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// EMIT:         vector.store %[[ZERO]], %[[SUMS:.*]][
// EMIT:         %[[SUM:.*]] = vector.load %[[SUMS]][
// EMIT:         scf.for %{{.*}} = %{{.*}} to %c512 step %c4 iter_args(%{{.*}} = %[[SUM]]
// EMIT:         vector.store %{{.*}}, %[[SUMS]][

// Few rows read the weights where they lie, whatever part of a vector is there.
// CHECK-LABEL: func.func private @matmul_1(
// CHECK-SAME:    graph.plan = #cpu.contraction<{{.*}}depth = 800, left = in_place, right = in_place>
// EMIT-LABEL: func.func @matmul_1(
// EMIT:         scf.for {{.*}} step %c4 iter_args(
// EMIT:           vector.maskedload %arg1
// EMIT:           vector.fma

// Large ones they read some rows at a time.
// CHECK-LABEL: func.func private @matmul_2(
// CHECK-SAME:    graph.plan = #cpu.contraction<{{.*}}depth = 16, left = in_place, right = in_place>
// EMIT-LABEL: func.func @matmul_2(
// EMIT:         scf.for {{.*}} to %c16 step %c4 iter_args(
// EMIT:           vector.maskedload %arg1

// An input of 16 bits is converted on its way to a slab, which stays in the
// cache: a third of k at a time. Few chunks convert the same rows. Panels of 16 bits
// that 43 tiles read are converted once for them.
// CHECK-LABEL: func.func private @matmul_3_pack(
// CHECK:       func.func private @matmul_3(
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<1024x512xf16>, order = [0, 1], batch = 0, width = 32>}
// CHECK-SAME:    graph.plan = #cpu.contraction<{{.*}}depth = 344, left = staged, right = copied>
// EMIT-LABEL: func.func @matmul_3(
// EMIT:         arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// EMIT:         scf.for {{.*}} to %c344 step %c4 iter_args(
// EMIT:         scf.for {{.*}} to %c336 step %c4 iter_args(

// Columns that are not contiguous are packed by a kernel before.
// CHECK-LABEL: func.func private @matmul_4_pack(
// CHECK:       func.func private @matmul_4(
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<256x512xf32>, order = [1, 0], batch = 0, width = 32>}

// Rows that are two pages apart share few sets of the caches: they are copied.
// CHECK-LABEL: func.func private @matmul_5(
// CHECK-SAME:    graph.plan = #cpu.contraction<{{.*}}left = staged, right = copied>

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<1024x2040xf32> {graph.name = "x"}, %d: tensor<1024x512xf32> {graph.name = "d"},
                  %r: tensor<5x800xf32> {graph.name = "r"}, %w: tensor<800x300xf32> {graph.name = "w"},
                  %l: tensor<5x4000xf32> {graph.name = "l"}, %v: tensor<4000x300xf32> {graph.name = "v"},
                  %h: tensor<1024x512xf16> {graph.name = "h"}, %g: tensor<1024x512xf16> {graph.name = "g"},
                  %t: tensor<256x512xf32> {graph.name = "t"}, %s: tensor<1024x2048xf32> {graph.name = "s"})
      -> (tensor<2040x512xf32> {graph.name = "y0"}, tensor<5x300xf32> {graph.name = "y1"},
          tensor<5x300xf32> {graph.name = "y2"}, tensor<512x512xf16> {graph.name = "y3"},
          tensor<1024x256xf32> {graph.name = "y4"}, tensor<2048x512xf32> {graph.name = "y5"}) {
    %0 = graph.kernel (%a = %x, %b = %d) : (tensor<1024x2040xf32>, tensor<1024x512xf32>) -> tensor<2040x512xf32> {
      %p = graph.matmul %a, %b transpose_a : tensor<1024x2040xf32>, tensor<1024x512xf32> -> tensor<2040x512xf32>
      graph.yield %p : tensor<2040x512xf32>
    }
    %1 = graph.kernel (%a = %r, %b = %w) : (tensor<5x800xf32>, tensor<800x300xf32>) -> tensor<5x300xf32> {
      %p = graph.matmul %a, %b : tensor<5x800xf32>, tensor<800x300xf32> -> tensor<5x300xf32>
      graph.yield %p : tensor<5x300xf32>
    }
    %2 = graph.kernel (%a = %l, %b = %v) : (tensor<5x4000xf32>, tensor<4000x300xf32>) -> tensor<5x300xf32> {
      %p = graph.matmul %a, %b : tensor<5x4000xf32>, tensor<4000x300xf32> -> tensor<5x300xf32>
      graph.yield %p : tensor<5x300xf32>
    }
    %3 = graph.kernel (%a = %h, %b = %g) : (tensor<1024x512xf16>, tensor<1024x512xf16>) -> tensor<512x512xf16> {
      %p = graph.matmul %a, %b transpose_a : tensor<1024x512xf16>, tensor<1024x512xf16> -> tensor<512x512xf16>
      graph.yield %p : tensor<512x512xf16>
    }
    %4 = graph.kernel (%a = %d, %b = %t) : (tensor<1024x512xf32>, tensor<256x512xf32>) -> tensor<1024x256xf32> {
      %p = graph.matmul %a, %b transpose_b : tensor<1024x512xf32>, tensor<256x512xf32> -> tensor<1024x256xf32>
      graph.yield %p : tensor<1024x256xf32>
    }
    %5 = graph.kernel (%a = %s, %b = %d) : (tensor<1024x2048xf32>, tensor<1024x512xf32>) -> tensor<2048x512xf32> {
      %q = graph.matmul %a, %b transpose_a : tensor<1024x2048xf32>, tensor<1024x512xf32> -> tensor<2048x512xf32>
      graph.yield %q : tensor<2048x512xf32>
    }
    return %0, %1, %2, %3, %4, %5 : tensor<2040x512xf32>, tensor<5x300xf32>, tensor<5x300xf32>, tensor<512x512xf16>, tensor<1024x256xf32>, tensor<2048x512xf32>
  }
}
