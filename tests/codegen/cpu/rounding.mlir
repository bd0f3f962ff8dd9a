// How bf16 is rounded: by the CPU's instruction where there is one, and where a
// kernel ends, not between its ops.

// RUN: graph-compile %s --cpu=cooperlake --emit=llvm | FileCheck %s
// RUN: graph-compile %s --cpu=cascadelake --emit=llvm | FileCheck %s --check-prefix=INTEGERS
// RUN: graph-compile %s --cpu=cooperlake --emit=obj -o %t.o
// RUN: llvm-nm --undefined-only %t.o | FileCheck %s --check-prefix=CALLS --allow-empty

// CHECK-LABEL: llvm.func internal @add_max_min_0.body
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.select
// CHECK: llvm.select
// CHECK: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK-NOT: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.return

// What compares numbers sees them rounded, and so does what follows a cast.
// CHECK-LABEL: llvm.func internal @add_compare_where_0.body
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.fcmp
// CHECK-LABEL: llvm.func internal @cast_mul_0.body
// CHECK: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.fmul
// CHECK: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>

// A larger of two numbers is as rounded as these: not at all, before the cast.
// CHECK-LABEL: llvm.func internal @add_relu_cast_0.body
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.return

// INTEGERS-LABEL: llvm.func internal @add_max_min_0.body
// INTEGERS-NOT: llvm.fptrunc
// INTEGERS: llvm.lshr
// INTEGERS: llvm.return

// No function of a library rounds.
// CALLS-NOT: trunc

func.func @main(%x: tensor<32xbf16> {graph.name = "x"}, %b: tensor<32xbf16> {graph.name = "b"},
                %f: tensor<32xf32> {graph.name = "f"})
    -> (tensor<32xbf16> {graph.name = "y"}, tensor<32xbf16> {graph.name = "z"}, tensor<32xbf16> {graph.name = "u"},
        tensor<32xf32> {graph.name = "v"}) {
  %low = graph.constant dense<0.0> : tensor<bf16>
  %high = graph.constant dense<6.0> : tensor<bf16>
  %0 = graph.add %x, %b : tensor<32xbf16>, tensor<32xbf16> -> tensor<32xbf16>
  %1 = graph.max %0, %low : tensor<32xbf16>, tensor<bf16> -> tensor<32xbf16>
  %2 = graph.min %1, %high : tensor<32xbf16>, tensor<bf16> -> tensor<32xbf16>
  %3 = graph.add %b, %b : tensor<32xbf16>, tensor<32xbf16> -> tensor<32xbf16>
  %4 = graph.compare less %3, %x : tensor<32xbf16>, tensor<32xbf16> -> tensor<32xi1>
  %5 = graph.where %4, %x, %low : tensor<32xi1>, tensor<32xbf16>, tensor<bf16> -> tensor<32xbf16>
  %6 = graph.cast %f : tensor<32xf32> to tensor<32xbf16>
  %7 = graph.mul %6, %6 : tensor<32xbf16>, tensor<32xbf16> -> tensor<32xbf16>
  %8 = graph.add %x, %x : tensor<32xbf16>, tensor<32xbf16> -> tensor<32xbf16>
  %9 = graph.relu %8 : tensor<32xbf16>
  %10 = graph.cast %9 : tensor<32xbf16> to tensor<32xf32>
  return %2, %5, %7, %10 : tensor<32xbf16>, tensor<32xbf16>, tensor<32xbf16>, tensor<32xf32>
}
