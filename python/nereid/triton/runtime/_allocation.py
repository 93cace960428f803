"""Where programs say how scratch memory is made. The engine brings its own, so it is only remembered."""
_allocator = _profile_allocator = None


def set_allocator(allocator):
    global _allocator
    _allocator = allocator


def set_profile_allocator(allocator):
    global _profile_allocator
    _profile_allocator = allocator
