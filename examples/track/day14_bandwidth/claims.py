doc = "Softmax against the limit of the memory"
library = "../../../kernels/softmax"
launch_words = "--arg x_ptr=empty(64x4096,f32) --arg y_ptr=empty(64x4096,f32) --arg x_stride=4096 --arg y_stride=4096 --arg N=4096 --grid (64,) --target sm_90a"


def passes(facts):
    """Bytes asked for, over those of one read and one write."""
    return facts["work"]["launch_bytes_requested"] / (2 * 64 * 4096 * 4)


def claims(device):
    inspected = [
        dict(name="one_read", claim="a row that stays on the chip is read once", unit=" round trips", most=1, timed=False,
             rows=dict(facts=dict(inspect=f"{library}/kernel.py:softmax_row --const BLOCK=4096 {launch_words}")), figure=passes),
        dict(name="three_reads", claim="the textbook order reads it three times and writes it once", unit=" round trips", least=2, timed=False,
             rows=dict(facts=dict(inspect=f"{library}/three_pass.py:softmax_three_pass --const BLOCK=1024 {launch_words}")), figure=passes),
    ]
    large = dict(M=16384, N=16384)
    timed = dict(name="of_copy", claim="softmax moves at the speed of a copy", unit="%", least=88,
                 rows=dict(row=dict(folder=".", variant="one_read", case=large)), figure=lambda row: 100 * row["copy_share"])
    return inspected + ([timed] if device == "cuda" else [])
