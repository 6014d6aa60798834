"""Kernels (`..gpu_codegen`) in OpenCL C. There is no device yet that runs them: the tests do, by pyopencl."""
