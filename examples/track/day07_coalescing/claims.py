doc = "What the pattern of day 7 costs"
launch_words = ("--arg x=empty(1048576,f32) --arg out=empty(1048576,f32) --arg n=1048576 --const BLOCK=1024 --grid (1024,) --target sm_90a")


def sectors(facts):
    return sum([access["sectors"] for access in facts["accesses"]]) / sum([access["sectors_at_best"] for access in facts["accesses"]])


def claims(device):
    n = 1 << 28 if device == "cuda" else 1 << 22
    inspected = [
        dict(name="neighbours", claim="neighbours touch no sector too many (sm_90a)", unit="x", most=1, timed=False,
             rows=dict(facts=dict(inspect=f"kernel.py:neighbours {launch_words}")), figure=sectors),
        dict(name="scattered", claim="lanes that are far apart touch eight times the sectors (sm_90a)", unit="x", least=8, timed=False,
             rows=dict(facts=dict(inspect=f"kernel.py:scattered {launch_words}")), figure=sectors),
    ]
    # A CPU has one lane after the other to serve: there the pattern costs cache lines and prefetching, by an amount that the machine decides.
    timed = dict(name="time", claim="the same copy takes several times as long", unit="x", least=3,
                 rows=dict(good=dict(folder=".", variant="neighbours", case=dict(n=n)), bad=dict(folder=".", variant="scattered", case=dict(n=n))),
                 figure=lambda good, bad: bad["seconds"] / good["seconds"])
    return inspected + ([timed] if device == "cuda" else [])
