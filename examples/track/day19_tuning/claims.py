doc = "What the size of a tile decides"
library = "../../../kernels/matmul/kernel.py"


def facts(tile, programs):
    return dict(inspect=f"{library}:matmul --arg a_ptr=empty(1024x1024,f16) --arg b_ptr=empty(1024x1024,f16) --arg bias_ptr=None --arg c_ptr=empty(1024x1024,f32) "
                        f"--arg M=1024 --arg N=1024 --arg K=1024 --arg stride_am=1024 --arg stride_ak=1 --arg stride_bk=1024 --arg stride_bn=1 --arg stride_cm=1024 --arg stride_cn=1 "
                        f"--const BLOCK_M={tile} --const BLOCK_N={tile} --const BLOCK_K=32 --const GROUP_M=8 --const ACTIVATION='none' --const PRECISION='ieee' "
                        f"--grid ({programs},) --target sm_90a")


def claims(device):
    bytes_asked = dict(name="bytes", claim="tiles of 128 ask for an eighth of what tiles of 16 ask for of A and B, C comes on top", unit="x", least=6, timed=False,
                       rows=dict(small=facts(16, 4096), large=facts(128, 64)),
                       figure=lambda small, large: small["work"]["launch_bytes_requested"] / large["work"]["launch_bytes_requested"])
    case = dict(M=8192, N=8192, K=8192, dtype="f16")
    timed = dict(name="tuned", claim="the best tile is several times as fast as the first", unit="x", least=3,
                 rows=dict(first=dict(folder=".", variant="matmul", case=case), best=dict(folder=".", variant="matmul", case=case, all_configs=True)),
                 figure=lambda first, best: first["seconds"] / best["seconds"])
    return [bytes_asked] + ([timed] if device == "cuda" else [])
