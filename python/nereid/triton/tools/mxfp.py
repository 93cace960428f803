"""Microscaling formats on the host: 4-bit floats (E2M1) and the scales of their blocks (E8M0), one a byte."""
import torch

# The values of the eight codes without a sign, and the midpoints between them. Half goes to the even code.
_magnitudes = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_middles = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)


class _Codes:
    def __init__(self, data=None, size=None, device=None):
        if data is None and size is None:
            raise ValueError("Either parameter data or size must be provided")
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "Parameter data must be a torch tensor"
            self.device, self.size = data.device, tuple(data.shape)
            self.data = self._from_float(data)
        else:
            self.size = size if isinstance(size, tuple) else (size, )


class MXFP4Tensor(_Codes):
    def random(self):
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        assert dtype == torch.float32, "Currently only float32 is supported for fp4e2m1 to float conversion"
        values = torch.tensor([*_magnitudes, *(-x for x in _magnitudes)], dtype=dtype, device=self.data.device)
        return values[self.data.long()]

    def _from_float(self, values):
        """To the nearest value, half to even; what is beyond the largest, infinite or NaN becomes the largest."""
        size = values.abs().float()
        middles = torch.tensor(_middles, device=values.device)
        # Codes below: those whose upper midpoint lies below, or on it where the code above is the even one.
        above = size.unsqueeze(-1) > middles
        above[..., 1::2] |= size.unsqueeze(-1) == middles[1::2]
        code = above.sum(-1).to(torch.uint8)
        code[size.isnan()] = 7
        return code | (torch.signbit(values).to(torch.uint8) << 3)

    def to_packed_tensor(self, dim):
        """Two codes a byte along `dim`, the first in the low half; an odd last one has 0 beside it."""
        data = self.data
        assert 0 <= dim < data.ndim, "The dimension to pack along is not within the range of tensor dimensions"
        if data.shape[dim] % 2:
            data = torch.cat([data, torch.zeros_like(data.narrow(dim, 0, 1))], dim)
        low, high = data.unflatten(dim, (-1, 2)).unbind(dim + 1)
        return low | high << 4

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        both = torch.stack([packed_tensor & 15, packed_tensor >> 4], dim + 1).flatten(dim, dim + 1)
        return both.narrow(dim, 0, original_shape[dim])


class MXScaleTensor(_Codes):
    def random(self, low=None, high=None):
        """Powers of two from `low` to `high`."""
        first, last = (default if value is None else int(torch.tensor(float(value)).log2()) + 127
                       for value, default in ((low, 0), (high, 254)))
        self.data = torch.randint(max(first, 0), min(last, 254) + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        assert dtype == torch.float32, "Currently only float32 is supported for f8e8m0 to float conversion"
        values = torch.ldexp(torch.ones(self.data.shape, device=self.data.device), self.data.int() - 127)
        return torch.where(self.data == 255, torch.nan, values)

    def _from_float(self, values):
        """The power of two at or below each value; 255, NaN, for what is not positive and finite."""
        values = values.float()
        _, exponent = torch.frexp(values)
        code = (exponent + 126).clamp(0, 254).to(torch.uint8)
        return torch.where(torch.isfinite(values) & (values > 0), code, torch.full_like(code, 255))
