"""Examples in memory and on disk, and computations on their rows.

stores             dense rows, CSR, index lists and packed bits as one tuple of arrays
blocks             examples in blocks of rows, such as memory-mapped files
block_files        the format of a block on disk
row_products       dot products of one row with others, by storage: dense, sparse, bits; kernel rows over an
                   active set are computed in `caches.feature_columns`
row_sums           sums over the entries of one row
kernel_transforms  from dot products to kernel values
kernel_sums        outputs of a kernel machine, folded weights
"""
