"""Examples in memory and on disk, and computations on their rows.

stores             dense rows, CSR, index lists and packed bits as one tuple of arrays
blocks             examples in blocks of rows, such as memory-mapped files
block_files        the format of a block on disk
row_products       dot products of rows, one set of functions for each storage: dense, sparse, bits
row_sums           sums over the entries of one row
kernel_transforms  from dot products to kernel values
kernel_sums        outputs of a kernel machine, folded weights
"""
