from . import globaltimer, num_threads, num_warps, smid  # noqa: F401
