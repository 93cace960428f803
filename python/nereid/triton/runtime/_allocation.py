"""Where programs say how scratch memory is made. The engine brings its own, so it is only remembered."""


class NullAllocator:
    """No allocator is set."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set.")


_allocator = _profile_allocator = None


def set_allocator(allocator):
    global _allocator
    _allocator = allocator


def set_profile_allocator(allocator):
    global _profile_allocator
    _profile_allocator = allocator
