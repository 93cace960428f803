"""Where the tools of NVIDIA lie that GPU code is tested with; `./dev setup test` fetches them where there are none."""
import glob
import os
import shutil


def find_ptxas(root):
    candidates = [shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"]
    candidates += glob.glob(os.path.join(root, ".cache/ptxas/lib/python3*/site-packages/nvidia/cu*/bin/ptxas"))
    return next((one for one in candidates if one and os.access(one, os.X_OK)), None)


def find_libdevice(root):
    """CUDA's libdevice.10.bc: where the engine finds it by itself, else that of the Python index beside our ptxas."""
    beside = [os.path.join(os.path.dirname(ptxas), "..") for ptxas in [find_ptxas(root)] if ptxas]
    wheels = glob.glob(os.path.join(root, ".cache/ptxas/lib/python3*/site-packages/nvidia/cu*"))
    places = [os.path.join(folder, "nvvm/libdevice/libdevice.10.bc") for folder in beside + ["/usr/local/cuda"] + wheels]
    return next((one for one in [os.environ.get("NEREID_LIBDEVICE")] + places if one and os.path.exists(one)), None)
