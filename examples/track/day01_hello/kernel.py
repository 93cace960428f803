import triton
import triton.language as tl


@triton.jit
def hello(out):
    """Every program runs this text; `program_id` is all that sets them apart."""
    me = tl.program_id(0)
    tl.device_print("hello from program", me)
    tl.store(out + me, me)
