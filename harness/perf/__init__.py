"""Performance experiments on two kernels, boot by boot."""
