# What the type stubs say where nanobind cannot know it: a pattern of names, and
# the text in their place.

^tinh\._tinh\.__prefix__$:
    from numpy.typing import ArrayLike, NDArray

\.(_tinh|_runtime)\.Error$:
    class Error(RuntimeError):
        """What the runtime or the compiler refuses, or a run that failed."""

        status: str
        """The name of the C API's status, such as "TINH_INVALID_ARTIFACT"."""
