# run: ref cpu gpu
# Rows of several vectors: the greatest element with its index, in whatever order lanes meet, and
# what stands before each element.
import triton
import triton.language as tl


@triton.jit
def greatest(x, v, at, n, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=float("-inf"))
    value, index = tl.max(row, 0, return_indices=True)
    tl.store(v + tl.program_id(0), value)
    tl.store(at + tl.program_id(0), index)

# expect: greatest[2](x=[0,37,74,10,47,84,20,57,94,30,67,3,40,77,13,50,87,23,60,97,33,70,6,43,80,16,53,90,26,63,100,36,73,9,46,83,19,56,93,29,66,2,39,76,12,49,86,22,59,96,32,69,5,42,79,15,52,89,25,62,99,35,72,8,45,82,18,55,92,28,65,1,38,75,11,48,85,21,58,95,31,68,4,41,78,14,51,88,24,61,98,34,71,7,44,81,17,54,91,27,64,0,37,74,10,47,84,20,57,94,30,67,3,40,77,13,50,87,23,60,97,33,70,6,43,80,16,53,90,26,63,100,36,73,9,46,83,19,56,93,29,66,2,39,76,12,49,86,22,59]:f32, v=zeros(2,f32), at=zeros(2,i32), n=75, N=128) -> v == [100, 100] and at == [30, 56]
# expect: greatest[2](x=[0,37,74,10,47,84,20,57,94,30,67,3,40,77,13,50,87,23,60,97,33,70,6,43,80,16,53,90,26,63,100,36,73,9,46,83,19,56,93,29,66,2,39,76,12,49,86,22,59,96,32,69,5,42,79,15,52,89,25,62,99,35,72,8,45,82,18,55,92,28,65,1,38,75,11,48,85,21,58,95,31,68,4,41,78,14,51,88,24,61,98,34,71,7,44,81,17,54,91,27,64,0,37,74,10,47,84,20,57,94,30,67,3,40,77,13,50,87,23,60,97,33,70,6,43,80,16,53,90,26,63,100,36,73,9,46,83,19,56,93,29,66,2,39,76,12,49,86,22,59]:f16, v=zeros(2,f32), at=zeros(2,i32), n=75, N=128) -> v == [100, 100] and at == [30, 56]


# NaN is left out, and of a row of nothing else the first element remains.
# expect: greatest[2](x=[nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,6,nan,nan,-9,nan,nan,-42,nan,nan,7,nan,nan,-12,nan,nan,1,nan,nan,-4,nan,nan,-27,nan,nan,-18,nan,nan,-27,nan,nan,-4,nan,nan,1,nan,nan,-12,nan,nan,7,nan,nan,-42,nan,nan,-9,nan,nan,6,nan,nan,3,nan,nan,-18,nan,nan,-7,nan,nan,-14,nan,nan,-39,nan,nan,-32,nan,nan,7,nan,nan,-22,nan,nan,-19,nan,nan,-34,nan,nan,-17,nan,nan,-18,nan,nan,-37,nan,nan,-24,nan,nan,-29,nan,nan,-2,nan,nan,7,nan,nan,-2,nan,nan,-29,nan,nan,-24,nan,nan,-37,nan,nan,-18,nan,nan,-17,nan,nan,-34,nan,nan,-19,nan,nan,-22,nan]:f32, v=zeros(2,f32), at=zeros(2,i32), n=128, N=128) -> v == [nan, 7] and at == [0, 9]


@triton.jit
def later(v1, i1, v2, i2):
    """Of equal ones the right one: the order counts."""
    left = v1 > v2
    return tl.where(left, v1, v2), tl.where(left, i1, i2)


@triton.jit
def last_of_greatest(x, at, N: tl.constexpr):
    i = tl.arange(0, N)
    v, index = tl.reduce((tl.load(x + i) // 32, i), 0, later)
    tl.store(at, index)

# expect: last_of_greatest(x=iota(128,i32), at=zeros(1,i32), N=128) -> at == [127]


@triton.jit
def both(sum_a, most_a, sum_b, most_b):
    return sum_a + sum_b, tl.maximum(most_a, most_b)


@triton.jit
def sum_and_most(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    total, most = tl.reduce((v, v * v), 0, both)
    tl.store(y, total)
    tl.store(y + 1, most)

# expect: sum_and_most(x=iota(128,i32), y=zeros(2,i32), N=128) -> y == [8128, 16129]
# expect: sum_and_most(x=iota(16,f32), y=zeros(2,f32), N=16) -> y == [120, 225]


# Composition of x -> a x + b, where the order counts.
@triton.jit
def compose(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scans(x, y, z, M: tl.constexpr, N: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(y + at, tl.cumsum(v, 1, reverse=REVERSE))
    a, b = tl.associative_scan((tl.where(v % 3 == 0, 1, -1), v), 1, compose, reverse=REVERSE)
    tl.store(z + at, b)

# expect: scans(x=iota(128,i32), y=zeros(128,i32), z=zeros(128,i32), M=2, N=64, REVERSE=0)
#     -> y == [sum(range(i // 64 * 64, i + 1)) for i in range(128)] and z == [0,1,1,4,0,5,11,-4,12,21,-11,22,34,-21,35,50,-34,51,69,-50,70,91,-69,92,116,-91,117,144,-116,145,175,-144,176,209,-175,210,246,-209,247,286,-246,287,329,-286,330,375,-329,376,424,-375,425,476,-424,477,531,-476,532,589,-531,590,650,-589,651,714,64,1,67,0,68,137,-67,138,210,-137,211,286,-210,287,365,-286,366,447,-365,448,532,-447,533,620,-532,621,711,-620,712,805,-711,806,902,-805,903,1002,-902,1003,1105,-1002,1106,1211,-1105,1212,1320,-1211,1321,1432,-1320,1433,1547,-1432,1548,1665,-1547,1666,1786,-1665,1787,1910,-1786,1911,2037,-1910]
# expect: scans(x=iota(128,i32), y=zeros(128,i32), z=zeros(128,i32), M=2, N=64, REVERSE=1)
#     -> y == [sum(range(i, i // 64 * 64 + 64)) for i in range(128)] and z == [672,672,-671,673,670,-666,671,665,-658,666,657,-647,658,646,-633,647,632,-616,633,615,-596,616,595,-573,596,572,-547,573,546,-518,547,517,-486,518,485,-451,486,450,-413,451,412,-372,413,371,-328,372,327,-281,328,280,-231,281,230,-178,231,177,-122,178,121,-63,122,62,-1,63,2122,-2058,2123,2057,-1990,2058,1989,-1919,1990,1918,-1845,1919,1844,-1768,1845,1767,-1688,1768,1687,-1605,1688,1604,-1519,1605,1518,-1430,1519,1429,-1338,1430,1337,-1243,1338,1242,-1145,1243,1144,-1044,1145,1043,-940,1044,939,-833,940,832,-723,833,722,-610,723,609,-494,610,493,-375,494,374,-253,375,252,-128,253,127]
