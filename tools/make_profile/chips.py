"""The chips that a profile can be made for, with the capabilities that their planes state."""
# name -> device string, TF/s, HBM GB/s, CMEM rd/wr, VMEM rd/wr, megacore, merged vmem, cores a chip
TPU = {
    'v4': ('TPU v4', 275.0, 1228.8, 2252.8, 2150.4, 15155.2, 10137.6, 1, 0, 1),
    'v5e': ('TPU v5 Lite', 196.61, 818.9965, 0.0, 0.0, 19200.0, 12800.0, 0, 1, 1),
    'v5p': ('TPU v5', 459.0, 2765.0, 0.0, 0.0, 36000.0, 24000.0, 1, 1, 1),
    'v6e': ('TPU v6 Lite', 918.0, 1637.993152512, 0.0, 0.0, 23296.0099876864, 16128.031693209601, 0, 1, 1),
    'v7x': ('TPU v7x', 1153.5, 3686.1, 0.0, 0.0, 48640.0, 32426.7, 0, 1, 2),
}
# name -> vendor, device name, kHz, SMs, bytes/s, memory, compute capability
GPU = {
    'h100': ('Nvidia', 'NVIDIA H100 80GB HBM3', 1980000, 132, 3352320000000, 85028765696, 9, 0),
    'a100': ('Nvidia', 'NVIDIA A100-SXM4-80GB', 1410000, 108, 2039040000000, 85094367232, 8, 0),
    'v100': ('Nvidia', 'Tesla V100-SXM2-16GB', 1530000, 80, 898048000000, 16945512448, 7, 0),
    'mi300': ('AMD', '', 2100000, 304, 2662400000000, 206141652992, 9, 4),
}
