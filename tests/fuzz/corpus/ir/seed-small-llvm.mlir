// --from=llvm
module attributes {graph.cpu = "x86-64-v3", graph.model = "small"} {
  plan.function @main
      inputs("x": tensor<4x8xf32>,
        "w": tensor<8x8xf32>)
      outputs("y": tensor<4x8xf32>)
      arena 128 unplanned 128 lower_bound 128 {
    %0 = plan.dispatch @matmul_add_0 chunks 1 scratch 0 reads(input 0[0 to 128], input 1[0 to 256]) writes(arena[0 to 128])
    %1 = plan.dispatch @softmax_0 after %0 chunks 4 scratch 192 reads(arena[0 to 128]) writes(output 0[0 to 128])
  }
  module @matmul_add_0 attributes {graph.chunks = 1 : i64, graph.estimate = 546 : i64, graph.plan = #cpu.contraction<tile = [4, 8], block = [1, 1, 1], depth = 8, left = in_place, right = in_place>, graph.scratch = 0 : i64, plan.operands = (memref<4x8xf32, strided<[8, 1]>>, memref<8x8xf32, strided<[8, 1]>>) -> memref<4x8xf32, strided<[8, 1]>>, plan.work = #plan.work<operations = 544, bytes = 512>} {
    llvm.func @matmul_add_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) {
      %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
      %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
      llvm.call @matmul_add_0.body(%1, %3, %5, %arg1, %arg2, %arg3) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
      llvm.return
    }
    llvm.func internal @matmul_add_0.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr {llvm.noalias}, %arg3: !llvm.ptr, %arg4: i64, %arg5: i64) attributes {always_inline} {
      %0 = llvm.mlir.constant(0 : i32) : i32
      %1 = llvm.mlir.poison : vector<8xf32>
      %2 = llvm.mlir.constant(8 : index) : i64
      %3 = llvm.mlir.constant(dense<0.000000e+00> : vector<8xf32>) : vector<8xf32>
      %4 = llvm.mlir.constant(16 : index) : i64
      %5 = llvm.mlir.constant(24 : index) : i64
      %6 = llvm.mlir.constant(40 : index) : i64
      %7 = llvm.mlir.constant(48 : index) : i64
      %8 = llvm.mlir.constant(56 : index) : i64
      %9 = llvm.mlir.constant(dense<2.000000e+00> : vector<8xf32>) : vector<8xf32>
      %10 = llvm.mlir.constant(1 : index) : i64
      %11 = llvm.mlir.constant(32 : index) : i64
      llvm.br ^bb1(%arg4 : i64)
    ^bb1(%12: i64):  // 2 preds: ^bb0, ^bb5
      %13 = llvm.icmp "slt" %12, %arg5 : i64
      llvm.cond_br %13, ^bb2, ^bb6
    ^bb2:  // pred: ^bb1
      %14 = llvm.add %12, %10 : i64
      %15 = llvm.intr.umin(%14, %10) : (i64, i64) -> i64
      llvm.br ^bb3(%12 : i64)
    ^bb3(%16: i64):  // 2 preds: ^bb2, ^bb4
      %17 = llvm.icmp "slt" %16, %15 : i64
      llvm.cond_br %17, ^bb4, ^bb5
    ^bb4:  // pred: ^bb3
      %18 = llvm.mul %16, %2 : i64
      %19 = llvm.getelementptr %arg1[%18] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %20 = llvm.load %19 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %21 = llvm.load %arg0 : !llvm.ptr -> f32
      %22 = llvm.insertelement %21, %1[%0 : i32] : vector<8xf32>
      %23 = llvm.shufflevector %22, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %24 = llvm.intr.fmuladd(%23, %20, %3) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %25 = llvm.getelementptr inbounds|nuw %arg0[8] : (!llvm.ptr) -> !llvm.ptr, f32
      %26 = llvm.load %25 : !llvm.ptr -> f32
      %27 = llvm.insertelement %26, %1[%0 : i32] : vector<8xf32>
      %28 = llvm.shufflevector %27, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %29 = llvm.intr.fmuladd(%28, %20, %3) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %30 = llvm.getelementptr inbounds|nuw %arg0[16] : (!llvm.ptr) -> !llvm.ptr, f32
      %31 = llvm.load %30 : !llvm.ptr -> f32
      %32 = llvm.insertelement %31, %1[%0 : i32] : vector<8xf32>
      %33 = llvm.shufflevector %32, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %34 = llvm.intr.fmuladd(%33, %20, %3) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %35 = llvm.getelementptr inbounds|nuw %arg0[24] : (!llvm.ptr) -> !llvm.ptr, f32
      %36 = llvm.load %35 : !llvm.ptr -> f32
      %37 = llvm.insertelement %36, %1[%0 : i32] : vector<8xf32>
      %38 = llvm.shufflevector %37, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %39 = llvm.intr.fmuladd(%38, %20, %3) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %40 = llvm.add %18, %2 : i64
      %41 = llvm.getelementptr %arg1[%40] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %42 = llvm.load %41 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %43 = llvm.getelementptr inbounds|nuw %arg0[1] : (!llvm.ptr) -> !llvm.ptr, f32
      %44 = llvm.load %43 : !llvm.ptr -> f32
      %45 = llvm.insertelement %44, %1[%0 : i32] : vector<8xf32>
      %46 = llvm.shufflevector %45, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %47 = llvm.intr.fmuladd(%46, %42, %24) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %48 = llvm.getelementptr inbounds|nuw %arg0[9] : (!llvm.ptr) -> !llvm.ptr, f32
      %49 = llvm.load %48 : !llvm.ptr -> f32
      %50 = llvm.insertelement %49, %1[%0 : i32] : vector<8xf32>
      %51 = llvm.shufflevector %50, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %52 = llvm.intr.fmuladd(%51, %42, %29) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %53 = llvm.getelementptr inbounds|nuw %arg0[17] : (!llvm.ptr) -> !llvm.ptr, f32
      %54 = llvm.load %53 : !llvm.ptr -> f32
      %55 = llvm.insertelement %54, %1[%0 : i32] : vector<8xf32>
      %56 = llvm.shufflevector %55, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %57 = llvm.intr.fmuladd(%56, %42, %34) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %58 = llvm.getelementptr inbounds|nuw %arg0[25] : (!llvm.ptr) -> !llvm.ptr, f32
      %59 = llvm.load %58 : !llvm.ptr -> f32
      %60 = llvm.insertelement %59, %1[%0 : i32] : vector<8xf32>
      %61 = llvm.shufflevector %60, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %62 = llvm.intr.fmuladd(%61, %42, %39) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %63 = llvm.add %18, %4 : i64
      %64 = llvm.getelementptr %arg1[%63] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %65 = llvm.load %64 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %66 = llvm.getelementptr inbounds|nuw %arg0[2] : (!llvm.ptr) -> !llvm.ptr, f32
      %67 = llvm.load %66 : !llvm.ptr -> f32
      %68 = llvm.insertelement %67, %1[%0 : i32] : vector<8xf32>
      %69 = llvm.shufflevector %68, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %70 = llvm.intr.fmuladd(%69, %65, %47) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %71 = llvm.getelementptr inbounds|nuw %arg0[10] : (!llvm.ptr) -> !llvm.ptr, f32
      %72 = llvm.load %71 : !llvm.ptr -> f32
      %73 = llvm.insertelement %72, %1[%0 : i32] : vector<8xf32>
      %74 = llvm.shufflevector %73, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %75 = llvm.intr.fmuladd(%74, %65, %52) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %76 = llvm.getelementptr inbounds|nuw %arg0[18] : (!llvm.ptr) -> !llvm.ptr, f32
      %77 = llvm.load %76 : !llvm.ptr -> f32
      %78 = llvm.insertelement %77, %1[%0 : i32] : vector<8xf32>
      %79 = llvm.shufflevector %78, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %80 = llvm.intr.fmuladd(%79, %65, %57) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %81 = llvm.getelementptr inbounds|nuw %arg0[26] : (!llvm.ptr) -> !llvm.ptr, f32
      %82 = llvm.load %81 : !llvm.ptr -> f32
      %83 = llvm.insertelement %82, %1[%0 : i32] : vector<8xf32>
      %84 = llvm.shufflevector %83, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %85 = llvm.intr.fmuladd(%84, %65, %62) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %86 = llvm.add %18, %5 : i64
      %87 = llvm.getelementptr %arg1[%86] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %88 = llvm.load %87 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %89 = llvm.getelementptr inbounds|nuw %arg0[3] : (!llvm.ptr) -> !llvm.ptr, f32
      %90 = llvm.load %89 : !llvm.ptr -> f32
      %91 = llvm.insertelement %90, %1[%0 : i32] : vector<8xf32>
      %92 = llvm.shufflevector %91, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %93 = llvm.intr.fmuladd(%92, %88, %70) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %94 = llvm.getelementptr inbounds|nuw %arg0[11] : (!llvm.ptr) -> !llvm.ptr, f32
      %95 = llvm.load %94 : !llvm.ptr -> f32
      %96 = llvm.insertelement %95, %1[%0 : i32] : vector<8xf32>
      %97 = llvm.shufflevector %96, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %98 = llvm.intr.fmuladd(%97, %88, %75) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %99 = llvm.getelementptr inbounds|nuw %arg0[19] : (!llvm.ptr) -> !llvm.ptr, f32
      %100 = llvm.load %99 : !llvm.ptr -> f32
      %101 = llvm.insertelement %100, %1[%0 : i32] : vector<8xf32>
      %102 = llvm.shufflevector %101, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %103 = llvm.intr.fmuladd(%102, %88, %80) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %104 = llvm.getelementptr inbounds|nuw %arg0[27] : (!llvm.ptr) -> !llvm.ptr, f32
      %105 = llvm.load %104 : !llvm.ptr -> f32
      %106 = llvm.insertelement %105, %1[%0 : i32] : vector<8xf32>
      %107 = llvm.shufflevector %106, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %108 = llvm.intr.fmuladd(%107, %88, %85) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %109 = llvm.add %18, %11 : i64
      %110 = llvm.getelementptr %arg1[%109] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %111 = llvm.load %110 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %112 = llvm.getelementptr inbounds|nuw %arg0[4] : (!llvm.ptr) -> !llvm.ptr, f32
      %113 = llvm.load %112 : !llvm.ptr -> f32
      %114 = llvm.insertelement %113, %1[%0 : i32] : vector<8xf32>
      %115 = llvm.shufflevector %114, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %116 = llvm.intr.fmuladd(%115, %111, %93) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %117 = llvm.getelementptr inbounds|nuw %arg0[12] : (!llvm.ptr) -> !llvm.ptr, f32
      %118 = llvm.load %117 : !llvm.ptr -> f32
      %119 = llvm.insertelement %118, %1[%0 : i32] : vector<8xf32>
      %120 = llvm.shufflevector %119, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %121 = llvm.intr.fmuladd(%120, %111, %98) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %122 = llvm.getelementptr inbounds|nuw %arg0[20] : (!llvm.ptr) -> !llvm.ptr, f32
      %123 = llvm.load %122 : !llvm.ptr -> f32
      %124 = llvm.insertelement %123, %1[%0 : i32] : vector<8xf32>
      %125 = llvm.shufflevector %124, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %126 = llvm.intr.fmuladd(%125, %111, %103) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %127 = llvm.getelementptr inbounds|nuw %arg0[28] : (!llvm.ptr) -> !llvm.ptr, f32
      %128 = llvm.load %127 : !llvm.ptr -> f32
      %129 = llvm.insertelement %128, %1[%0 : i32] : vector<8xf32>
      %130 = llvm.shufflevector %129, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %131 = llvm.intr.fmuladd(%130, %111, %108) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %132 = llvm.add %18, %6 : i64
      %133 = llvm.getelementptr %arg1[%132] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %134 = llvm.load %133 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %135 = llvm.getelementptr inbounds|nuw %arg0[5] : (!llvm.ptr) -> !llvm.ptr, f32
      %136 = llvm.load %135 : !llvm.ptr -> f32
      %137 = llvm.insertelement %136, %1[%0 : i32] : vector<8xf32>
      %138 = llvm.shufflevector %137, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %139 = llvm.intr.fmuladd(%138, %134, %116) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %140 = llvm.getelementptr inbounds|nuw %arg0[13] : (!llvm.ptr) -> !llvm.ptr, f32
      %141 = llvm.load %140 : !llvm.ptr -> f32
      %142 = llvm.insertelement %141, %1[%0 : i32] : vector<8xf32>
      %143 = llvm.shufflevector %142, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %144 = llvm.intr.fmuladd(%143, %134, %121) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %145 = llvm.getelementptr inbounds|nuw %arg0[21] : (!llvm.ptr) -> !llvm.ptr, f32
      %146 = llvm.load %145 : !llvm.ptr -> f32
      %147 = llvm.insertelement %146, %1[%0 : i32] : vector<8xf32>
      %148 = llvm.shufflevector %147, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %149 = llvm.intr.fmuladd(%148, %134, %126) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %150 = llvm.getelementptr inbounds|nuw %arg0[29] : (!llvm.ptr) -> !llvm.ptr, f32
      %151 = llvm.load %150 : !llvm.ptr -> f32
      %152 = llvm.insertelement %151, %1[%0 : i32] : vector<8xf32>
      %153 = llvm.shufflevector %152, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %154 = llvm.intr.fmuladd(%153, %134, %131) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %155 = llvm.add %18, %7 : i64
      %156 = llvm.getelementptr %arg1[%155] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %157 = llvm.load %156 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %158 = llvm.getelementptr inbounds|nuw %arg0[6] : (!llvm.ptr) -> !llvm.ptr, f32
      %159 = llvm.load %158 : !llvm.ptr -> f32
      %160 = llvm.insertelement %159, %1[%0 : i32] : vector<8xf32>
      %161 = llvm.shufflevector %160, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %162 = llvm.intr.fmuladd(%161, %157, %139) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %163 = llvm.getelementptr inbounds|nuw %arg0[14] : (!llvm.ptr) -> !llvm.ptr, f32
      %164 = llvm.load %163 : !llvm.ptr -> f32
      %165 = llvm.insertelement %164, %1[%0 : i32] : vector<8xf32>
      %166 = llvm.shufflevector %165, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %167 = llvm.intr.fmuladd(%166, %157, %144) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %168 = llvm.getelementptr inbounds|nuw %arg0[22] : (!llvm.ptr) -> !llvm.ptr, f32
      %169 = llvm.load %168 : !llvm.ptr -> f32
      %170 = llvm.insertelement %169, %1[%0 : i32] : vector<8xf32>
      %171 = llvm.shufflevector %170, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %172 = llvm.intr.fmuladd(%171, %157, %149) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %173 = llvm.getelementptr inbounds|nuw %arg0[30] : (!llvm.ptr) -> !llvm.ptr, f32
      %174 = llvm.load %173 : !llvm.ptr -> f32
      %175 = llvm.insertelement %174, %1[%0 : i32] : vector<8xf32>
      %176 = llvm.shufflevector %175, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %177 = llvm.intr.fmuladd(%176, %157, %154) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %178 = llvm.add %18, %8 : i64
      %179 = llvm.getelementptr %arg1[%178] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %180 = llvm.load %179 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %181 = llvm.getelementptr inbounds|nuw %arg0[7] : (!llvm.ptr) -> !llvm.ptr, f32
      %182 = llvm.load %181 : !llvm.ptr -> f32
      %183 = llvm.insertelement %182, %1[%0 : i32] : vector<8xf32>
      %184 = llvm.shufflevector %183, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %185 = llvm.intr.fmuladd(%184, %180, %162) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %186 = llvm.getelementptr inbounds|nuw %arg0[15] : (!llvm.ptr) -> !llvm.ptr, f32
      %187 = llvm.load %186 : !llvm.ptr -> f32
      %188 = llvm.insertelement %187, %1[%0 : i32] : vector<8xf32>
      %189 = llvm.shufflevector %188, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %190 = llvm.intr.fmuladd(%189, %180, %167) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %191 = llvm.getelementptr inbounds|nuw %arg0[23] : (!llvm.ptr) -> !llvm.ptr, f32
      %192 = llvm.load %191 : !llvm.ptr -> f32
      %193 = llvm.insertelement %192, %1[%0 : i32] : vector<8xf32>
      %194 = llvm.shufflevector %193, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %195 = llvm.intr.fmuladd(%194, %180, %172) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %196 = llvm.getelementptr inbounds|nuw %arg0[31] : (!llvm.ptr) -> !llvm.ptr, f32
      %197 = llvm.load %196 : !llvm.ptr -> f32
      %198 = llvm.insertelement %197, %1[%0 : i32] : vector<8xf32>
      %199 = llvm.shufflevector %198, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %200 = llvm.intr.fmuladd(%199, %180, %177) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %201 = llvm.fadd %185, %9 : vector<8xf32>
      %202 = llvm.getelementptr %arg2[%18] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %201, %202 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %203 = llvm.fadd %190, %9 : vector<8xf32>
      %204 = llvm.getelementptr %arg2[%40] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %203, %204 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %205 = llvm.fadd %195, %9 : vector<8xf32>
      %206 = llvm.getelementptr %arg2[%63] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %205, %206 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %207 = llvm.fadd %200, %9 : vector<8xf32>
      %208 = llvm.getelementptr %arg2[%86] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %207, %208 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %209 = llvm.add %16, %10 : i64
      llvm.br ^bb3(%209 : i64)
    ^bb5:  // pred: ^bb3
      llvm.br ^bb1(%14 : i64)
    ^bb6:  // pred: ^bb1
      llvm.return
    }
  }
  module @softmax_0 attributes {graph.chunks = 4 : i64, graph.estimate = 910 : i64, graph.plan = #cpu.rows<outer = 1, lanes = 8, units = 1>, graph.scratch = 192 : i64, plan.operands = (memref<4x8xf32, strided<[8, 1]>>) -> memref<4x8xf32, strided<[8, 1]>>, plan.work = #plan.work<operations = 160, bytes = 256>} {
    llvm.func @softmax_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) {
      %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
      llvm.call @softmax_0.body(%1, %3, %arg1, %arg2, %arg3) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
      llvm.return
    }
    llvm.func internal @softmax_0.body(%arg0: !llvm.ptr, %arg1: !llvm.ptr {llvm.noalias}, %arg2: !llvm.ptr, %arg3: i64, %arg4: i64) attributes {always_inline} {
      %0 = llvm.mlir.constant(0 : i32) : i32
      %1 = llvm.mlir.poison : vector<8xf32>
      %2 = llvm.mlir.constant(4 : index) : i64
      %3 = llvm.mlir.constant(0xFF800000 : f32) : f32
      %4 = llvm.mlir.constant(8 : index) : i64
      %5 = llvm.mlir.constant(0.000000e+00 : f32) : f32
      %6 = llvm.mlir.constant(dense<0.000000e+00> : vector<8xf32>) : vector<8xf32>
      %7 = llvm.mlir.constant(dense<-1.040000e+02> : vector<8xf32>) : vector<8xf32>
      %8 = llvm.mlir.constant(dense<8.900000e+01> : vector<8xf32>) : vector<8xf32>
      %9 = llvm.mlir.constant(dense<1.44269502> : vector<8xf32>) : vector<8xf32>
      %10 = llvm.mlir.constant(dense<0x4B4000FE> : vector<8xf32>) : vector<8xf32>
      %11 = llvm.mlir.constant(dense<-0.693147182> : vector<8xf32>) : vector<8xf32>
      %12 = llvm.mlir.constant(dense<1.90465421E-9> : vector<8xf32>) : vector<8xf32>
      %13 = llvm.mlir.constant(dense<0.0013869945> : vector<8xf32>) : vector<8xf32>
      %14 = llvm.mlir.constant(dense<0.00836625322> : vector<8xf32>) : vector<8xf32>
      %15 = llvm.mlir.constant(dense<0.0416674428> : vector<8xf32>) : vector<8xf32>
      %16 = llvm.mlir.constant(dense<0.166665465> : vector<8xf32>) : vector<8xf32>
      %17 = llvm.mlir.constant(dense<0.49999997> : vector<8xf32>) : vector<8xf32>
      %18 = llvm.mlir.constant(dense<1.000000e+00> : vector<8xf32>) : vector<8xf32>
      %19 = llvm.mlir.constant(dense<22> : vector<8xi32>) : vector<8xi32>
      %20 = llvm.mlir.constant(dense<2139095040> : vector<8xi32>) : vector<8xi32>
      %21 = llvm.mlir.constant(dense<23> : vector<8xi32>) : vector<8xi32>
      %22 = llvm.mlir.constant(1 : index) : i64
      %23 = llvm.intr.umin(%arg4, %2) : (i64, i64) -> i64
      %24 = llvm.getelementptr %arg2[64] : (!llvm.ptr) -> !llvm.ptr, i8
      %25 = llvm.getelementptr %arg2[128] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.br ^bb1(%arg3 : i64)
    ^bb1(%26: i64):  // 2 preds: ^bb0, ^bb2
      %27 = llvm.icmp "slt" %26, %23 : i64
      llvm.cond_br %27, ^bb2, ^bb3
    ^bb2:  // pred: ^bb1
      %28 = llvm.mul %26, %4 : i64
      %29 = llvm.getelementptr %arg0[%28] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %30 = llvm.load %29 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %31 = llvm.intr.vector.reduce.fmaximum(%30) {fastmathFlags = #llvm.fastmath<reassoc>} : (vector<8xf32>) -> f32
      %32 = llvm.intr.maximum(%31, %3) : (f32, f32) -> f32
      llvm.store %32, %arg2 : f32, !llvm.ptr
      %33 = llvm.load %29 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %34 = llvm.load %arg2 : !llvm.ptr -> f32
      %35 = llvm.insertelement %34, %1[%0 : i32] : vector<8xf32>
      %36 = llvm.shufflevector %35, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %37 = llvm.fsub %33, %36 : vector<8xf32>
      %38 = llvm.fcmp "olt" %37, %7 : vector<8xf32>
      %39 = llvm.select %38, %7, %37 : vector<8xi1>, vector<8xf32>
      %40 = llvm.fcmp "olt" %8, %39 : vector<8xf32>
      %41 = llvm.select %40, %8, %39 : vector<8xi1>, vector<8xf32>
      %42 = llvm.intr.fma(%41, %9, %10) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %43 = llvm.fsub %42, %10 : vector<8xf32>
      %44 = llvm.intr.fma(%43, %11, %41) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %45 = llvm.intr.fma(%43, %12, %44) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %46 = llvm.intr.fma(%13, %45, %14) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %47 = llvm.intr.fma(%46, %45, %15) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %48 = llvm.intr.fma(%47, %45, %16) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %49 = llvm.intr.fma(%48, %45, %17) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %50 = llvm.intr.fma(%45, %49, %18) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %51 = llvm.intr.fma(%45, %50, %18) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %52 = llvm.bitcast %42 : vector<8xf32> to vector<8xi32>
      %53 = llvm.shl %52, %19 : vector<8xi32>
      %54 = llvm.and %53, %20 : vector<8xi32>
      %55 = llvm.shl %52, %21 : vector<8xi32>
      %56 = llvm.sub %55, %54 : vector<8xi32>
      %57 = llvm.bitcast %54 : vector<8xi32> to vector<8xf32>
      %58 = llvm.fmul %51, %57 : vector<8xf32>
      %59 = llvm.bitcast %56 : vector<8xi32> to vector<8xf32>
      %60 = llvm.fmul %58, %59 : vector<8xf32>
      llvm.store %60, %24 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %61 = llvm.load %24 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %62 = llvm.fadd %61, %6 : vector<8xf32>
      %63 = "llvm.intr.vector.reduce.fadd"(%5, %62) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      llvm.store %63, %25 : f32, !llvm.ptr
      %64 = llvm.load %24 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %65 = llvm.load %25 : !llvm.ptr -> f32
      %66 = llvm.insertelement %65, %1[%0 : i32] : vector<8xf32>
      %67 = llvm.shufflevector %66, %1 [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32> 
      %68 = llvm.fdiv %64, %67 : vector<8xf32>
      %69 = llvm.getelementptr %arg1[%28] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %68, %69 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %70 = llvm.add %26, %22 : i64
      llvm.br ^bb1(%70 : i64)
    ^bb3:  // pred: ^bb1
      llvm.return
    }
  }
}

