# run: ref cpu gpu
# Members of enumerations: the same ones are equal, those of numbers and strings count as their value.
from enum import Enum, IntEnum

import triton
import triton.language as tl


class Plain(Enum):
    A = 1
    B = 2


class Number(IntEnum):
    A = 1
    B = 2


class Word(str, Enum):
    A = "a"
    B = "b"


@triton.jit
def k(out, MODE: tl.constexpr, WORD: tl.constexpr):
    tl.store(out, 1 if MODE == Number.B else 0)
    tl.store(out + 1, 1 if MODE == Plain.B else 0)
    tl.store(out + 2, 1 if WORD == Word.B else 0)
    tl.store(out + 3, Number.A + MODE)
    tl.store(out + 4, 1 if Number.A < MODE else 0)
    tl.store(out + 5, 1 if Plain.A == Plain.A else 0)
    tl.store(out + 6, 1 if Plain.A is Plain.A and Plain.A is not Plain.B else 0)
    tl.store(out + 7, 1 if WORD in (Word.A, Word.B) else 0)


# expect: k(MODE=2, WORD="b") -> out == [1, 0, 1, 3, 1, 1, 1, 1]
