"""All-reduce, residual sum and RMSNorm of tensor-parallel decoding, in one operator."""
