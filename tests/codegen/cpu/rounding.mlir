// How bf16 is rounded: by the CPU's instruction where there is one, and once, when
// a kernel stores it; but a cast of the model rounds for each reader.

// RUN: graph-compile %s --cpu=cooperlake --emit=llvm | FileCheck %s
// RUN: graph-compile %s --cpu=cascadelake --emit=llvm | FileCheck %s --check-prefix=INTEGERS
// RUN: graph-compile %s --cpu=cooperlake --emit=obj -o %t.o
// RUN: llvm-nm --undefined-only %t.o | FileCheck %s --check-prefix=CALLS --allow-empty

// CHECK-LABEL: llvm.func internal @add_max_min_0.body
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.select
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.select
// CHECK: %[[Y:.*]] = llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.bitcast %[[Y]] : vector<16xbf16> to vector<16xi16>
// CHECK-NOT: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.return

// CHECK-LABEL: llvm.func internal @cast_cast_0.body
// CHECK: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>

// INTEGERS-LABEL: llvm.func internal @add_max_min_0.body
// INTEGERS-NOT: llvm.fptrunc
// INTEGERS: llvm.lshr
// INTEGERS: llvm.return

// No function of a library rounds.
// CALLS-NOT: trunc

func.func @main(%x: tensor<32xbf16> {graph.name = "x"}, %b: tensor<32xbf16> {graph.name = "b"},
                %f: tensor<32xf32> {graph.name = "f"})
    -> (tensor<32xbf16> {graph.name = "y"}, tensor<32xf32> {graph.name = "c"}) {
  %low = graph.constant dense<0.0> : tensor<bf16>
  %high = graph.constant dense<6.0> : tensor<bf16>
  %0 = graph.add %x, %b : tensor<32xbf16>, tensor<32xbf16> -> tensor<32xbf16>
  %1 = graph.max %0, %low : tensor<32xbf16>, tensor<bf16> -> tensor<32xbf16>
  %2 = graph.min %1, %high : tensor<32xbf16>, tensor<bf16> -> tensor<32xbf16>
  %3 = graph.cast %f : tensor<32xf32> to tensor<32xbf16>
  %4 = graph.cast %3 : tensor<32xbf16> to tensor<32xf32>
  return %2, %4 : tensor<32xbf16>, tensor<32xf32>
}
