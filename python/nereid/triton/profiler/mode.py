"""Modes of a session, as programs name them: `mode=Default(...)`, `mode=PCSampling(interval=...)`.

A mode says what Triton's profiler counts inside of kernels. Sessions here measure whole launches: the values are kept and
written as Triton writes them, and a session that asks for one is refused."""
import dataclasses
import enum


def _choices(name, *words):
    """An enumeration with a member for each word, and the table from words to members."""
    kind = enum.Enum(name, [word.upper() for word in words], start=0)
    return kind, {member.name.lower(): member for member in kind}


METRIC_TYPE, metric_types = _choices("METRIC_TYPE", "cycle")
BUFFER_STRATEGY, buffer_strategies = _choices("BUFFER_STRATEGY", "circular", "flush")
BUFFER_TYPE, buffer_types = _choices("BUFFER_TYPE", "shared", "global")
SAMPLING_STRATEGY, sampling_strategies = _choices("SAMPLING_STRATEGY", "none", "selective")
GRANULARITY, granularities = _choices("GRANULARITY", "cta", *(group + size for group in ("warp", "warp_group") for size in ("", "_2", "_4", "_8")))


class Optimize(enum.Enum):
    TIMESHIFT = "time_shift"
    SCHED_STORES = "sched_stores"
    SCHED_BARRIERS = "sched_barriers"
    CLOCK32 = "clock32"

    def __str__(self):
        return self.value


optimizations = {str(one): one for one in Optimize}


def _known(what, word, table):
    if word not in table:
        raise ValueError(f"Unknown {what}: {word}")
    return table[word]


@dataclasses.dataclass(frozen=True)
class BaseMode:
    name: str


@dataclasses.dataclass(frozen=True)
class PCSampling(BaseMode):
    name: str = dataclasses.field(default="pcsampling", init=False)
    interval: int = 1000

    def __post_init__(self):
        if self.interval <= 0:
            raise ValueError("Interval must be a positive integer.")

    def __str__(self):
        return f"{self.name}:interval={self.interval}"


@dataclasses.dataclass(frozen=True)
class InstrumentationMode(BaseMode):
    """What the modes of kernels with marks inside have in common. Words stand for members of the enumerations."""
    metric_type: METRIC_TYPE = METRIC_TYPE.CYCLE
    sampling_strategy: SAMPLING_STRATEGY = SAMPLING_STRATEGY.NONE
    sampling_options: str = ""
    granularity: GRANULARITY = GRANULARITY.WARP
    buffer_strategy: BUFFER_STRATEGY = BUFFER_STRATEGY.CIRCULAR
    buffer_type: BUFFER_TYPE = BUFFER_TYPE.SHARED
    buffer_size: int = 0
    optimizations: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        for what, table in (("metric_type", metric_types), ("sampling_strategy", sampling_strategies), ("granularity", granularities),
                            ("buffer_strategy", buffer_strategies), ("buffer_type", buffer_types)):
            if isinstance(word := getattr(self, what), str):
                object.__setattr__(self, what, _known(what, word, table))
        if isinstance(words := self.optimizations, str):
            object.__setattr__(self, "optimizations", [_known("optimization", word.strip(), optimizations) for word in words.split(",") if words])

    def __str__(self):
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "name"}
        settings["optimizations"] = ",".join(map(str, self.optimizations))
        return ":".join([self.name, *(f"{what}={value}" for what, value in settings.items())])


@dataclasses.dataclass(frozen=True)
class Default(InstrumentationMode):
    name: str = dataclasses.field(default="default", init=False)


@dataclasses.dataclass(frozen=True)
class MMA(InstrumentationMode):
    name: str = dataclasses.field(default="mma", init=False)
