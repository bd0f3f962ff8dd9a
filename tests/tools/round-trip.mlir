// Each phase, printed and read again, gives the same next phase, to the byte:
// as text, and as bytecode.

// RUN: rm -rf %t && mkdir -p %t/text %t/bytecode
// RUN: graph-compile %s --emit=graph -o %t/graph.mlir
// RUN: graph-compile %s --emit=normalised -o %t/normalised.mlir
// RUN: graph-compile %s --emit=optimised -o %t/optimised.mlir
// RUN: graph-compile %s --emit=fused -o %t/fused.mlir
// RUN: graph-compile %s --emit=kernels -o %t/kernels.mlir
// RUN: graph-compile %s --emit=plan -o %t/plan.mlir
// RUN: graph-compile %s --emit=llvm -o %t/llvm.mlir
// RUN: graph-compile %s --emit=obj -o %t/obj.o
// RUN: graph-compile %s --emit=so -o %t/so.so

// Without --emit, the name of the output says what is written.
// RUN: graph-compile %s -o %t/named.o && cmp %t/named.o %t/obj.o
// RUN: graph-compile %s -o %t/named.so && cmp %t/named.so %t/so.so
// RUN: graph-compile %s --emit=json -o %t/model.json
// RUN: graph-compile %s -o %t/named.json && cmp %t/named.json %t/model.json
// RUN: graph-compile %s --emit=onnx -o %t/model.onnx
// RUN: graph-compile %s -o %t/named.onnx && cmp %t/named.onnx %t/model.onnx

// RUN: graph-compile %t/graph.mlir --from=graph --emit=normalised -o %t/text/normalised.mlir
// RUN: graph-compile %t/normalised.mlir --from=normalised --emit=optimised -o %t/text/optimised.mlir
// RUN: graph-compile %t/optimised.mlir --from=optimised --emit=fused -o %t/text/fused.mlir
// RUN: graph-compile %t/fused.mlir --from=fused --emit=kernels -o %t/text/kernels.mlir
// RUN: graph-compile %t/kernels.mlir --from=kernels --emit=plan -o %t/text/plan.mlir
// RUN: graph-compile %t/plan.mlir --from=plan --emit=llvm -o %t/text/llvm.mlir
// RUN: graph-compile %t/llvm.mlir --from=llvm --emit=obj -o %t/text/obj.o
// RUN: graph-compile %t/llvm.mlir --from=llvm --emit=so -o %t/text/so.so
// RUN: diff %t/normalised.mlir %t/text/normalised.mlir
// RUN: diff %t/optimised.mlir %t/text/optimised.mlir
// RUN: diff %t/fused.mlir %t/text/fused.mlir
// RUN: diff %t/kernels.mlir %t/text/kernels.mlir
// RUN: diff %t/plan.mlir %t/text/plan.mlir
// RUN: diff %t/llvm.mlir %t/text/llvm.mlir
// RUN: cmp %t/obj.o %t/text/obj.o
// RUN: cmp %t/so.so %t/text/so.so

// RUN: graph-compile %s --emit=graph -o %t/bytecode/graph.mlirbc
// RUN: graph-compile %t/bytecode/graph.mlirbc --emit=kernels -o %t/bytecode/kernels.mlirbc
// RUN: graph-compile %t/bytecode/kernels.mlirbc --from=kernels --emit=llvm -o %t/bytecode/llvm.mlirbc
// RUN: graph-compile %t/bytecode/llvm.mlirbc --from=llvm --emit=llvm -o %t/bytecode/llvm.mlir
// RUN: graph-compile %t/bytecode/llvm.mlirbc --from=llvm -o %t/bytecode/so.so
// RUN: diff %t/llvm.mlir %t/bytecode/llvm.mlir
// RUN: cmp %t/so.so %t/bytecode/so.so

// Compiled twice, without what the first time left in the cache, the artifact
// is the same.
// RUN: graph-compile %s --no-cache -o %t/again.so
// RUN: cmp %t/so.so %t/again.so

// RUN: FileCheck %s --check-prefix=LLVM < %t/llvm.mlir
// LLVM: plan.weight
// LLVM: plan.function @main
// LLVM: plan.dispatch @matmul_add_0 chunks
// LLVM: module @matmul_add_0 attributes {graph.chunks = {{.*}}, graph.plan = #cpu.contraction<{{.*}}>, graph.scratch = {{.*}}, plan.operands = (memref<8x4xf32, strided<[4, 1]>>, {{.*}}) -> memref<8x4xf32, strided<[4, 1]>>, plan.work = #plan.work<operations = 288, bytes = {{[0-9]+}}>} {
// LLVM: llvm.func @matmul_add_0(%{{.*}}: !llvm.ptr

// The object file has all kernels, their weights, and what describes them, under
// one name.
// RUN: llvm-nm --extern-only %t/obj.o | FileCheck %s --check-prefix=OBJECT
// OBJECT-NOT: {{^.}}
// OBJECT: {{^[0-9a-f]+}} D tinh_model_round_trip
// OBJECT-NOT: {{^.}}

// Where linkers put large data, so that it parts no code from its data.
// RUN: llvm-readelf --sections --wide %t/obj.o | FileCheck %s --check-prefix=SECTION
// SECTION: .lrodata.tinh.weights PROGBITS {{.*}} Al {{.*}} 64

// RUN: graph-run %t/so.so --list | FileCheck %s
// CHECK: input   x                                f32 8x4
// CHECK: output  y                                f32 8x4

func.func @main(%x: tensor<8x4xf32> {graph.name = "x"}) -> (tensor<8x4xf32> {graph.name = "y"}) {
  %w = graph.constant dense<[[1.0, 2.0, 0.1, 4.0], [0.5, 6.0, 7.0, 8.0], [9.0, -1.0, 2.5, 3.0], [0.0, 5.0, 0.3, 7.0]]> : tensor<4x4xf32>
  %b = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = graph.add %0, %b : tensor<8x4xf32>, tensor<4xf32> -> tensor<8x4xf32>
  %2 = graph.softmax %1 axis 1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
