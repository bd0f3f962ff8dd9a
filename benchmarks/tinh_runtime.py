"""Loads and runs artifacts through the runtime's C API, with ctypes.

    model = Model("build/lib/libtinh_runtime.so", "model.so", threads=2)
    outputs = model.run({"x": array})

Mirrors the parts of runtime/include/tinh/runtime.h that it uses;
tests/runtime/ctypes_structs_test.py compares them with the header.
"""

import ctypes as c

import numpy as np

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "bool": np.bool_,
}


class ModuleInfo(c.Structure):
    _fields_ = [
        ("model", c.c_char_p),
        ("producer", c.c_char_p),
        ("cpu", c.c_char_p),
        ("num_functions", c.c_uint32),
        ("num_kernels", c.c_uint32),
        ("num_variables", c.c_uint32),
        ("weights_size", c.c_uint64),
        ("state_size", c.c_uint64),
        ("needs_cuda", c.c_bool),
        ("device_state_size", c.c_uint64),
        ("has_cuda", c.c_bool),
        ("state_size_without_gpu", c.c_uint64),
    ]


class FunctionInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("num_inputs", c.c_uint32),
        ("num_outputs", c.c_uint32),
        ("num_steps", c.c_uint32),
        ("mutates_state", c.c_bool),
        ("arena_size", c.c_uint64),
        ("unplanned_size", c.c_uint64),
        ("lower_bound_size", c.c_uint64),
        ("device_arena_size", c.c_uint64),
        ("device_unplanned_size", c.c_uint64),
        ("device_lower_bound_size", c.c_uint64),
        ("num_steps_without_gpu", c.c_uint32),
        ("arena_size_without_gpu", c.c_uint64),
        ("unplanned_size_without_gpu", c.c_uint64),
        ("lower_bound_size_without_gpu", c.c_uint64),
        ("has_collectives", c.c_bool),
        ("num_ranks", c.c_uint32),
        ("has_gpu_collectives", c.c_bool),
    ]


class TensorInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("dtype", c.c_int),
        ("rank", c.c_uint32),
        ("dims", c.POINTER(c.c_int64)),
        ("size", c.c_uint64),
        ("size_outputs", c.POINTER(c.c_int32)),
    ]


class ContextOptions(c.Structure):
    _fields_ = [
        ("threads", c.c_uint32),
        ("max_in_flight", c.c_uint32),
        ("refuse_when_full", c.c_bool),
        ("pin_threads", c.c_bool),
        ("spin_us", c.c_int64),
        ("parallel_for", c.c_void_p),
        ("parallel_for_pool", c.c_void_p),
        ("trace_path", c.c_char_p),
        ("check_numerics", c.c_int),
        ("cuda_device", c.c_uint32),
        ("cuda_stream", c.c_void_p),
        ("measure_cuda", c.c_bool),
        ("measure_steps", c.c_bool),
        ("device", c.c_int),
        ("collectives", c.c_void_p),
    ]


class Buffer(c.Structure):
    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t)]


class Model:
    """A loaded module with a context to run one of its functions in."""

    def __init__(self, library, artifact, threads, function="main", collectives=None):
        self._lib = c.CDLL(library)
        self._lib.tinh_last_error.restype = c.c_char_p
        self._lib.tinh_dtype_name.restype = c.c_char_p
        self._module = c.c_void_p()
        self._context = c.c_void_p()
        lib, module = self._lib, self._module
        self._check(
            lib.tinh_module_load(str(artifact).encode(), c.byref(module))
        )
        index = c.c_uint32()
        self._check(
            lib.tinh_module_find_function(
                module, function.encode(), c.byref(index)
            )
        )
        self.function = index.value
        self.info = FunctionInfo()
        self._check(
            lib.tinh_module_function_info(
                module, index, c.byref(self.info)
            )
        )
        # {output: which output says how much of each dimension a run has used}
        self._sizes = {}
        self.inputs = self._tensors("input", self.info.num_inputs)
        self.outputs = self._tensors("output", self.info.num_outputs)
        sizes = {name for names in self._sizes.values() for name in names}
        self.own_outputs = [n for n, _, _ in self.outputs if n not in sizes]
        options = ContextOptions()
        lib.tinh_context_options_init(c.byref(options))
        options.threads = threads
        options.collectives = collectives
        self._check(
            lib.tinh_context_create(
                module, c.byref(options), c.byref(self._context)
            )
        )

    def _check(self, status):
        if status:
            raise RuntimeError(self._lib.tinh_last_error().decode())

    def _tensors(self, kind, count):
        """[(name, shape, numpy dtype)] of the inputs or the outputs."""
        query = getattr(self._lib, f"tinh_module_{kind}_info")
        tensors, sizes = [], {}
        for index in range(count):
            info = TensorInfo()
            self._check(
                query(self._module, self.function, index, c.byref(info))
            )
            shape = tuple(info.dims[i] for i in range(info.rank))
            dtype = self._lib.tinh_dtype_name(info.dtype).decode()
            name = info.name.decode()
            tensors.append((name, shape, DTYPES[dtype]))
            if info.size_outputs:
                sizes[name] = info.size_outputs[: info.rank]
        for name, outputs in sizes.items():
            self._sizes[name] = [None if i < 0 else tensors[i][0] for i in outputs]
        return tensors

    def bind(self, feed):
        """A function that runs the model once on the arrays of `feed`, and the
        arrays that it writes its outputs to."""
        arrays = [np.ascontiguousarray(feed[n], d) for n, _, d in self.inputs]
        results = {n: np.empty(s, d) for n, s, d in self.outputs}
        buffers = lambda values: (Buffer * len(values))(
            *[Buffer(v.ctypes.data, v.nbytes) for v in values]
        )
        ins, outs = buffers(arrays), buffers(list(results.values()))
        call = self._lib.tinh_context_run
        arguments = (
            self._context,
            c.c_uint32(self.function),
            ins,
            c.c_uint32(len(ins)),
            outs,
            c.c_uint32(len(outs)),
        )

        def run(keep=(arrays, results)):
            self._check(call(*arguments))

        return run, results

    def used(self, results, name):
        """What the last run has used of an output."""
        if name not in self._sizes:
            return results[name]
        ends = (None if s is None else int(results[s]) for s in self._sizes[name])
        return results[name][tuple(map(slice, ends))]

    def _module_info(self):
        info = ModuleInfo()
        self._check(self._lib.tinh_module_info(self._module, c.byref(info)))
        return info

    def state_size(self):
        return self._module_info().state_size

    def weights_size(self):
        return self._module_info().weights_size

    def _variable(self, name):
        index = c.c_uint32()
        self._check(
            self._lib.tinh_module_find_variable(
                self._module, name.encode(), c.byref(index)
            )
        )
        return index

    def read_variable(self, name, shape, dtype=np.float32):
        value = np.empty(shape, dtype)
        self._check(
            self._lib.tinh_context_read_variable(
                self._context,
                self._variable(name),
                c.c_void_p(value.ctypes.data),
                c.c_size_t(value.nbytes),
            )
        )
        return value

    def write_variable(self, name, value):
        value = np.ascontiguousarray(value)
        self._check(
            self._lib.tinh_context_write_variable(
                self._context,
                self._variable(name),
                c.c_void_p(value.ctypes.data),
                c.c_size_t(value.nbytes),
            )
        )

    def run(self, feed):
        call, results = self.bind(feed)
        call()
        return results
