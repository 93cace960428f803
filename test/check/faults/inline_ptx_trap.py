# check: guarded[2](x=[1, -2]:i32, y=empty(2,i32))
import triton
import triton.language as tl


@triton.jit
def guarded(x, y):
    value = tl.load(x + tl.program_id(0))
    if value < 0:
        tl.inline_asm_elementwise("trap; // no $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)  # fault: . AssertFailed inline PTX `trap`
    tl.store(y + tl.program_id(0), value)
