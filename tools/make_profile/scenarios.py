"""The table of scenarios: name, what makes it, one line of help."""
from .adversarial import sc_adversarial
from .cpu import sc_jax_cpu, sc_tf_input_pipeline
from .gpu_train import gpu_train
from .tpu_inference import sc_tpu_inference
from .tpu_train import sc_megascale, sc_multi_host, sc_perf_counters, sc_tpu_train

SCENARIOS = {
    'tpu-train': (sc_tpu_train, 'training step on TPU v4/v5e/v5p/v6e/v7x (--chip, --infeed, --sparse, --energy)'),
    'tpu-inference': (sc_tpu_inference, 'request batches (--style batching|tfrt|pathways|orbax|session)'),
    'gpu-train-jax': (lambda cx: gpu_train(cx, False), 'JAX training on h100/a100/v100/mi300 (--chip, --cuda-graphs)'),
    'gpu-train-tf': (lambda cx: gpu_train(cx, True), 'TensorFlow training on the same GPUs'),
    'tf-input-pipeline': (sc_tf_input_pipeline, 'tf.data, eager ops, tf.functions and a memory profile on a CPU'),
    'multi-host': (sc_multi_host, 'tpu-train on --hosts hosts with stragglers, clock offsets and DCN events'),
    'perf-counters': (sc_perf_counters, 'TPU performance counters of v6e or v7x'),
    'megascale': (sc_megascale, 'cross-slice send and recv with slack and MegaScale host events'),
    'jax-cpu': (sc_jax_cpu, 'host-only JAX'),
    'adversarial': (sc_adversarial, 'legal but hostile files; --kind K for one, otherwise one logdir a kind'),
}
