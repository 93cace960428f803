doc = "Bytes that flash attention asks for"


def facts(rows):
    shape = "=empty(2x1024x64,f16)"
    return dict(inspect=f"../day32_flash_forward/kernel.py:flash --arg q{shape} --arg k{shape} --arg v{shape} --arg out{shape} --arg lse=empty(2x1024,f32) "
                        f"--arg M=1024 --arg N=1024 --arg scale=0.125 --const D=64 --const BLOCK_M={rows} --const BLOCK_N=32 --const CAUSAL=False "
                        f"--grid ({1024 // rows},2) --target sm_90a")


def claims(device):
    return [dict(name="tile_height", claim="four times the rows in a tile: a quarter of the bytes for K and V", unit="x", least=3.5, most=4, timed=False,
                 rows=dict(low=facts(16), high=facts(64)),
                 figure=lambda low, high: low["work"]["launch_bytes_requested"] / high["work"]["launch_bytes_requested"])]
