# What Python gained from 3.8 to 3.13, for the comparison of trees and as the ground of mutants.

# 3.8: positional-only parameters, assignment expressions, `=` in f-strings, unpacking in `return` and `yield`
def positional(a, b=1, /, c=2, *, d, e=3, **rest): ...
def all_positional(a, /): return 1, *a
def giver(): yield 1, *range(3)
plain = lambda a, /, b=(n := 3), *args, c, **rest: (a, b)
if (n := len("abc")) > 2 and [m := n, m ** 2]: pass
print(f"{n=}", f"{n = !r:>{n}}", f"{n=:^10}", {x: (y := x) for x in range(3)}, {(z := 1)})
while chunk := giver(): break

# 3.9: any expression as a decorator; parentheses around contexts (3.10 makes them grammar)
@(lambda f: f)
@[positional][0]
@n if n else positional
def decorated(): pass

with (open("a") as a, open("b") as b,): pass
with (open("a")) as a, (open("b")): pass
with (open("a"), open("b")): pass
with (a, b) as c, a as (d, e), b as [f], c as g.h, d as i[0]: pass
with (yield_ := a): pass

# 3.10: match
match n, *rest:
    case []: pass
    case [1, 2.5, -3, -1 + 2j, "a" "b", b"c", None, True, False]: pass
    case (x) | [x, *_] | (x, *others,): pass
    case {"a": 1, m.k: [_], -1: v, **rest} if v > 1: pass
    case {}: pass
    case Point(x=0, y=Point(1, _) as p) | a.b.Point(): pass
    case str() | int() as text if (w := text): pass
    case *first, last: pass
    case (a.b | "x"), : pass
    case _: pass
match (a):
    case {**rest}: pass
match *a, b:
    case _: pass
match -a:
    case - 1 | 0x1f | 1_000: pass
match a[0], {}:
    case 1,: pass
match = case = type = _ = 1
match[0], match(1).x, case.x, type(_)[0] = 1, 2, 3, 4
match (1, 2)
match * a, b
match: int
type: type = type
case, = [case]
print(match, case, type, _)
type (X), type [X], type -X, type * X
type[X] = type

# 3.11: exception groups, unpacking in subscripts and in the annotation of *args
try: pass
except* ValueError: pass
except* (TypeError, *errors) as group: pass
else: pass
finally: pass
tuple[*a], tuple[*a, int], tuple[int, *a, *b], tuple[*a,], x[1:2, *a], x[::, ...]
def unpacked(*args: *tuple[int, *a], **kwargs: dict[str, int]) -> tuple[*a]: ...
for x in *a, *b: pass
del x, (a, [b]), c[0], d.e,
async def waits(x):
    async with x as y, y: pass
    async with (x as y, y as (a, b),): pass
    async for z in x: await z
    else: return [await i async for i in x if await i async for j in i], {i: j async for i, j in x}, (i async for i in x)
    return await x ** 2, -await x, (yield), (yield x)

# 3.12: type parameters, `type`, f-strings without limits
type Plain = int
type Several[T, *Ts, **P] = dict[T, tuple[*Ts], P]
type Bound[T: int, S: (int, str), U: "forward"] = T | S
type Lambda[T] = lambda x: (yield_, T)
type type = type
type match[case] = case; type case = match
def generic[T](x: T) -> T: return x
def several[T: (int, str), *Ts, **P](x: T, *args: *Ts, **kwargs: P.kwargs) -> T: ...
async def awaits[T: int,](x: T): ...
class Generic[T]: pass
class Derived[T: int, *Ts, **P](Generic[T], metaclass=type, *a, **b):
    type Inner[U] = T
    def method[V](self: V) -> V: ...
f"{'a' + "b" + f"{'c'}"}" f'{a['b']}' f"{f"{f"{1}"}"}"
f"{x!r}{x!s:>10}{x!a:{y}.{z}}{x:{y!r:>{z}}}{{}}{'{'}{'\n'}{"\\"}"
f"{
    x  # a comment, with } and "
    + y
}{x
:>{
y}}"
f"""{
    {"a": 1}["a"]
}{lambda_:=^10}{(lambda x: x)}{[i for i in (yield_,)]}{*a, *b}{x!r:{'{'}>10}"""
rf"\{x}\d{y:\d}" fr'{x}\{{' F"{x}" Rf"{x:%H:%M}" f"\u0031{x}\x41{y}" f'{x:\x41}'
f"{x:=10}" f"{x:!r}" f"{x!r:}" f"{x==y}" f"{x!=y}" f"{x<=y}{(x:=1)}" f"{x,}" f"{yield_=}" f"{ x = }" f"{x = !s}"
f"{'''a
b'''}" f'''{"""c
d"""}''' if 0 else f""

# 3.13: defaults of type parameters
type Default[T = int, *Ts = *tuple[int, str], **P = [int, str]] = T
type BoundDefault[T: int = bool, S: (int, str) = int,] = T
def default[T = int](x: T): ...
class Defaults[T = int, *Ts = (*a, *b), **P = ...](Generic[T, *Ts]): ...
class More[T: (yield_) = (lambda: 0)]: ...
